package boundary_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// The tests of dialects hold the edge against boundary.md, "Dialects". This file says how a caller asks for a dialect,
// and how it spells arguments by the document that it was listed, knowing nothing else; the others are the tables.

// dialectProto has a field of every construct that some dialect spells in its own way.
const dialectProto = `
syntax = "proto3";
package spelled.v1;

import "buf/validate/validate.proto";
import "google/api/field_behavior.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "sallyport/tool/v1/options.proto";

service SpelledService {
  rpc Everything(All) returns (All) { option (sallyport.tool.v1.tool) = {name: "everything"}; }
  rpc Hashed(Pair) returns (Pair) { option (sallyport.tool.v1.tool) = {}; }
  rpc First(Pair) returns (Pair) { option (sallyport.tool.v1.tool) = {name: "1st"}; }
  rpc Open(google.protobuf.Struct) returns (google.protobuf.Struct) { option (sallyport.tool.v1.tool) = {name: "open"}; }
  rpc Boxed(google.protobuf.Int64Value) returns (google.protobuf.Int64Value) { option (sallyport.tool.v1.tool) = {name: "boxed"}; }
  rpc Need(Needed) returns (Pair) { option (sallyport.tool.v1.tool) = {name: "need"}; }
  rpc Nest(Nested) returns (Pair) { option (sallyport.tool.v1.tool) = {name: "nest"}; }
  rpc Route(Routed) returns (Pair) { option (sallyport.tool.v1.tool) = {name: "route"}; }
  rpc Fail(Failing) returns (Pair) { option (sallyport.tool.v1.tool) = {name: "fail"}; }
}

// Something of everything.
message All {
  string name = 1;
  optional string maybe = 2;
  optional int32 level = 3 [(buf.validate.field).int32 = {gte: 0, lte: 10}];
  int64 total = 4;
  double ratio = 5;
  bool urgent = 6;
  bytes raw = 7;
  Color color = 8;
  google.protobuf.Timestamp at = 9;
  google.protobuf.Duration took = 10;
  google.protobuf.Struct object = 11;
  google.protobuf.Value value = 12;
  google.protobuf.ListValue list = 13;
  google.protobuf.Any detail = 14;
  google.protobuf.StringValue nickname = 15;
  map<string, string> labels = 16;
  map<int32, Pair> by_number = 17;
  map<bool, string> by_flag = 18;
  map<string, google.protobuf.Value> open_by_name = 19;
  repeated string words = 20 [(buf.validate.field).repeated.unique = true];
  repeated Pair pairs = 21;
  Counted counted = 22;
  Tree tree = 23;
  oneof pick {
    string left = 24;
    Pair right = 25;
  }
  optional string code = 26 [(buf.validate.field).string.pattern = "^[A-Z]{2}$"];
  string secret = 27 [(sallyport.tool.v1.field).hidden = true];
  repeated google.protobuf.Any details = 28;
  google.protobuf.Int64Value boxed = 29;
}
message Pair { string sku = 1; int32 quantity = 2; }
message Counted { repeated string two = 1 [(buf.validate.field).repeated = {min_items: 2, max_items: 3}]; }
message Tree { string name = 1; repeated Tree children = 2; map<string, Tree> named = 3; }
message Needed {
  string sku = 1 [(google.api.field_behavior) = REQUIRED];
  string note = 2;
}
message Nested {
  string name = 1 [(google.api.field_behavior) = REQUIRED];
  repeated Nested parts = 2;
  map<string, Nested> named = 3;
  map<int32, google.protobuf.Value> facts = 4;
}
message Routed {
  string region = 1 [(sallyport.tool.v1.field).header = "Region"];
  string note = 2;
}
message Failing {
  string note = 1;
  google.protobuf.Struct object = 2;
  map<string, string> labels = 3;
  google.protobuf.Value value = 4;
}
enum Color {
  COLOR_UNSPECIFIED = 0;
  COLOR_RED = 1;
}
`

func newSpelledHouse(t *testing.T, options ...setting) *house {
	t.Helper()
	return newHouse(t, map[string]string{"spelled/v1/spelled.proto": dialectProto}, options...)
}

// eras are one version of each.
var eras = []string{version20251125, version20260728}

// ask posts a legacy body in a version, with a query and more headers.
func (h *house) ask(version, query, body string, more ...string) response {
	h.t.Helper()
	headers := h.caller.headers(version)
	if version == version20260728 {
		body = modernized(body)
		more = append(routingLines(body), more...)
	}
	for _, line := range more {
		name, value, _ := strings.Cut(line, ": ")
		headers.Set(name, value)
	}
	before := h.witness.count()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/mcp"+query, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = headers
	got := h.do(r)
	if h.witness.count() != before {
		got.seen = h.witness.last()
	}
	return got
}

// inMeta is a `_meta` that names a dialect.
func inMeta(name string) string { return `"_meta":{"dev.sallyport/dialect":` + quote(name) + `}` }

// callIn calls a tool in a dialect.
func (h *house) callIn(version string, d dialect.Dialect, tool, arguments string, more ...string) response {
	h.t.Helper()
	return h.ask(version, "", rpc("tools/call", `{"name":`+quote(tool)+`,"arguments":`+arguments+`,`+inMeta(d.String())+`}`), more...)
}

