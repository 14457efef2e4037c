package boundary_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// What a reader of a dialect's document writes reaches the service as the request that canonical arguments are.
func TestDialects_argumentsAreTheSameRequest(t *testing.T) {
	h := newSpelledHouse(t)
	for _, d := range dialect.All() {
		listed := h.definitionsIn(version20251125, d)
		for _, row := range []struct{ tool, message, arguments string }{
			{"everything", "All", `{}`},
			{"everything", "All", `{"name":"x","maybe":"","level":10,"total":"9007199254740993","ratio":-0.5,"urgent":true,"raw":"AQID","color":"COLOR_RED"}`},
			{"everything", "All", `{"ratio":1.5,"at":"2026-01-02T03:04:05.5Z","took":"1.5s","nickname":"","boxed":"-7","code":"DE"}`},
			{"everything", "All", `{"object":{"a":[1,null,{"b":"\"\\u0000"}],"":{}},"list":[1,"x",null,{}]}`},
			{"everything", "All", `{"object":{},"list":[],"labels":{},"byNumber":{},"words":[],"pairs":[]}`},
			{"everything", "All", `{"value":{"a":1}}`},
			{"everything", "All", `{"value":[1,2]}`},
			{"everything", "All", `{"value":"text"}`},
			{"everything", "All", `{"value":""}`},
			{"everything", "All", `{"value":-1.25e3}`},
			{"everything", "All", `{"detail":{"@type":"type.googleapis.com/spelled.v1.Pair","quantity":3,"sku":"x"}}`},
			{"everything", "All", `{"details":[{"@type":"type.googleapis.com/google.protobuf.Duration","value":"3s"},{"@type":"type.googleapis.com/spelled.v1.Pair"}]}`},
			{"everything", "All", `{"labels":{"":"","a b":"c"},"byNumber":{"-7":{"sku":"x"},"0":{}},"byFlag":{"true":"yes"},"openByName":{"x":[1],"y":"z"}}`},
			{"everything", "All", `{"words":["a","b"],"pairs":[{"sku":"x","quantity":1},{}],"counted":{"two":["a","b"]}}`},
			{"everything", "All", `{"tree":{"name":"root"}}`},
			{"everything", "All", `{"left":""}`},
			{"everything", "All", `{"right":{"quantity":-2147483648}}`},
			{"open", "", `{}`},
			{"open", "", `{"a":{"b":[1,2,{"c":null}]},"value":"x"}`},
			{"boxed", "", `{"value":"42"}`},
			{"need", "Needed", `{"sku":"x"}`},
			{"need", "Needed", `{"sku":"","note":"y"}`},
			{"route", "Routed", `{"region":"eu","note":"y"}`},
		} {
			t.Run(d.String()+" "+row.tool+" "+row.arguments, func(t *testing.T) {
				h := h.in(t)
				want := h.callIn(version20251125, dialect.Canonical, row.tool, row.arguments)
				if want.seen == nil {
					t.Fatalf("canonical refuses: %s", want.body)
				}
				name := map[string]protoName{"open": "google.protobuf.Struct", "boxed": "google.protobuf.Int64Value"}[row.tool]
				if name == "" {
					name = "spelled.v1." + protoName(row.message)
				}
				md := h.message(string(name))
				spelled := spelledBy(t, memberOf(t, listed[row.tool], "inputSchema"), row.arguments)
				for _, version := range eras {
					got := h.callIn(version, d, row.tool, spelled, "Mcp-Param-Region: eu")
					if got.seen == nil {
						t.Errorf("%s: %s is refused: %s", version, spelled, got.body)
						continue
					}
					if !proto.Equal(got.seen.as(t, md), want.seen.as(t, md)) {
						t.Errorf("%s: %s is %v, want %v", version, spelled, got.seen.as(t, md), want.seen.as(t, md))
					}
				}
			})
		}
	}
}

type protoName string

// Recursion goes to any depth: by references, in what a document does not show, or in a text.
func TestDialects_recursion(t *testing.T) {
	h := newSpelledHouse(t)
	const deep = `{"tree":{"name":"a","children":[{"name":"b","children":[{"name":"c","named":{"k":{"name":"CANARY"}}}]}]}}`
	want := h.callIn(version20251125, dialect.Canonical, "everything", deep)
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			h := h.in(t)
			spelled := deep
			if d.ChangesArguments() {
				spelled = spelledBy(t, memberOf(t, h.definitionsIn(version20251125, d)["everything"], "inputSchema"), deep)
			}
			got := h.callIn(version20251125, d, "everything", spelled)
			md := h.message("spelled.v1.All")
			if got.seen == nil || !proto.Equal(got.seen.as(t, md), want.seen.as(t, md)) {
				t.Errorf("%s: %s", spelled, got.body)
			}
		})
	}
}

