package gate

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// formats are the JSON Schema formats that a derived document asserts of plain text. Each accepts no more than
// protovalidate's rule of the same name does, so that what passes here passes there.
var formats = map[string]func(string) bool{
	"email":    email.MatchString,
	"hostname": hostname,
	"ipv4":     func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
	"ipv6":     func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
	"uri":      uri,
	"uuid":     uuid.MatchString,
}

var (
	// The address of an HTML form, which is what protovalidate reads.
	email = regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$")

	uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

	label = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)

	// Scheme, then only characters of RFC 3986, percent signs with two digits.
	uriText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})*$`)
)

func hostname(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if !label.MatchString(l) {
			return false
		}
	}
	// A last label of digits is half an IP address.
	return strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

func uri(s string) bool {
	if !uriText.MatchString(s) || strings.Count(s, "#") > 1 {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	// Brackets belong to an IP literal and nowhere else.
	return !strings.ContainsAny(u.EscapedPath()+u.Opaque+u.RawQuery+u.EscapedFragment(), "[]")
}
