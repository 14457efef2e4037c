package mcp

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// doorman judges what can be judged by a request's head alone.
type doorman struct {
	// origins are allowed beside the loopback ones, as normalised by originOf.
	origins map[string]bool
	// hosts are the allowed Host names on a loopback listener beside the loopback ones, without port, in lower case.
	hosts map[string]bool
	limit int64
	// cors says that pages of the allowed origins may read answers.
	cors bool
}

// newDoorman prepares the allow-lists: the edge's own base URL, and the configured origins.
func newDoorman(baseURL string, allowed []string, limit int64, cors bool) (*doorman, error) {
	d := &doorman{origins: make(map[string]bool), hosts: make(map[string]bool), limit: limit, cors: cors}
	for _, text := range allowed {
		if _, ok := originOf(text); !ok {
			return nil, fmt.Errorf("allowed origin %q: want https://host[:port] without a path", text)
		}
	}
	if baseURL != "" {
		u, err := url.Parse(baseURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("base URL %q: want an absolute http or https URL", baseURL)
		}
		allowed = append([]string{u.Scheme + "://" + u.Host}, allowed...)
	}
	for _, text := range allowed {
		origin, _ := originOf(text)
		d.origins[origin] = true
		_, hostport, _ := strings.Cut(origin, "://")
		d.hosts[hostOf(hostport)] = true
	}
	return d, nil
}

// admit returns nil for a request that may come in (mcp-protocol.md 1.5, rungs 1 to 3 and 5; DESIGN puts the declared
// length before authentication as well).
func (d *doorman) admit(r *http.Request) *answer {
	loopback := onLoopback(r)
	if loopback && !d.knownHost(r.Host) {
		return headRefusal(http.StatusForbidden, "The Host header names a host that this edge does not serve.")
	}
	if origins := r.Header["Origin"]; len(origins) > 0 {
		if _, known := d.knownOrigin(origins, loopback); !known {
			return headRefusal(http.StatusForbidden, "Requests from this Origin are not allowed.")
		}
	}
	if r.Method != http.MethodPost {
		if d.cors && r.Method == http.MethodOptions && r.Header["Origin"] != nil {
			return preflight()
		}
		a := headRefusal(http.StatusMethodNotAllowed, "Only POST is served here.")
		a.header("Allow", d.methods())
		return a
	}
	if !isJSON(r.Header["Content-Type"]) {
		return headRefusal(http.StatusUnsupportedMediaType, "The Content-Type must be application/json in UTF-8.")
	}
	if encoding := strings.Join(r.Header["Content-Encoding"], ","); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return headRefusal(http.StatusUnsupportedMediaType, "The body must not have a Content-Encoding.")
	}
	if r.ContentLength > d.limit {
		return tooLarge()
	}
	return nil
}

func (d *doorman) knownHost(host string) bool {
	name := hostOf(host)
	return isLoopbackName(name) || d.hosts[name]
}

// knownOrigin refuses what browsers send for pages that are not ours, `null` included, and gives others in normal form.
// Origins on loopback are fine where only loopback can connect anyway.
func (d *doorman) knownOrigin(origins []string, loopback bool) (origin string, known bool) {
	if len(origins) != 1 {
		return "", false
	}
	origin, ok := originOf(origins[0])
	if !ok {
		return "", false
	}
	if d.origins[origin] {
		return origin, true
	}
	_, hostport, _ := strings.Cut(origin, "://")
	return origin, loopback && isLoopbackName(hostOf(hostport))
}

// share lets a page of an allowed origin read the answer, whatever it will be (Fetch, "CORS protocol").
func (d *doorman) share(h http.Header, r *http.Request) {
	h["Vary"] = varyOrigin
	if origins := r.Header["Origin"]; len(origins) > 0 {
		if origin, known := d.knownOrigin(origins, onLoopback(r)); known {
			h["Access-Control-Allow-Origin"] = []string{origin}
			h["Access-Control-Expose-Headers"] = exposedHeaders
		}
	}
}

// preflight tells a browser what a page may send. Callers are known by headers and never by cookies, so that credentials
// in the sense of CORS are not allowed, and the asterisk stands for every header but Authorization.
func preflight() *answer {
	a := &answer{status: http.StatusNoContent, outcome: lifecycle.Success, class: lifecycle.None}
	a.header("Access-Control-Allow-Methods", http.MethodPost)
	a.header("Access-Control-Allow-Headers", "Authorization, *")
	a.header("Access-Control-Max-Age", "600")
	return a
}

func (d *doorman) methods() string {
	if d.cors {
		return http.MethodOptions + ", " + http.MethodPost
	}
	return http.MethodPost
}

var (
	varyOrigin     = []string{"Origin"}
	exposedHeaders = []string{"WWW-Authenticate, Retry-After"}
)

// headRefusal is the answer to a request that was not let in. Nothing of the body was read, so no id can be echoed.
func headRefusal(status int, message string) *answer {
	return &answer{
		status:  status,
		body:    errorBody(nil, &problem{code: codeInvalidRequest, message: message}),
		outcome: lifecycle.Rejected,
		class:   lifecycle.Transport,
	}
}

func tooLarge() *answer {
	return headRefusal(http.StatusRequestEntityTooLarge, "The body is larger than this edge accepts.")
}

// onLoopback says whether the connection came in on a loopback address.
func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// originOf normalises an origin: scheme and host in lower case, the scheme's own port left out. It refuses anything
// that is more than an origin.
func originOf(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" ||
		(u.Scheme != "http" && u.Scheme != "https") {
		return "", false
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); (u.Scheme == "http" && port == "80") || (u.Scheme == "https" && port == "443") {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, true
}

// hostOf takes the port and the brackets off, and lowers the case.
func hostOf(hostport string) string {
	host := hostport
	if strings.Contains(hostport, ":") { // else there is no port, and an error would have to be made to say so
		if h, _, err := net.SplitHostPort(hostport); err == nil {
			host = h
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(host)
}

func isLoopbackName(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isJSON accepts exactly one Content-Type of application/json, without a charset or with UTF-8.
func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	mediaType, params, err := mime.ParseMediaType(values[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}
