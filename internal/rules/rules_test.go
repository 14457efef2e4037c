package rules_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

func document(t testing.TB, md protoreflect.MessageDescriptor) *schema.Document {
	t.Helper()
	profile, _ := schema.Builtin("protojson")
	doc, _, err := schema.Input(md, profile)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// judge has the gate and then the rules judge arguments, as a call does.
func judge(t testing.TB, md protoreflect.MessageDescriptor, arguments string) *gate.Refusal {
	t.Helper()
	doc := document(t, md)
	g, err := gate.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rules.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	request, refusal := g.Judge([]byte(arguments))
	if refusal != nil {
		t.Fatalf("the gate refuses %s: %s", arguments, refusal.Text())
	}
	if !request.RulesRemain {
		return nil
	}
	return r.Judge(request.Wire)
}

// said is a problem of a refusal.
type said struct{ path, text string }

// TestJudge holds a row for each way in which a rule is said to the caller, and each shape of path.
func TestJudge(t *testing.T) {
	const (
		v = "(buf.validate.field)."
		// A canary in every value: no text may have it.
		canary = "kn4r13"
	)
	for _, row := range []struct {
		name, text, arguments string
		want                  []said
	}{
		{"kept", `message M { string a = 1 [` + v + `string.prefix = "k"]; }`, `{"a":"kn4r13"}`, nil},
		{"prefix", `message M { string a_b = 1 [` + v + `string.prefix = "x"]; }`, `{"aB":"kn4r13"}`, []said{{"aB", `must begin with "x"`}}},
		{"suffix", `message M { string a = 1 [` + v + `string.suffix = "x"]; }`, `{"a":"kn4r13"}`, []said{{"a", `must end with "x"`}}},
		{"contains", `message M { string a = 1 [` + v + `string.contains = "x"]; }`, `{"a":"kn4r13"}`, []said{{"a", `must contain "x"`}}},
		{"not_contains", `message M { string a = 1 [` + v + `string.not_contains = "n4"]; }`, `{"a":"kn4r13"}`, []said{{"a", `must not contain "n4"`}}},
		{"bytes of a string", `message M { string a = 1 [(buf.validate.field).string = {min_bytes: 9, len_bytes: 10}]; }`, `{"a":"kn4r13"}`,
			[]said{{"a", "must have at least 9 bytes in UTF-8"}, {"a", "must have exactly 10 bytes in UTF-8"}}},
		{"pattern that is not portable", `message M { string a = 1 [` + v + `string.pattern = "(?m)^x$"]; }`, `{"a":"kn4r13"}`, []said{{"a", "must match the RE2 pattern (?m)^x$"}}},
		{"ip", `message M { string a = 1 [` + v + `string.ip = true]; }`, `{"a":"kn4r13"}`, []said{{"a", "must be an IP address"}}},
		{"header name", `message M { string a = 1 [` + v + `string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_NAME]; }`, `{"a":"kn4r13 "}`, []said{{"a", "must be an http header name"}}},
		{"absent", `message M { string a = 1 [` + v + `string.min_len = 3]; }`, `{}`, []said{{"a", "must have at least 3 characters"}}},
		{"waived", `message M { string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 9}}]; }`, `{"a":""}`, nil},
		{"not waived", `message M { string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 9}}]; }`, `{"a":"kn4r13"}`, []said{{"a", "must have at least 9 characters"}}},
		{"required, of a double", `message M { double a = 1 [` + v + `required = true]; }`, `{"a":0}`, []said{{"a", "must not be 0"}}},
		{"outside", `message M { int32 a = 1 [(buf.validate.field).int32 = {gt: 9, lt: 3}]; }`, `{"a":5}`, []said{{"a", "must be less than 3 or greater than 9"}}},
		{"rounded to an excluded end", `message M { double a = 1 [(buf.validate.field).double = {gte: 0, lt: 1}]; }`, `{"a":0.99999999999999999999}`, []said{{"a", "must be at least 0 and must be less than 1"}}},
		{"rounded to an excluded constant", `message M { float a = 1 [` + v + `float.not_in = 1]; }`, `{"a":1.000000001}`, []said{{"a", "must be none of: 1"}}},
		{"bytes", `message M { bytes a = 1 [` + v + `bytes.len = 4]; }`, `{"a":"a240cjEz"}`, []said{{"a", "must have exactly 4 bytes"}}},
		{"bytes of another form", `message M { bytes a = 1 [` + v + `bytes.ip = true]; }`, `{"a":"a240cjEz"}`, []said{{"a", "must be an IP address"}}},
		{"duration", `message M { google.protobuf.Duration a = 1 [(buf.validate.field).duration = {gte: {seconds: 1}, lt: {seconds: 5}}]; }`, `{"a":"413s"}`, []said{{"a", "must be at least 1s and less than 5s"}}},
		{"timestamp", `message M { google.protobuf.Timestamp a = 1 [` + v + `timestamp.lt_now = true]; }`, `{"a":"9413-01-01T00:00:00Z"}`, []said{{"a", "must be in the past"}}},
		{"field mask", `message M { google.protobuf.FieldMask a = 1 [` + v + `field_mask.in = "x"]; }`, `{"a":"kn4r13"}`, []said{{"a", "must hold only paths at or below one of: x"}}},
		{"unique after rounding", `message M { repeated float a = 1 [` + v + `repeated.unique = true]; }`, `{"a":[1,1.00000000413]}`, []said{{"a", "must have no two equal items"}}},
		{"wrapper", `message M { google.protobuf.StringValue a = 1 [` + v + `string.prefix = "x"]; }`, `{"a":"kn4r13"}`, []said{{"a", `must begin with "x"`}}},

		{"constant message", `message M { string a = 1 [(buf.validate.field).cel = {id: "r", message: "must\n be nice", expression: "this == 'x'"}]; }`, `{"a":"kn4r13"}`, []said{{"a", "must be nice"}}},
		{"computed message", `message M { string a = 1 [(buf.validate.field).cel = {id: "r.id", expression: "'no, ' + this"}]; }`, `{"a":"kn4r13"}`, []said{{"a", "must satisfy the rule r.id"}}},
		{"computed beside a constant message", `message M { string a = 1 [(buf.validate.field).cel = {id: "r", message: "must be nice", expression: "'no, ' + this"}]; }`, `{"a":"kn4r13"}`, []said{{"a", "must be nice"}}},
		{"expression", `message M { string a = 1 [(buf.validate.field).cel_expression = "this\n== 'x'"]; }`, `{"a":"kn4r13"}`, []said{{"a", "must satisfy the rule this == 'x'"}}},
		{"without an id", `message M { string a = 1 [(buf.validate.field).cel = {expression: "this == 'x'"}]; }`, `{"a":"kn4r13"}`, []said{{"a", "must satisfy the rule this == 'x'"}}},
		{"no evaluation", `message M { string a = 1 [(buf.validate.field).cel_expression = "int(this) > 0"]; }`, `{"a":"kn4r13"}`, []said{{"", "must be values for which every rule of the tool can be evaluated"}}},

		{"message", `message M { option (buf.validate.message).cel = {id: "r", message: "a must fit b", expression: "this.a == this.b"}; string a = 1; string b = 2; }`, `{"a":"kn4r13"}`, []said{{"", "a must fit b"}}},
		{"message without a message", `message M { option (buf.validate.message).cel_expression = "this.a == this.b"; string a = 1; string b = 2; }`, `{"a":"kn4r13"}`, []said{{"", "must satisfy the rule this.a == this.b"}}},
		{"inner message", `message M { repeated N n = 1; } message N { option (buf.validate.message).cel = {id: "r", message: "a must fit b", expression: "this.a == this.b"}; string a = 1; string b = 2; }`, `{"n":[{},{"a":"kn4r13"}]}`, []said{{"n[]", "a must fit b"}}},
		{"oneof rules of a message", `message M { option (buf.validate.message) = {oneof: [{fields: ["a_a", "b"]}, {fields: ["b", "c"], required: true}, {fields: ["d"], required: true}]}; string a_a = 1; string b = 2; string c = 3; string d = 4; }`, `{"aA":"kn4r13","b":"x","c":"x"}`,
			[]said{{"", "give at most one of: aA, b"}, {"", "give exactly one of: b, c"}, {"", "give exactly one of: d"}}},

		{"items", `message M { repeated string a_b = 1 [` + v + `repeated.items.string.prefix = "x"]; }`, `{"aB":["x","kn4r13","kn4r13y"]}`, []said{{"aB[]", `must begin with "x"`}}},
		{"keys", `message M { map<string, bool> a = 1 [` + v + `map.keys.string.prefix = "x"]; }`, `{"a":{"kn4r13":true}}`, []said{{"a", `each key must begin with "x"`}}},
		{"values", `message M { map<string, string> a = 1 [` + v + `map.values.string.prefix = "x"]; }`, `{"a":{"kn4r13key":"kn4r13"}}`, []said{{"a.{key}", `must begin with "x"`}}},
		{"cel on values", `message M { map<string, string> a = 1 [` + v + `map.values.cel = {id: "r", message: "must be nice", expression: "this == 'x'"}]; }`, `{"a":{"kn4r13key":"kn4r13"}}`, []said{{"a.{key}", "must be nice"}}},
		{"deep", `message M { map<string, N> n = 1; } message N { repeated O os = 1; } message O { string text = 1 [(sallyport.tool.v1.field).name = "words", ` + v + `string.prefix = "x"]; }`,
			`{"n":{"kn4r13key":{"os":[{"words":"kn4r13"}]}}}`, []said{{"n.{key}.os[].words", `must begin with "x"`}}},
		{"recursive", `message M { M m = 1; string a = 2 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {prefix: "x"}}]; }`, `{"m":{"m":{"a":"kn4r13"}}}`, []said{{"m.m.a", `must begin with "x"`}}},

		{"in the schema's order", `message M { option (buf.validate.message).cel = {id: "r", message: "whole", expression: "false"}; string z = 9 [` + v + `string.prefix = "x"]; N n = 1; string a = 8 [` + v + `string.prefix = "x"]; }
			message N { option (buf.validate.message).cel = {id: "r", message: "part", expression: "false"}; string a = 1 [` + v + `string.prefix = "x"]; repeated string b = 2 [(buf.validate.field) = {cel: {id: "r", message: "list", expression: "false"}, repeated: {items: {cel: {id: "r", message: "item", expression: "false"}}}}]; }`,
			`{"z":"kn4r13","a":"kn4r13","n":{"a":"kn4r13","b":["kn4r13"]}}`,
			[]said{{"z", `must begin with "x"`}, {"n.a", `must begin with "x"`}, {"n.b", "list"}, {"n.b[]", "item"}, {"n", "part"}, {"a", `must begin with "x"`}, {"", "whole"}}},

		{"hidden", `message M { string a = 1 [(sallyport.tool.v1.field).hidden = true, ` + v + `string.min_len = 1]; string b = 2 [` + v + `string.prefix = "x"]; }`, `{"b":"x"}`, nil},
		{"hidden beside a broken one", `message M { string a = 1 [(sallyport.tool.v1.field).hidden = true, ` + v + `string.min_len = 1]; string b = 2 [` + v + `string.prefix = "x"]; }`, `{"b":"kn4r13"}`, []said{{"b", `must begin with "x"`}}},
		{"hidden one that cannot be evaluated", `message M { string a = 1 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).cel_expression = "int(this) > 0"]; string b = 2 [` + v + `string.prefix = "x"]; }`, `{"b":"x"}`, nil},
		{"output only", `message M { N a = 1 [(google.api.field_behavior) = OUTPUT_ONLY, ` + v + `required = false, (buf.validate.field).cel_expression = "false"]; string b = 2 [` + v + `string.prefix = "x"]; } message N {}`, `{"b":"x"}`, nil},

		{"any", `message M { google.protobuf.Any a = 1; } message N { string text = 1 [` + v + `string.prefix = "x"]; }`, `{"a":{"@type":"type.googleapis.com/t.v1.N","text":"kn4r13"}}`, []said{{"a.text", `must begin with "x"`}}},
		{"any that carries nothing ruled", `message M { google.protobuf.Any a = 1; } message N { string text = 1 [` + v + `string.prefix = "x"]; } message O { string text = 1; }`, `{"a":{"@type":"type.googleapis.com/t.v1.O","text":"kn4r13"}}`, nil},
		{"any among items and values", `message M { repeated google.protobuf.Any a = 1; map<string, google.protobuf.Any> b = 2; } message N { option (buf.validate.message).cel_expression = "false"; }`,
			`{"a":[{"@type":"type.googleapis.com/t.v1.N"}],"b":{"kn4r13":{"@type":"type.googleapis.com/t.v1.N"}}}`,
			[]said{{"a[]", "must satisfy the rule false"}, {"b.{key}", "must satisfy the rule false"}}},
		{"any within any", `message M { google.protobuf.Any a = 1; } message N { google.protobuf.Any b = 1; string text = 2 [` + v + `string.prefix = "x"]; }`,
			`{"a":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/t.v1.N","b":{"@type":"type.googleapis.com/t.v1.N","text":"kn4r13"}}}}`,
			[]said{{"a.value.b.text", `must begin with "x"`}, {"a.value.text", `must begin with "x"`}}},
		{"any as the request", `message M { N n = 1; } message N { google.protobuf.Any a = 1; string t = 2 [` + v + `string.prefix = "x"]; }`, `{"n":{"t":"x","a":{"@type":"type.googleapis.com/t.v1.M","n":{"t":"kn4r13"}}}}`, []said{{"n.a.n.t", `must begin with "x"`}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := judge(t, schematest.Message(t, row.text), row.arguments)
			if got == nil {
				got = &gate.Refusal{Correctable: true}
			}
			var problems []said
			for _, p := range got.Problems {
				problems = append(problems, said{p.Path, p.Text})
			}
			if diff := cmp.Diff(row.want, problems, cmp.AllowUnexported(said{})); diff != "" || got.More != 0 || !got.Correctable {
				t.Errorf("refusal %+v (-want +got):\n%s", got, diff)
			}
			if strings.Contains(got.Text(), canary) || strings.Contains(got.Text(), "413") {
				t.Errorf("the refusal repeats what was sent: %s", got.Text())
			}
		})
	}
}

// TestJudge_many counts what it does not spell out.
func TestJudge_many(t *testing.T) {
	var text strings.Builder
	text.WriteString("message M {")
	for i := range 14 {
		fmt.Fprintf(&text, ` string f%d = %d [(buf.validate.field).string.prefix = "x"];`, i, 14-i)
	}
	text.WriteString(" }")
	got := judge(t, schematest.Message(t, text.String()), `{"f13":"no"}`)
	if got == nil || len(got.Problems) != 10 || got.More != 4 || got.Problems[0].Path != "f0" || got.Problems[9].Path != "f9" {
		t.Errorf("got %+v", got)
	}
}

// TestJudge_large tells one problem of a request that may have a great many.
func TestJudge_large(t *testing.T) {
	md := schematest.Message(t, `message M { string hidden = 1 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).string.min_len = 1]; repeated string a = 2 [(buf.validate.field).repeated.items.string.prefix = "x"]; string b = 3 [(buf.validate.field).string.prefix = "x"]; }`)
	items := strings.Repeat(`"no",`, 10_000)
	got := judge(t, md, `{"a":[`+strings.TrimSuffix(items, ",")+`],"b":"no"}`)
	want := &gate.Refusal{Problems: []gate.Problem{{Path: "a[]", Text: `must begin with "x"`}}, Correctable: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	if got := judge(t, md, `{"a":[`+strings.TrimSuffix(strings.ReplaceAll(items, "no", "xo"), ",")+`],"b":"xo"}`); got != nil {
		t.Errorf("got %+v", got)
	}
}

// TestJudge_brokenBytes refuses what does not parse, which no gate writes.
func TestJudge_brokenBytes(t *testing.T) {
	r, err := rules.Compile(document(t, schematest.Message(t, `message M { string a = 1 [(buf.validate.field).string.prefix = "x"]; }`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Judge([]byte{0x0A, 0xFF}); got == nil || len(got.Problems) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestCompile_nothingLeft(t *testing.T) {
	r, err := rules.Compile(document(t, schematest.Message(t, `message M { string a = 1 [(buf.validate.field).string.max_len = 3]; }`)))
	if r != nil || err != nil {
		t.Errorf("got %v, %v", r, err)
	}
}

// TestCompile_sharesAndForgets has the documents of one file share a validator, and nothing stay of one that is gone.
func TestCompile_sharesAndForgets(t *testing.T) {
	files := schematest.Files(t, map[string]string{"t/v1/t.proto": schematest.Head + `
		message M { string a = 1 [(buf.validate.field).string.prefix = "x"]; N n = 2; } message N { string b = 1 [(buf.validate.field).cel_expression = "this == 'x'"]; }`})
	m, n := document(t, schematest.Find(t, files, "t.v1.M")), document(t, schematest.Find(t, files, "t.v1.N"))
	var held []*rules.Rules
	for range 3 {
		for _, doc := range []*schema.Document{m, n} {
			r, err := rules.Compile(doc)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, r)
		}
	}
	for _, r := range held {
		if !rules.SameValidator(r, held[0]) {
			t.Error("two validators were made")
		}
	}
	file := m.Message().ParentFile()
	if !rules.Shared(file) {
		t.Error("the validator is not known")
	}
	runtime.KeepAlive(held)
	held = nil
	// Cleanups run some time after the collection that found their object gone.
	for range 1000 {
		runtime.GC()
		if !rules.Shared(file) {
			return
		}
		runtime.Gosched()
	}
	t.Error("the validator is still known")
}

// TestJudge_concurrently uses one Rules from many goroutines, and compiles others meanwhile.
func TestJudge_concurrently(t *testing.T) {
	doc := document(t, schematest.Message(t, `message M { string hidden = 4 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).string.min_len = 1];
		map<string, N> n = 1; } message N { string b = 1 [(buf.validate.field).cel = {id: "r", message: "must be x", expression: "this == 'x'"}]; }`))
	g, err := gate.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := rules.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	bad, _ := g.Judge([]byte(`{"n":{"k":{"b":"no"},"l":{"b":"x"}}}`))
	good, _ := g.Judge([]byte(`{"n":{"k":{"b":"x"}}}`))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			own, err := rules.Compile(doc)
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				for _, r := range []*rules.Rules{shared, own} {
					if refusal := r.Judge(good.Wire); refusal != nil {
						t.Errorf("got %+v", refusal)
					}
					if refusal := r.Judge(bad.Wire); refusal == nil || refusal.Problems[0] != (gate.Problem{Path: "n.{key}.b", Text: "must be x"}) {
						t.Errorf("got %+v", refusal)
					}
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkJudge(b *testing.B) {
	doc := document(b, schematest.Message(b, `message M { option (buf.validate.message).cel = {id: "r", message: "m", expression: "this.a != this.b"};
		string a = 1; string b = 2 [(buf.validate.field).string.prefix = "x"]; int64 c = 3; repeated string d = 4; google.protobuf.Timestamp t = 5 [(buf.validate.field).timestamp.lt_now = true]; }`))
	g, err := gate.Compile(doc)
	if err != nil {
		b.Fatal(err)
	}
	r, err := rules.Compile(doc)
	if err != nil {
		b.Fatal(err)
	}
	request, refusal := g.Judge([]byte(`{"a":"some text","b":"x","c":"7","d":["one","two"],"t":"2024-05-01T12:00:00Z"}`))
	if refusal != nil {
		b.Fatal(refusal.Text())
	}
	b.ReportAllocs()
	for b.Loop() {
		if refusal := r.Judge(request.Wire); refusal != nil {
			b.Fatal(refusal.Text())
		}
	}
}

// protovalidate 1.4.0 panics over a number in a wrapper that is an item or a map's value, and measures how a text in one
// prints. The gate judges what of such rules is a keyword, and nothing else does.
func TestJudge_wrappersInListsAndMaps(t *testing.T) {
	md := schematest.Message(t, `message M {
		map<string, google.protobuf.Int32Value> numbers = 1 [(buf.validate.field).map.values.int32.gt = 1];
		repeated google.protobuf.Int64Value list = 2 [(buf.validate.field).repeated.items.int64.gt = 1];
		map<string, google.protobuf.StringValue> texts = 3 [(buf.validate.field).map.values.string = {max_len: 2, prefix: "a"}];
		string code = 4 [(buf.validate.field).string.prefix = "x"];
	}`)
	g, err := gate.Compile(document(t, md))
	if err != nil {
		t.Fatal(err)
	}
	r, err := rules.Compile(document(t, md))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"code":"x","numbers":{"k":2},"list":["2"],"texts":{"k":"ab"}}`: "",
		`{"code":"y","numbers":{"k":2},"list":["2"],"texts":{"k":"ab"}}`: `code`,
		`{"code":"x","numbers":{"k":1}}`:                                 `numbers.{key}`,
		`{"code":"x","list":["1"]}`:                                      `list[]`,
		`{"code":"x","texts":{"k":"abc"}}`:                               `texts.{key}`,
	} {
		request, refusal := g.Judge([]byte(arguments))
		if refusal == nil && request.RulesRemain {
			refusal = r.Judge(request.Wire)
		}
		if got := refusal != nil; got != (want != "") || got && refusal.Problems[0].Path != want {
			t.Errorf("%s: %v", arguments, refusal)
		}
	}
}
