package contract_test

import (
	"strconv"
	"strings"
	"testing"
)

// examplesProto has one field a with examples: its type, its rules, the texts, and whether it is a response's.
func examplesProto(field, rules string, examples []string, response bool) string {
	quoted := make([]string, len(examples))
	for i, e := range examples {
		quoted[i] = strconv.Quote(e)
	}
	option := "[(sallyport.tool.v1.field).examples = " + strings.Join(quoted, ", (sallyport.tool.v1.field).examples = ")
	if rules != "" {
		option += ", " + rules
	}
	in, out := "In", "Res"
	if response {
		in, out = "Req", "In"
	}
	return `syntax = "proto3"; package acme;
import "buf/validate/validate.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "sallyport/tool/v1/options.proto";
message Req { string id = 1; }
message Res { string id = 1; }
enum State { STATE_UNSPECIFIED = 0; OPEN = 1; }
message Line { string sku = 1; int32 quantity = 2 [(buf.validate.field).required = true]; Line next = 3; }
message In { ` + field + ` a = 1 ` + option + `]; string b = 2 [(buf.validate.field).required = true]; }
service Svc { rpc Do(` + in + `) returns (` + out + `) { option (sallyport.tool.v1.tool) = {}; } }`
}

func TestCompile_judgesExamples(t *testing.T) {
	for _, tt := range []struct {
		name, field, rules string
		examples           []string
		response           bool
		want               []string // of each conflict: the number of the example and the problem; none is accepted
	}{
		{"a text", "string", "", []string{`"x"`, `""`}, false, nil},
		{"a number for a text", "string", "", []string{`"x"`, `7`}, false, []string{"2|must be a string"}},
		{"null", "optional string", "", []string{`null`}, false, []string{"1|must be a string; to give none, leave it out"}},
		{"a text for a number", "int32", "", []string{`"7"`}, false, []string{"1|must be an integer"}},
		{"a number beyond its width", "int32", "", []string{`2147483648`}, false, []string{"1|must be from -2147483648 to 2147483647"}},
		{"a 64-bit integer as a number", "int64", "", []string{`7`, `"7"`}, false, []string{"1|must be a string"}},
		{"a rule", "string", "(buf.validate.field).string.min_len = 3", []string{`"abc"`, `"ab"`}, false, []string{"2|must have at least 3 characters"}},
		{"an enum", "State", "", []string{`"OPEN"`, `"SHUT"`, `1`}, false, []string{`2|must be "OPEN"`, "3|must be a string"}},
		{"a timestamp", "google.protobuf.Timestamp", "", []string{`"2024-05-01T12:00:00Z"`, `"yesterday"`}, false, []string{"2|must be an RFC 3339"}},
		{"a duration", "google.protobuf.Duration", "", []string{`"1.5s"`, `"90m"`}, false, []string{"2|must be seconds"}},
		{"a message", "Line", "", []string{`{"quantity":1}`, `{"sku":7}`, `{"quantity":1,"next":{"quantity":"x"}}`, `{"quantity":1,"quantitty":2}`}, false,
			[]string{"2|a.sku must be a string; a.quantity is required", "3|a.next.quantity must be an integer", "4|1 undeclared property"}},
		{"a list", "repeated int32", "", []string{`[1,2]`, `1`, `[1,"2"]`}, false, []string{"2|must be an array", "3|a[] must be an integer"}},
		{"a map", "map<string, int32>", "", []string{`{"k":1}`, `{"k":"v"}`}, false, []string{"2|a.{key} must be an integer"}},
		{"any JSON", "google.protobuf.Value", "", []string{`{"k":[1,null]}`, `null`}, false, nil},
		{"a message of any type", "google.protobuf.Any", "", []string{`{"@type":"type.googleapis.com/acme.Line","quantity":1}`, `{"quantity":1}`}, false, []string{"2|a.@type is required"}},

		{"a text of a response", "string", "", []string{`"x"`, `7`}, true, []string{"2|must be a string"}},
		{"a rule in a response", "string", "(buf.validate.field).string.min_len = 3", []string{`"ab"`}, true, nil},
		{"a message of a response", "Line", "", []string{`{"sku":"x"}`, `{"sku":7}`}, true, []string{"2|a.sku must be a string"}},
		{"a number of a response that may be a text", "double", "", []string{`"NaN"`}, true, nil},
		{"an enum of a response that may be a number", "State", "", []string{`7`}, true, nil},
		{"a message of any type in a response", "google.protobuf.Any", "", []string{`{"@type":"x"}`}, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := source(t, "")
			s.Files = compileSet(t, map[string]string{"test.proto": examplesProto(tt.field, tt.rules, tt.examples, tt.response)})
			s.Services = []string{"acme.Svc"}
			if tt.want == nil {
				if tool := compile(t, s).Services[0].Tools[0]; tool == nil {
					t.Fatal("no tool")
				}
				return
			}
			found := conflicts(t, s)
			if len(found) != len(tt.want) {
				t.Fatalf("conflicts %v, want %q", found, tt.want)
			}
			for i, c := range found {
				number, problem, _ := strings.Cut(tt.want[i], "|")
				want := "field acme.In.a: example " + number + " is refused by the schema that publishes it: " + problem
				if c.Function != "acme.Svc/Do" || !strings.HasPrefix(c.Problem, want) {
					t.Errorf("conflict %q of %s, want %q", c.Problem, c.Function, want)
				}
				if c.File != "test.proto" || c.Line == 0 {
					t.Errorf("conflict at %s:%d, want a place in test.proto", c.File, c.Line)
				}
			}
		})
	}
}

// A type that two properties share is judged once.
func TestCompile_judgesSharedExamplesOnce(t *testing.T) {
	found := conflicts(t, source(t, `
message Line { int32 quantity = 1 [(sallyport.tool.v1.field).examples = "\"x\""]; Line next = 2; }
message In { Line one = 1; repeated Line two = 2; map<string, Line> three = 3; }
service Svc { rpc Do(In) returns (Res) { option (sallyport.tool.v1.tool) = {}; } }`))
	if len(found) != 1 || found[0].Function != "acme.Svc/Do" {
		t.Errorf("conflicts %v, want one", found)
	}
}

// What registration has judged, an edge does not judge again: it would lose tools to a check that is newer than they are.
func TestCompile_takesRegisteredExamples(t *testing.T) {
	s := source(t, "")
	s.Files = compileSet(t, map[string]string{"test.proto": examplesProto("string", "", []string{"7"}, false)})
	s.Services, s.RulesChecked = []string{"acme.Svc"}, true
	if c := compile(t, s); len(c.Services[0].Tools) != 1 {
		t.Errorf("services %v, want one tool", c.Services)
	}
}
