package schemas_test

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// The names of the validators.
const (
	exactJudge = "santhosh"
	ajvJudge   = "ajv"
)

// site is one value of a document with the node that judges it.
type site struct {
	path string
	node *schema.Node
	v    *schematest.Value
}

// exception is one rule on which gate and validators differ by right.
type exception struct {
	name, why string
	validator string // blank for both
	// holds reports that a value of the document is the reason: of this problem of the gate's, or, where the gate has
	// none, of the validator's refusal.
	holds func(s site, p gate.Problem) bool
	// proto and document show it: the text of a proto3 file with the message M, and arguments.
	proto, document string
}

// at is true for a problem of a string in one of the forms, said at its place in such words.
func at(text string, form schema.Form, of func(text string) bool) func(s site, p gate.Problem) bool {
	return func(s site, p gate.Problem) bool {
		return s.path == p.Path && strings.Contains(p.Text, text) && s.node.Kind == schema.String && s.node.Form == form && s.v.Kind == '"' && of(s.v.Text)
	}
}

// wider are the rules that the gate judges and JSON Schema cannot say, so that a validator accepts more.
var wider = append([]exception{
	{name: "control characters", why: "no keyword speaks of characters but pattern, which would be on every string",
		holds: func(s site, p gate.Problem) bool {
			return s.path == p.Path && strings.Contains(p.Text, "must not contain control characters") && s.node.Kind == schema.String && strings.IndexFunc(s.v.Text, control) >= 0
		},
		proto: `message M { string a = 1; }`, document: `{"a":"x\u0007"}`},
	{name: "exact range of integers in text", why: "minimum and maximum speak of numbers; the description says the range",
		holds: func(s site, p gate.Problem) bool {
			return s.path == p.Path && strings.Contains(p.Text, "must be an integer from ") && s.node.Form == schema.Int && outOfRange(s.node, s.v.Text)
		},
		proto: `message M { int64 a = 1; }`, document: `{"a":"9223372036854775808"}`},
	{name: "oneof", why: "unions are refused by model APIs; the description says the rule",
		holds: func(s site, p gate.Problem) bool {
			if s.path != p.Path || !strings.HasPrefix(p.Text, "give ") || s.node.Kind != schema.Object {
				return false
			}
			for _, one := range s.node.Oneofs {
				given := 0
				for _, name := range one.Names {
					if s.v.Get(name) != nil {
						given++
					}
				}
				if given > 1 || given == 0 && one.Required {
					return true
				}
			}
			return false
		},
		proto: `message M { oneof o { string a = 1; string b = 2; } }`, document: `{"a":"","b":""}`},
	{name: "inside an Any", why: "@type is no property name that model APIs accept, so an Any is published as an open object",
		holds: func(s site, p gate.Problem) bool {
			return s.node.Kind == schema.AnyMessage && s.v.Kind == '{' && (p.Path == s.path || strings.HasPrefix(p.Path, s.path+".") || s.path == "")
		},
		proto: `message M { google.protobuf.Any a = 1; }`, document: `{"a":{"@type":"type.googleapis.com/none.Such"}}`},
	{name: "timestamp details", why: "the format date-time admits leap seconds, small letters, any decimals and years beyond 0001 to 9999 in UTC",
		holds: at("must be an RFC 3339 date and time", schema.Timestamp, timestampDetail),
		proto: `message M { google.protobuf.Timestamp a = 1; }`, document: `{"a":"0000-12-31T23:59:59Z"}`},
	{name: "duration range", why: "no keyword bounds what a text spells; the description says the range",
		holds: at("must be seconds with the suffix s", schema.Duration, durationForm.MatchString),
		proto: `message M { google.protobuf.Duration a = 1; }`, document: `{"a":"315576000000.1s"}`},
	{name: "base64", why: "contentEncoding is an annotation in 2020-12",
		holds: at("must be base64", schema.Base64, func(string) bool { return true }),
		proto: `message M { bytes a = 1; }`, document: `{"a":"YQ"}`},
	{name: "numbers beyond a double", why: "a bound that says so would be the largest double, which text readers round",
		holds: func(s site, p gate.Problem) bool {
			return s.path == p.Path && p.Text == "must be a number that a double can hold" && s.node.Kind == schema.Number && s.v.Kind == '0' && infinite(s.v.Text)
		},
		validator: exactJudge, proto: `message M { double a = 1; }`, document: `{"a":1e400}`},
	{name: "numbers beyond a double in open values", why: "an open value has no keywords",
		holds: func(s site, p gate.Problem) bool {
			open := s.node.Kind == schema.Open || s.node.Kind == schema.OpenObject || s.node.Kind == schema.OpenArray
			return s.path == p.Path && strings.HasPrefix(p.Text, "must hold no number that a double cannot") && open && holdsInfinite(s.v)
		},
		proto: `message M { google.protobuf.Value a = 1; }`, document: `{"a":[1e400]}`},
	{name: "timestamp spellings of ajv", why: "ajv takes a blank for the T, and an offset without its colon",
		holds:     at("must be an RFC 3339 date and time", schema.Timestamp, regexp.MustCompile(`^[0-9-]{10}[ T][0-9:.]{8,}(Z|[+-][0-9]{2}:?[0-9]{2})$`).MatchString),
		validator: ajvJudge, proto: `message M { google.protobuf.Timestamp a = 1; }`, document: `{"a":"2024-01-01 00:00:00Z"}`},
	{name: "inside a property named __proto__", why: "ajv skips it where properties are declared, so that its schema is not asked; where more than eight others are, it is not even taken for undeclared",
		holds: func(s site, p gate.Problem) bool {
			return declaresProto(s) && strings.HasPrefix(p.Path, strings.TrimPrefix(s.path+".__proto__", "."))
		},
		validator: ajvJudge, proto: `message M { string a = 1 [json_name = "__proto__"]; bool b = 2; bool c = 3; bool d = 4; bool e = 5; bool f = 6; bool g = 7; bool h = 8; bool i = 9; bool j = 10; }`, document: `{"__proto__":7}`},
	{name: "digits beyond a double", why: "JavaScript reads numbers as doubles: bounds, constants, fractions and equality beyond them are lost",
		holds: func(s site, p gate.Problem) bool {
			return (s.path == p.Path || strings.HasPrefix(s.path, p.Path+"[]")) && s.v.Kind == '0' && rounded(s.v.Text)
		},
		validator: ajvJudge, proto: `message M { int32 a = 1; }`, document: `{"a":1.0000000000000000001}`},
}, widerFormats...)