// What canonical refuses is refused in every dialect, by words of ours that repeat nothing.
func TestDialects_refuseWhatCanonicalRefuses(t *testing.T) {
	h := newSpelledHouse(t)
	for _, row := range []struct{ name, tool, arguments string }{
		{"a wrong type", "everything", `{"name":["CANARY"]}`},
		{"above the range", "everything", `{"level":11,"name":"CANARY"}`},
		{"an unknown enum value", "everything", `{"color":"CANARY"}`},
		{"no base64", "everything", `{"raw":"CANARY!"}`},
		{"no timestamp", "everything", `{"at":"CANARY"}`},
		{"against the pattern", "everything", `{"code":"CANARY"}`},
		{"equal items", "everything", `{"words":["CANARY","CANARY"]}`},
		{"too few items", "everything", `{"counted":{"two":["CANARY"]}}`},
		{"two of one", "everything", `{"left":"CANARY","right":{}}`},
		{"a hidden field", "everything", `{"secret":"CANARY"}`},
		{"an undeclared property", "everything", `{"CANARY":"CANARY"}`},
		{"an undeclared property below", "everything", `{"pairs":[{"CANARY":"CANARY"}]}`},
		{"a key that is no number", "everything", `{"byNumber":{"CANARY":{}}}`},
		{"a map's value", "everything", `{"labels":{"CANARY":1}}`},
		{"an unknown type", "everything", `{"detail":{"@type":"type.googleapis.com/CANARY"}}`},
		{"an Any's property", "everything", `{"detail":{"@type":"type.googleapis.com/spelled.v1.Pair","CANARY":1}}`},
		{"a boxed number", "everything", `{"boxed":"CANARY"}`},
		{"a missing one", "need", `{"note":"CANARY"}`},
		{"a required null", "need", `{"sku":null,"note":"CANARY"}`},
		{"an open list for an object", "everything", `{"object":["CANARY"]}`},
		{"an object for an open list", "everything", `{"list":{"CANARY":1}}`},
	} {
		for _, d := range dialect.All() {
			t.Run(d.String()+" "+row.name, func(t *testing.T) {
				h := h.in(t)
				spelled := spelledBy(t, memberOf(t, h.definitionsIn(version20251125, d)[row.tool], "inputSchema"), row.arguments)
				for _, version := range eras {
					refusedOurWay(t, h.callIn(version, d, row.tool, spelled), "")
				}
			})
		}
	}
	if strings.Contains(h.log(), "CANARY") {
		t.Error("the log repeats the caller")
	}
}

// refusedOurWay wants a refusal of the gate that says a text and repeats no canary.
func refusedOurWay(t testing.TB, got response, says string) {
	t.Helper()
	if got.seen != nil {
		t.Errorf("it reached the service: %s", got.body)
		return
	}
	text := got.toolError()
	if !strings.HasPrefix(text, "The arguments do not fit the tool's input schema:\n- ") || !strings.Contains(text, says) {
		t.Errorf("it says %q, want %q", text, says)
	}
	if strings.Contains(string(got.body), "CANARY") || strings.Contains(string(got.body), "8675309") {
		t.Errorf("it repeats the caller: %s", got.body)
	}
}

