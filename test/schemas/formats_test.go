package schemas_test

import (
	"regexp"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/gate"
)

// The gate reads the formats of protovalidate's rules no wider than protovalidate does, since both must hold. JSON
// Schema leaves to the validators what they make of a format, and each makes something else of it.

// format is true for a value of a format, and for the gate's problem with it if there is one.
func format(name string, of func(text string) bool) func(s site, p gate.Problem) bool {
	return func(s site, p gate.Problem) bool {
		return s.node.Format == name && s.v.Kind == '"' && of(s.v.Text) &&
			(p == gate.Problem{} || s.path == p.Path && strings.Contains(p.Text, "must be of the format "+name))
	}
}

const withFormat = `message M { string a = 1 [(buf.validate.field).string.FORMAT = true]; }`

func protoOf(format string) string { return strings.Replace(withFormat, "FORMAT", format, 1) }

// widerFormats are texts that a validator takes for a format and the gate does not.
var widerFormats = []exception{
	{name: "email of RFC 5321", why: "the gate reads the addresses of HTML forms, as protovalidate does: no quoted names, no IP literals, no final dot, somebody before the @",
		holds:     format("email", regexp.MustCompile(`^"|@\[|\.$|^@`).MatchString),
		validator: exactJudge, proto: protoOf("email"), document: `{"a":"\"a b\"@c.d"}`},
	{name: "email with a long label", why: "ajv does not count the 63 characters of a domain's label",
		holds:     format("email", regexp.MustCompile(`@.*[^.]{64}`).MatchString),
		validator: ajvJudge, proto: protoOf("email"), document: `{"a":"a@` + strings.Repeat("b", 64) + `.c"}`},
	{name: "hostname that ends like an IP address", why: "protovalidate refuses a last label of digits, and the gate a final dot",
		holds: format("hostname", regexp.MustCompile(`(^|\.)[0-9]*$`).MatchString),
		proto: protoOf("hostname"), document: `{"a":"1.2.3.4"}`},
	{name: "uri with characters of no URI", why: "the validator parses URLs as Go does, which takes characters and places that RFC 3986 does not",
		holds:     format("uri", regexp.MustCompile(`[^\x21-\x7e]|[\\<>]|#.*#|:\[`).MatchString),
		validator: exactJudge, proto: protoOf("uri"), document: `{"a":"http://é/"}`},
	{name: "uri with a host that Go does not parse", why: "ajv takes a port that is no number, and the gate takes no IP literal of a future version",
		holds:     format("uri", regexp.MustCompile(`^[a-z]+://(\[v|[^/]*:[a-z])`).MatchString),
		validator: ajvJudge, proto: protoOf("uri"), document: `{"a":"http://a:b"}`},
	{name: "uuid as a URN", why: "ajv takes the prefix urn:uuid:, protovalidate does not",
		holds:     format("uuid", func(text string) bool { return strings.HasPrefix(text, "urn:uuid:") }),
		validator: ajvJudge, proto: protoOf("uuid"), document: `{"a":"urn:uuid:0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e"}`},
}

// narrowerFormats are texts that the gate takes for a format and a validator does not.
var narrowerFormats = []exception{
	{name: "email with dots where atoms have none", why: "HTML forms admit them, RFC 5321 does not",
		holds: format("email", regexp.MustCompile(`^\.|\.@|\.\.`).MatchString),
		proto: protoOf("email"), document: `{"a":"a..b@c.d"}`},
	{name: "email of a domain of one label", why: "ajv wants a dot",
		holds:     format("email", func(text string) bool { return !strings.Contains(text[strings.IndexByte(text, '@')+1:], ".") }),
		validator: ajvJudge, proto: protoOf("email"), document: `{"a":"x@y"}`},
	{name: "uri of a scheme alone", why: "ajv wants something behind the colon",
		holds:     format("uri", func(text string) bool { return strings.HasSuffix(text, ":") }),
		validator: ajvJudge, proto: protoOf("uri"), document: `{"a":"a:"}`},
}