// narrower are documents that the gate accepts and a validator refuses.
var narrower = append([]exception{
	{name: "null for all arguments", why: "absent arguments and null are the empty object (boundary.md, \"The gate\"), before any schema is asked",
		holds: func(s site, _ gate.Problem) bool { return s.path == "" && s.v.Kind == 'n' },
		proto: `message M { string a = 1; }`, document: `null`},
	{name: "a property named __proto__", why: "ajv skips it where properties are declared, and so takes it for undeclared",
		holds:     func(s site, _ gate.Problem) bool { return declaresProto(s) },
		validator: ajvJudge, proto: `message M { string a = 1 [json_name = "__proto__"]; }`, document: `{"__proto__":"x"}`},
	{name: "numbers that a double rounds away", why: "JavaScript reads numbers as doubles: what is above an exclusive bound by less is the bound itself",
		holds: func(s site, _ gate.Problem) bool {
			return (s.node.Kind == schema.Number || s.node.Kind == schema.Integer) && s.v.Kind == '0' && rounded(s.v.Text)
		},
		validator: ajvJudge, proto: `message M { double a = 1 [(buf.validate.field).double.gt = 0]; }`, document: `{"a":1e-400}`},
}, narrowerFormats...)

// declaresProto reports an object with a declared property of that name.
func declaresProto(s site) bool {
	return s.node.Kind == schema.Object && s.v.Get("__proto__") != nil &&
		slices.ContainsFunc(s.node.Properties, func(p schema.Property) bool { return p.Name == "__proto__" })
}

func control(r rune) bool { return r < 0x20 && r != '\t' && r != '\n' && r != '\r' }

var integerForm = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func outOfRange(n *schema.Node, text string) bool {
	v, ok := new(big.Int).SetString(text, 10)
	return ok && integerForm.MatchString(text) && regexp.MustCompile(n.Pattern).MatchString(text) && (v.Cmp(n.Min) < 0 || v.Cmp(n.Max) > 0)
}

var (
	dateTimeForm = regexp.MustCompile(`^(?i)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`)
	durationForm = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?s$`)
	longFraction = regexp.MustCompile(`\.[0-9]{10,}`)
)

// timestampDetail reports RFC 3339 in all but one of the details that google.protobuf.Timestamp has no room for.
func timestampDetail(text string) bool {
	if !dateTimeForm.MatchString(text) {
		return false
	}
	if strings.ContainsAny(text, "tz") || longFraction.MatchString(text) || text[17:19] == "60" {
		return true
	}
	moment, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && (moment.UTC().Year() < 1 || moment.UTC().Year() > 9999)
}

func infinite(literal string) bool {
	_, err := strconv.ParseFloat(literal, 64)
	return err != nil
}

func holdsInfinite(v *schematest.Value) bool {
	if v.Kind == '0' {
		return infinite(v.Text)
	}
	for _, item := range v.Items {
		if holdsInfinite(item) {
			return true
		}
	}
	for _, m := range v.Members {
		if holdsInfinite(m.Value) {
			return true
		}
	}
	return false
}

// rounded reports a literal whose value a double does not write back.
func rounded(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return true
	}
	given, _ := schema.ParseDecimal(literal)
	back, _ := schema.ParseDecimal(strconv.FormatFloat(f, 'g', -1, 64))
	return given.Cmp(back) != 0
}

// TestExceptions shows each row: the gate and the validators differ on its document, for its reason and no other.
func TestExceptions(t *testing.T) {
	node := startAjv(t)
	for _, table := range [][]exception{wider, narrower} {
		for _, row := range table {
			t.Run(row.name, func(t *testing.T) {
				if row.why == "" {
					t.Error("no reason")
				}
				profile, _ := schema.Builtin("protojson")
				doc, _, err := schema.Input(schematest.Message(t, row.proto), profile)
				if err != nil {
					t.Fatal(err)
				}
				tr := newTrial(t, doc)
				tr.judge(t, node, []byte(row.document))
				if tr.count[row.name] == 0 || len(tr.count) != 1 {
					t.Errorf("explained by %v", tr.count)
				}
			})
		}
	}
}
