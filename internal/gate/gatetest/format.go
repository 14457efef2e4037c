package gatetest

import (
	"math/big"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
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

	dateTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$`)
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

// Ends of google.protobuf.Timestamp in Unix seconds.
var (
	firstSecond = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	lastSecond  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// timestamp reports RFC 3339 with capital T and Z, an offset, at most nine decimals, no leap second, and a moment
// within the years 0001 to 9999 in UTC.
func timestamp(s string) bool {
	if !dateTime.MatchString(s) {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return err == nil && t.Unix() >= firstSecond && t.Unix() <= lastSecond
}

// maxDuration is 10,000 years in nanoseconds.
var maxDuration = new(big.Int).Mul(big.NewInt(315_576_000_000), big.NewInt(1_000_000_000))

// duration judges the range of text that has the form already.
func duration(s string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "-"), "s"), ".")
	nanos, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", 9-len(fraction)), 10)
	return ok && nanos.Cmp(maxDuration) <= 0
}
