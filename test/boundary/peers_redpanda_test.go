package boundary_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

func redpandaRows() []peerRow {
	const peer = "redpanda"
	return []peerRow{
		{peer: peer, defect: "a Value that holds the text 42 arrives as the number", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Carry", `{"any":"42"}`, "peers.v1.Parcel", `any {string_value: "42"}`)
			p.reaches("peers.v1.PeersService/Carry", `{"any":["true","null","[1]","{\"a\":1}",42]}`, "peers.v1.Parcel", `any {list_value {
				values {string_value: "true"} values {string_value: "null"} values {string_value: "[1]"} values {string_value: "{\"a\":1}"} values {number_value: 42}}}`)
		}},
		{peer: peer, defect: "an RPC that returns a StringValue fails at every call", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/SayText", "google.protobuf.StringValue", `value: "a \"word\""`)
			p.answersBare(t, "peers.v1.PeersService/SayText", `a "word"`)
		}},
		{peer: peer, defect: "an RPC that returns a Timestamp fails at every call", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/SayTime", "google.protobuf.Timestamp", `seconds: 1`)
			p.answersBare(t, "peers.v1.PeersService/SayTime", `1970-01-01T00:00:01Z`)
		}},
		{peer: peer, defect: "an RPC that returns a ListValue fails at every call", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/SayList", "google.protobuf.ListValue", `values {number_value: 1} values {string_value: "x"} values {null_value: NULL_VALUE}`)
			p.answersBare(t, "peers.v1.PeersService/SayList", `[1,"x",null]`)
		}},
		{peer: peer, defect: "the schema of a Struct as a request shows its fields and not the object", shows: func(t *testing.T, p *peers) {
			r := p.reaches("peers.v1.PeersService/TakeStruct", `{"a":1,"fields":{"b":[true]}}`, "google.protobuf.Struct",
				`fields {key: "a" value {number_value: 1}} fields {key: "fields" value {struct_value {fields {key: "b" value {list_value {values {bool_value: true}}}}}}}`)
			if !schematest.Accepts(t, p.inputValidator("peers.v1.PeersService/TakeStruct"), []byte(`{"a":1,"fields":{"b":[true]}}`)) {
				t.Errorf("the schema refuses what was taken: %s", p.input("peers.v1.PeersService/TakeStruct"))
			}
			p.conforms("peers.v1.PeersService/TakeStruct", r)
			// A scalar cannot be the arguments, which are an object.
			p.reaches("peers.v1.PeersService/TakeText", `{"value":"x"}`, "google.protobuf.StringValue", `value: "x"`)
		}},
		{peer: peer, defect: "an unknown enum number fails the output schema", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/GetReport", "peers.v1.Report", `mood: 99 moods: [1, -5]`)
			got := p.conforms("peers.v1.PeersService/GetReport", p.ask("peers.v1.PeersService/GetReport", `{}`))
			if !strings.Contains(got, `"mood":99`) || !strings.Contains(got, `"moods":["MOOD_GOOD",-5]`) {
				t.Errorf("answered %s", got)
			}
		}},
		{peer: peer, defect: "NaN and infinity fail the output schema", shows: func(t *testing.T, p *peers) {
			for text, want := range map[string]string{
				`ratio: nan small: nan`: `"ratio":"NaN","small":"NaN"`, `ratio: inf small: -inf`: `"ratio":"Infinity","small":"-Infinity"`,
			} {
				p.tells("peers.v1.PeersService/GetReport", "peers.v1.Report", text)
				if got := p.conforms("peers.v1.PeersService/GetReport", p.ask("peers.v1.PeersService/GetReport", `{}`)); !strings.Contains(got, want) {
					t.Errorf("answered %s, want %s", got, want)
				}
			}
		}},
		{peer: peer, defect: "a NullValue field always fails the output schema", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/GetReport", "peers.v1.Report", `nothing: NULL_VALUE`)
			if got := p.conforms("peers.v1.PeersService/GetReport", p.ask("peers.v1.PeersService/GetReport", `{}`)); !strings.Contains(got, `"nothing":null`) {
				t.Errorf("answered %s", got)
			}
		}},
		{peer: peer, defect: "a oneof member called which takes the process down", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Which", `{"which":"x"}`, "peers.v1.WhichRequest", `which: "x"`)
			p.refuses("peers.v1.PeersService/Which", `{"which":"x","other":1}`, "which", "other")
		}},
		{peer: peer, defect: "a proto2 group is a string", shows: func(t *testing.T, p *peers) {
			r := p.reaches("peers.old.v1.OldService/Old", `{"id":"x","inner":{"text":"y"},"many":[{"number":1},{}]}`,
				"peers.old.v1.OldRequest", `id: "x" Inner {text: "y"} Many {number: 1} Many {}`)
			// On the wire it is a group, and no message in bytes.
			if _, kind, _ := protowire.ConsumeTag(r.seen.wire[3:]); kind != protowire.StartGroupType {
				t.Errorf("sent % x", r.seen.wire)
			}
			p.witness.answer("/peers.old.v1.OldService/Old", echoes)
			p.conforms("peers.old.v1.OldService/Old", p.ask("peers.old.v1.OldService/Old", `{"id":"x","inner":{"text":"y"}}`))
		}},
		{peer: peer, defect: "an editions DELIMITED field is a string", shows: func(t *testing.T, p *peers) {
			r := p.reaches("peers.next.v1.NextService/Next", `{"id":"x","inner":{"text":"y"},"numbers":[1,2]}`,
				"peers.next.v1.NextRequest", `id: "x" inner {text: "y"} numbers: [1, 2]`)
			if _, kind, _ := protowire.ConsumeTag(r.seen.wire[3:]); kind != protowire.StartGroupType {
				t.Errorf("sent % x", r.seen.wire)
			}
			p.witness.answer("/peers.next.v1.NextService/Next", echoes)
			p.conforms("peers.next.v1.NextService/Next", p.ask("peers.next.v1.NextService/Next", `{"id":"x","inner":{"text":"y"},"numbers":[1,2]}`))
		}},
		{peer: peer, defect: "proto2 required and LEGACY_REQUIRED are not required", shows: func(t *testing.T, p *peers) {
			for _, function := range []string{"peers.old.v1.OldService/Old", "peers.next.v1.NextService/Next"} {
				var schema struct{ Required []string }
				if err := json.Unmarshal([]byte(p.input(function)), &schema); err != nil || len(schema.Required) != 1 || schema.Required[0] != "id" {
					t.Errorf("%s requires %v", function, schema.Required)
				}
				p.refuses(function, `{}`, "id")
			}
		}},
		{peer: peer, defect: "editions 2023 files are refused by the plugin", shows: func(t *testing.T, p *peers) {
			out := p.plugin(t, 1, "peers/next/v1/next.proto")[0]
			if out.GetError() != "" || len(out.GetFile()) != 1 {
				t.Errorf("the plugin wrote %d files and said %q", len(out.GetFile()), out.GetError())
			}
			edition := int32(descriptorpb.Edition_EDITION_2023)
			if out.GetSupportedFeatures()&uint64(pluginpb.CodeGeneratorResponse_FEATURE_SUPPORTS_EDITIONS) == 0 ||
				out.GetMinimumEdition() > edition || out.GetMaximumEdition() < edition {
				t.Errorf("the plugin supports %d, editions %d to %d", out.GetSupportedFeatures(), out.GetMinimumEdition(), out.GetMaximumEdition())
			}
		}},
		{peer: peer, defect: "protovalidate: required is ignored", shows: func(_ *testing.T, p *peers) {
			p.refuses(judgeRPC, `{}`, "id", "required")
		}},
		{peer: peer, defect: "protovalidate: int64.gt becomes a bound on a string", shows: func(t *testing.T, p *peers) {
			p.reaches(judgeRPC, `{"id":"x","positive":"1"}`, "peers.v1.Rules", `id: "x" positive: 1`)
			p.refuses(judgeRPC, `{"id":"x","positive":"0"}`, "positive")
			p.refuses("peers.numeric.v1.NumericService/Judge", `{"id":"x","positive":0}`, "positive")
			if property := p.property(judgeRPC, "positive"); property["type"] != "string" || property["minimum"] != nil || property["exclusiveMinimum"] != nil {
				t.Errorf("published as %v", property)
			}
			if schematest.Accepts(t, p.inputValidator("peers.numeric.v1.NumericService/Judge"), []byte(`{"id":"x","positive":0}`)) {
				t.Error("the schema accepts what the gate refuses")
			}
		}},
		{peer: peer, defect: "protovalidate: the greatest uint64 overflows", shows: func(t *testing.T, p *peers) {
			if property := p.property(judgeRPC, "wide"); property["maximum"] != nil {
				t.Errorf("published as %v", property)
			}
			p.reaches(judgeRPC, `{"id":"x","wide":"18446744073709551615"}`, "peers.v1.Rules", `id: "x" wide: 18446744073709551615`)
			p.refuses(judgeRPC, `{"id":"x","wide":"18446744073709551616"}`, "wide")
			numeric := "peers.numeric.v1.NumericService/Judge"
			if schema := p.input(numeric); !strings.Contains(schema, `"maximum":18446744073709551615`) {
				t.Errorf("published as %s", schema)
			}
			p.reaches(numeric, `{"id":"x","wide":18446744073709551615}`, "peers.v1.Rules", `id: "x" wide: 18446744073709551615`)
			p.refuses(numeric, `{"id":"x","wide":18446744073709551616}`, "wide")
		}},
		{peer: peer, defect: "protovalidate: in is ignored", shows: func(t *testing.T, p *peers) {
			p.reaches(judgeRPC, `{"id":"x","kind":"far"}`, "peers.v1.Rules", `id: "x" kind: "far"`)
			p.refuses(judgeRPC, `{"id":"x","kind":"beyond"}`, "kind", "near", "far")
			if schematest.Accepts(t, p.inputValidator(judgeRPC), []byte(`{"id":"x","kind":"beyond"}`)) {
				t.Error("the schema accepts what the gate refuses")
			}
		}},
		{peer: peer, defect: "protovalidate: uri is ignored", shows: func(t *testing.T, p *peers) {
			p.reaches(judgeRPC, `{"id":"x","link":"https://example.com/a"}`, "peers.v1.Rules", `id: "x" link: "https://example.com/a"`)
			p.refuses(judgeRPC, `{"id":"x","link":"not a link"}`, "link")
			if property := p.property(judgeRPC, "link"); property["format"] != "uri" {
				t.Errorf("published as %v", property)
			}
		}},
		{peer: peer, defect: "protovalidate: repeated rules are ignored", shows: func(t *testing.T, p *peers) {
			p.reaches(judgeRPC, `{"id":"x","tags":["aa","bb"]}`, "peers.v1.Rules", `id: "x" tags: ["aa", "bb"]`)
			for _, tags := range []string{`["aa","bb","cc"]`, `["aa","aa"]`, `["a"]`} {
				p.refuses(judgeRPC, `{"id":"x","tags":`+tags+`}`, "tags")
				if schematest.Accepts(t, p.inputValidator(judgeRPC), []byte(`{"id":"x","tags":`+tags+`}`)) {
					t.Errorf("the schema accepts %s", tags)
				}
			}
		}},
		{peer: peer, defect: "protovalidate: map rules are ignored", shows: func(_ *testing.T, p *peers) {
			p.reaches(judgeRPC, `{"id":"x","scores":{"aa":0}}`, "peers.v1.Rules", `id: "x" scores {key: "aa" value: 0}`)
			for _, scores := range []string{`{"aa":1,"bb":2,"cc":3}`, `{"a":1}`, `{"aa":-1}`} {
				p.refuses(judgeRPC, `{"id":"x","scores":`+scores+`}`, "scores")
			}
		}},
		{peer: peer, defect: "protovalidate: enum rules are ignored", shows: func(_ *testing.T, p *peers) {
			p.reaches(judgeRPC, `{"id":"x","mood":"MOOD_GOOD"}`, "peers.v1.Rules", `id: "x" mood: MOOD_GOOD`)
			p.refuses(judgeRPC, `{"id":"x","mood":"MOOD_BAD"}`, "mood")
		}},
		{peer: peer, defect: "a service in lower case does not build", shows: func(t *testing.T, p *peers) {
			p.reaches("peers.lower.v1.lower_svc/do_it", `{"SomeField":"x"}`, "peers.lower.v1.lower_request", `Some_field: "x"`)
			if title := p.listing("peers.lower.v1.lower_svc/do_it").Title; title == "" {
				t.Error("no title")
			}
		}},
		{peer: peer, defect: "unknown arguments are dropped, and the schema is open", shows: func(t *testing.T, p *peers) {
			const typo = `{"filter":{"minVersoin":"5"}}`
			p.refuses("peers.v1.PeersService/Find", typo, "filter", "minVersion")
			p.refuses("peers.v1.PeersService/Find", `{"filtre":{}}`, "filter")
			if schematest.Accepts(t, p.inputValidator("peers.v1.PeersService/Find"), []byte(typo)) {
				t.Error("the schema accepts an undeclared property")
			}
		}},
		{peer: peer, defect: "bad arguments are a protocol error with the code 0", shows: badArgumentsAreToolErrors},
		{peer: peer, defect: "a call without arguments fails with one adapter", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Find", ``, "peers.v1.FindRequest", ``)
			p.reaches("peers.v1.PeersService/Find", `null`, "peers.v1.FindRequest", ``)
			p.reaches("peers.v1.PeersService/Find", `{}`, "peers.v1.FindRequest", ``)
		}},
	}
}

const judgeRPC = "peers.v1.PeersService/Judge"

// badArgumentsAreToolErrors: the model reads a tool error and may mend its call; a protocol error ends at the host.
func badArgumentsAreToolErrors(t *testing.T, p *peers) {
	for _, arguments := range []string{`{"filter":7}`, `{"filter":{"minVersion":"x"}}`, `{"x":1}`, `{"filter":null}`} {
		p.refuses("peers.v1.PeersService/Find", arguments)
	}
	// What cannot be arguments at all is a protocol error, with the code that the protocol has for it.
	for _, arguments := range []string{`[]`, `"x"`, `7`, `true`} {
		if r := p.ask("peers.v1.PeersService/Find", arguments); r.code() != -32602 || r.seen != nil {
			t.Errorf("%s: %s", arguments, r.body)
		}
	}
}

// answersBare calls a function whose response is no object: one text block with the bare value, no output schema and no
// structured content.
func (p *peers) answersBare(t *testing.T, function, want string) {
	t.Helper()
	r := p.ask(function, `{}`)
	structured, text := r.result()
	if text != want || structured != nil || len(r.parse().Result.Content) != 1 {
		t.Errorf("answered %s", r.body)
	}
	if schema := p.listing(function).OutputSchema; schema != nil {
		t.Errorf("published the output schema %s", schema)
	}
}