// definitionsIn are the entries of tools/list in a dialect, all pages of them, by name.
func (h *house) definitionsIn(version string, d dialect.Dialect) map[string]json.RawMessage {
	h.t.Helper()
	all := make(map[string]json.RawMessage)
	for cursor := ""; ; {
		params := `{` + inMeta(d.String())
		if cursor != "" {
			params += `,"cursor":` + quote(cursor)
		}
		got := h.ask(version, "", rpc("tools/list", params+`}`))
		var page struct {
			Result struct {
				Tools      []json.RawMessage
				NextCursor string
			}
		}
		if err := json.Unmarshal(got.body, &page); err != nil || len(page.Result.Tools) == 0 {
			h.t.Fatalf("tools/list in %s: %v: %.500s", d, err, got.body)
		}
		for _, definition := range page.Result.Tools {
			var name string
			if err := json.Unmarshal(memberOf(h.t, definition, "name"), &name); err != nil || all[name] != nil {
				h.t.Fatalf("tools/list in %s: %v: %q is there twice or never", d, err, name)
			}
			all[name] = definition
		}
		if cursor = page.Result.NextCursor; cursor == "" {
			return all
		}
	}
}

// speller spells canonical arguments by a listed document.
type speller struct {
	t    testing.TB
	defs map[string]any
	out  bytes.Buffer
	// other is set where the text says something else than the canonical arguments: something is given of which the
	// document says that it cannot be, or a list where the dialect has lists for what canonically is none.
	other bool
}

// spelledBy is what a reader of the input schema alone writes to say the canonical arguments.
func spelledBy(t testing.TB, inputSchema json.RawMessage, canonical string) string {
	t.Helper()
	text, _ := spelledOr(t, inputSchema, canonical)
	return text
}

// spelledOr is spelledBy, and reports that the dialect cannot say it.
func spelledOr(t testing.TB, inputSchema json.RawMessage, canonical string) (text string, other bool) {
	t.Helper()
	s := &speller{t: t}
	var document, value any
	d := json.NewDecoder(strings.NewReader(canonical))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, canonical)
	}
	if err := json.Unmarshal(inputSchema, &document); err != nil {
		t.Fatal(err)
	}
	root, _ := document.(map[string]any)
	for _, name := range []string{"$defs", "defs"} {
		if defs, ok := root[name].(map[string]any); ok {
			s.defs = defs
		}
	}
	if p, _ := root["properties"].(map[string]any); len(p) == 1 {
		// Open arguments are the one text of a closed object.
		if text, _ := p["value"].(map[string]any); isJSONText(text) {
			return `{"value":` + quote(canonical) + `}`, false
		}
	}
	s.value(root, value)
	return s.out.String(), s.other
}

func isJSONText(schema map[string]any) bool {
	return strings.Contains(description(schema), "Give it as the JSON text of ")
}

func description(schema map[string]any) string {
	text, _ := schema["description"].(string)
	return text
}

// shown follows references, and leaves the null that stands for absence.
func (s *speller) shown(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	for _, key := range []string{"$ref", "ref"} {
		if ref, ok := m[key].(string); ok {
			return s.shown(s.defs[ref[strings.LastIndexByte(ref, '/')+1:]])
		}
	}
	if branches, ok := m["anyOf"].([]any); ok {
		return s.shown(branches[0])
	}
	return m
}

func (s *speller) put(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	s.out.Write(raw)
}

func (s *speller) value(schema, value any) {
	outer, _ := schema.(map[string]any)
	shown := s.shown(schema)
	switch v := value.(type) {
	case map[string]any:
		items, _ := shown["items"].(map[string]any)
		switch properties, _ := shown["properties"].(map[string]any); {
		case isJSONText(shown) || isJSONText(outer):
			s.text(value)
		case items != nil:
			s.pairs(items, v)
		default:
			s.object(shown, properties, v)
		}
	case []any:
		if isJSONText(shown) || isJSONText(outer) {
			s.text(value)
			return
		}
		s.other = s.other || strings.Contains(description(shown)+description(outer), "One object for each entry")
		s.out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				s.out.WriteByte(',')
			}
			s.value(shown["items"], item)
		}
		s.out.WriteByte(']')
	default:
		if isJSONText(shown) || isJSONText(outer) {
			s.text(value)
			return
		}
		s.put(value)
	}
}

func (s *speller) text(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(string(raw))
}

func (s *speller) pairs(items map[string]any, entries map[string]any) {
	properties, _ := s.shown(items)["properties"].(map[string]any)
	s.out.WriteByte('[')
	for i, key := range sortedKeys(entries) {
		if i > 0 {
			s.out.WriteByte(',')
		}
		s.out.WriteString(`{"key":` + quote(key) + `,"value":`)
		s.value(properties["value"], entries[key])
		s.out.WriteByte('}')
	}
	s.out.WriteByte(']')
}

func (s *speller) object(shown, properties, members map[string]any) {
	required, _ := shown["required"].([]any)
	names := sortedKeys(members)
	for _, name := range required {
		if text, _ := name.(string); !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	s.out.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			s.out.WriteByte(',')
		}
		s.out.WriteString(quote(name) + ":")
		value, given := members[name]
		switch p, declared := properties[name]; {
		case !given:
			s.out.WriteString("null")
		case declared:
			s.value(p, value)
		default:
			s.value(shown["additionalProperties"], value)
		}
	}
	s.out.WriteByte('}')
}

func sortedKeys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
