package dispatch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// MaxForwardedBytes bounds what goes along with one call, names and values together. Some gRPC servers take no more than
// 8 KiB of metadata, and the participant and the assertion are in there, too.
const MaxForwardedBytes = 4 << 10

// Forwarding is an allow-list of request headers that go along with calls as metadata. It is immutable.
type Forwarding struct {
	headers []forwardedHeader
}

// forwardedHeader is one header, by its name in requests and in metadata.
type forwardedHeader struct{ header, key string }

// refusedPrefixes, refusedSuffix and refusedNames are what cannot be on the list, and why. A dash there stands for an
// underscore, too: some servers do not tell the two apart.
var (
	refusedPrefixes = []struct{ prefix, why string }{
		{"sallyport-", "this is how the edge says who calls, which nobody else may"},
		{"grpc-", "it means something to gRPC"},
		{"mcp-", "it is of the protocol between the caller and the edge, and repeats the body"},
		{"proxy-", "it is for the next proxy alone"},
		{"content-", "it describes the body that the edge has read, not the one that it sends"},
	}
	refusedSuffix = struct{ suffix, why string }{"-bin", "gRPC reads base64 there"}
	refusedNames  = map[string]string{
		"authorization":     "it carries the caller's credentials, which never go to a service",
		"cookie":            "it carries the caller's credentials, which never go to a service",
		"clientid":          "it carries the caller's credentials, which never go to a service",
		"clientsecret":      "it carries the caller's credentials, which never go to a service",
		"organizationid":    "services learn from the assertion alone who calls",
		"applicationid":     "services learn from the assertion alone who calls",
		"user-agent":        "gRPC sets its own",
		"host":              "it is the edge's own name",
		"te":                "it is of the connection to the edge",
		"trailer":           "it is of the connection to the edge",
		"transfer-encoding": "it is of the connection to the edge",
		"connection":        "it is of the connection to the edge",
		"keep-alive":        "it is of the connection to the edge",
		"upgrade":           "it is of the connection to the edge",
		"http2-settings":    "it is of the connection to the edge",
		"expect":            "it is of the connection to the edge",
		"accept":            "it is about the answer of the edge",
		"accept-encoding":   "it is about the answer of the edge",
	}
)

// NewForwarding makes an allow-list of names of headers, in any case. The error names the entry that cannot be on it,
// and says why. Without names it is nil, which forwards nothing.
func NewForwarding(names []string) (*Forwarding, error) {
	if len(names) == 0 {
		return nil, nil
	}
	f := &Forwarding{}
	for i, name := range names {
		key := strings.ToLower(name)
		if why := refused(name); why != "" {
			return nil, fmt.Errorf("forwarded_headers[%d]: %q cannot be forwarded: %s", i, name, why)
		}
		if slices.ContainsFunc(f.headers, func(h forwardedHeader) bool { return h.key == key }) {
			return nil, fmt.Errorf("forwarded_headers[%d]: %q stands twice: upper and lower case are one", i, name)
		}
		f.headers = append(f.headers, forwardedHeader{http.CanonicalHeaderKey(name), key})
	}
	return f, nil
}

// refused says why a name cannot be forwarded; empty where it can.
func refused(name string) string {
	if !validKey(name) {
		return "the names of metadata are of letters, digits, dash, underscore and dot"
	}
	key := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	for _, p := range refusedPrefixes {
		if strings.HasPrefix(key, p.prefix) {
			return p.why
		}
	}
	if strings.HasSuffix(key, refusedSuffix.suffix) {
		return refusedSuffix.why
	}
	return refusedNames[key]
}

// validKey says whether gRPC takes a name, in lower case, in metadata.
func validKey(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return key != ""
}

// Forward gives names and values of what a request's headers, whose names are in net/http's spelling, bring along: one
// after the other, as [Request.Forwarded] takes them, and each value of a header that has several. Where a value is not
// printable ASCII, which is all that gRPC carries as it is, or where all is more than [MaxForwardedBytes], it gives
// nothing but the name of the header that is at fault. It keeps nothing and is safe for concurrent use.
func (f *Forwarding) Forward(header map[string][]string) (forwarded []string, bad string) {
	if f == nil {
		return nil, ""
	}
	total := 0
	for _, h := range f.headers {
		for _, value := range header[h.header] {
			total += len(h.key) + len(value)
			if total > MaxForwardedBytes || !printable(value) {
				return nil, h.key
			}
			forwarded = append(forwarded, h.key, value)
		}
	}
	return forwarded, ""
}

func printable(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return true
}