// boundary.md, "Dialects": what a dialect's own spelling may not be.
func TestDialects_refuseWrongSpellings(t *testing.T) {
	h := newSpelledHouse(t)
	failing := func(members string) string {
		all := map[string]string{"note": "null", "object": "null", "labels": "null", "value": "null"}
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(members), &given); err != nil {
			t.Fatal(err)
		}
		for name, value := range given {
			all[name] = string(value)
		}
		var parts []string
		for name, value := range all {
			parts = append(parts, quote(name)+":"+value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	text := func(document string) string { return failing(`{"object":` + quote(document) + `}`) }
	const noText = "object: must be the text of one strict JSON document"
	for _, row := range []struct {
		name      string
		d         dialect.Dialect
		tool      string
		arguments string
		says      string
	}{
		{"an omitted property", dialect.OpenAIStrict, "need", `{"sku":"CANARY"}`, "note: is required; to give none, give null"},
		{"an omitted required property", dialect.OpenAIStrict, "need", `{"note":null}`, "sku: is required"},
		{"null on a required property", dialect.OpenAIStrict, "need", `{"sku":null,"note":"CANARY"}`, "sku: must be a string"},
		{"null under an undeclared name", dialect.OpenAIStrict, "need", `{"sku":"x","note":null,"CANARY":null}`, "1 undeclared property; accepted: sku, note"},
		{"null as an item", dialect.AnthropicStrict, "everything", `{"words":[null]}`, "words[]: must be a string"},
		{"null canonically", dialect.AnthropicStrict, "need", `{"sku":"x","note":null}`, "note: must be a string"},
		{"null in flat", dialect.Flat, "need", `{"sku":"x","note":null}`, "note: must be a string"},
		{"a map as an object", dialect.OpenAIStrict, "fail", failing(`{"labels":{"CANARY":"x"}}`), "labels: must be"},
		{"pairs canonically", dialect.Canonical, "fail", `{"labels":[{"key":"CANARY","value":"x"}]}`, "labels: must be"},
		{"pairs in gemini", dialect.Gemini, "fail", `{"labels":[{"key":"CANARY","value":"x"}]}`, "labels: must be"},
		{"a key twice", dialect.OpenAIStrict, "fail", failing(`{"labels":[{"key":"CANARY","value":"x"},{"key":"CANARY","value":"y"}]}`), "labels: must have no key twice"},
		{"a key twice in another spelling", dialect.AnthropicStrict, "fail", `{"labels":[{"key":"CANARY","value":"x"},{"key":"CAN\u0041RY","value":"y"}]}`, "labels: must have no key twice"},
		{"a key that is a number in another spelling", dialect.AnthropicStrict, "everything", `{"byNumber":[{"key":"08675309","value":{}}]}`, "byNumber"},
		{"a pair without a key", dialect.BedrockStrict, "fail", `{"labels":[{"value":"CANARY"}]}`, "is required"},
		{"a pair without a value", dialect.BedrockStrict, "fail", `{"labels":[{"key":"CANARY"}]}`, "is required"},
		{"a pair with more", dialect.OpenAIStrict, "fail", failing(`{"labels":[{"key":"a","value":"b","CANARY":1}]}`), "1 undeclared property; accepted: key, value"},
		{"a pair that is none", dialect.OpenAIStrict, "fail", failing(`{"labels":["CANARY"]}`), "must be an object"},
		{"an open object itself", dialect.OpenAIStrict, "fail", failing(`{"object":{"CANARY":1}}`), "object: must be a string"},
		{"an open object itself", dialect.AnthropicStrict, "fail", `{"object":{"CANARY":1}}`, "object: must be a string"},
		{"what a text stands for", dialect.AnthropicStrict, "everything", `{"tree":{"children":[{"name":"CANARY"}]}}`, "tree.children[]: must be a string"},
		{"a text with an undeclared property", dialect.BedrockStrict, "everything", `{"tree":{"children":["{\"CANARY\":1}"]}}`,
			"tree.children[]: 1 undeclared property; accepted: name, children, named"},
		{"a text that is no JSON", dialect.OpenAIStrict, "fail", text(`CANARY`), noText},
		{"a text with a name twice", dialect.OpenAIStrict, "fail", text(`{"CANARY":1,"CANARY":2}`), noText},
		{"a text with a name twice below", dialect.AnthropicStrict, "fail", `{"object":` + quote(`{"a":[{"CANARY":1,"CANARY":2}]}`) + `}`, noText},
		{"a text with something after it", dialect.OpenAIStrict, "fail", text(`{} CANARY`), noText},
		{"two texts", dialect.BedrockStrict, "fail", `{"object":"{}{}"}`, noText},
		{"an empty text", dialect.OpenAIStrict, "fail", text(``), noText},
		{"a text too deep", dialect.OpenAIStrict, "fail", text(`{"CANARY":` + nested("[", "", "]", 200) + `}`), noText},
		{"a text too deep where it stands", dialect.AnthropicStrict, "nest",
			`{"name":"x","facts":[{"key":"1","value":` + quote(nested("[", "", "]", 99)) + `}]}`, "must be the text of one strict JSON document"},
		{"a text with a number too long", dialect.OpenAIStrict, "fail", text(`{"a":` + strings.Repeat("8675309", 200) + `}`), noText},
		{"a text that begins with a byte order mark", dialect.OpenAIStrict, "fail", text("\ufeff{}"), noText},
		{"a text with an unpaired surrogate", dialect.OpenAIStrict, "fail", text(`{"a":"\ud800CANARY"}`), noText},
		{"a text that is cut", dialect.OpenAIStrict, "fail", text(`{"CANARY":"`), noText},
		{"a text of an array for an object", dialect.OpenAIStrict, "fail", text(`["CANARY"]`), "object: must be an object"},
		{"a text of null for an object", dialect.AnthropicStrict, "fail", `{"object":"null"}`, "object: must be an object"},
		{"an undeclared property at the root", dialect.Nova, "need", `{"sku":"x","CANARY":1}`, "1 undeclared property; accepted: sku, note; the schema in this dialect cannot say so here"},
		{"an undeclared property at a root that a sentence closes", dialect.Gemini, "need", `{"sku":"x","CANARY":1}`, "1 undeclared property; accepted: sku, note"},
		{"open arguments themselves", dialect.OpenAIStrict, "open", `{"CANARY":1}`, "is required"},
		{"open arguments as a text of an array", dialect.AnthropicStrict, "open", `{"value":"[\"CANARY\"]"}`, "must be an object"},
	} {
		t.Run(row.d.String()+" "+row.name, func(t *testing.T) {
			for _, version := range eras {
				got := h.in(t).callIn(version, row.d, row.tool, row.arguments)
				refusedOurWay(t, got, row.says)
				if said := got.toolError(); row.d == dialect.OpenAIStrict && strings.Contains(said, "leave it out") {
					t.Errorf("it advises to leave out what must stand: %q", said)
				}
			}
		})
	}
	// Below the root nova's documents are closed, and gemini's say everywhere that they are: refusals say no more than
	// others do.
	for _, got := range []response{
		h.callIn(version20251125, dialect.Nova, "everything", `{"pairs":[{"CANARY":1}]}`),
		h.callIn(version20251125, dialect.Gemini, "everything", `{"CANARY":1}`),
	} {
		if strings.Contains(got.toolError(), "cannot say so") {
			t.Errorf("it says %q", got.toolError())
		}
	}
	if log := h.log(); strings.Contains(log, "CANARY") || strings.Contains(log, "8675309") {
		t.Error("the log repeats the caller")
	}
}

// What a service repeats of the arguments is replaced by where it stood, however the caller spelled it.
func TestDialects_whatAServiceRepeatsIsRedacted(t *testing.T) {
	h := newSpelledHouse(t)
	h.witness.answer("/spelled.v1.SpelledService/Fail", func(context.Context, *seen) ([]byte, error) {
		return nil, status.Error(codes.NotFound, "no CANARYnote with CANARYdeep, CANARYlabel = CANARYvalue, 8675309 or CANARYitem")
	})
	const arguments = `{"note":"CANARYnote","object":{"a":[{"b":"CANARYdeep"}]},"labels":{"CANARYlabel":"CANARYvalue"},"value":[8675309,"CANARYitem"]}`
	want := h.callIn(version20251125, dialect.Canonical, "fail", arguments).toolError()
	for _, part := range []string{"{note}", "{object", "{labels", "{value"} {
		if !strings.Contains(want, part) {
			t.Errorf("canonically it says %q", want)
		}
	}
	for _, d := range dialect.All() {
		spelled := spelledBy(t, memberOf(t, h.definitionsIn(version20251125, d)["fail"], "inputSchema"), arguments)
		for _, version := range eras {
			got := h.callIn(version, d, "fail", spelled)
			if said := got.toolError(); got.seen == nil || said != want || strings.Contains(said, "CANARY") || strings.Contains(said, "8675309") {
				t.Errorf("in %s it says %q, want %q", d, said, want)
			}
		}
	}
	if strings.Contains(h.log(), "CANARY") {
		t.Error("the log repeats the caller")
	}
}

// Arguments are repeated in headers where the document asks for it. Elsewhere they need not be, but a header that says
// otherwise than the argument would lead whoever routes by it astray.
func TestDialects_headersAreDemandedByTheDocument(t *testing.T) {
	h := newSpelledHouse(t)
	asked := 0
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			h := h.in(t)
			definition := h.definitionsIn(version20260728, d)["route"]
			asks := strings.Contains(string(definition), `"x-mcp-header"`)
			if asks {
				asked++
			}
			arguments := spelledBy(t, memberOf(t, definition, "inputSchema"), `{"region":"eu","note":"y"}`)
			for _, row := range []struct {
				header  string
				refused bool
			}{{"", asks}, {"Mcp-Param-Region: us", true}, {"Mcp-Param-Region: eu", false}} {
				var lines []string
				if row.header != "" {
					lines = append(lines, row.header)
				}
				got := h.callIn(version20260728, d, "route", arguments, lines...)
				if refused := got.seen == nil; refused != row.refused || refused && (got.code() != -32020 || got.status != 400) {
					t.Errorf("%q: status %d: %s", row.header, got.status, got.body)
				}
				if got := h.callIn(version20251125, d, "route", arguments, lines...); got.seen == nil {
					t.Errorf("%q in the legacy era: %s", row.header, got.body)
				}
			}
		})
	}
	if asked == 0 || asked == dialect.Count {
		t.Errorf("%d dialects ask for headers", asked)
	}
}
