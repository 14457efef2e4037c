package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

const protocolService = "/protocol.v1.ProtocolService/"

// answers makes a method answer with a message.
func (c *counter) answers(t *testing.T, method string, m proto.Message) {
	t.Helper()
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	c.witness.answer(protocolService+method, func(context.Context, *seen) ([]byte, error) { return wire, nil })
}

// blockRows has a block of each kind, as a service says it and as the protocol writes it (mcp-protocol.md 2.4).
var blockRows = []struct {
	name    string
	content *toolv1.Content
	json    string
}{
	{"text", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: "a \"b\"\n\u2028<c>"}}},
		`{"type":"text","text":"a \"b\"\n\u2028<c>"}`},
	{"empty text", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}},
		`{"type":"text","text":""}`},
	{"image", &toolv1.Content{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{Data: []byte{0xfb, 0xff, 1}, MimeType: "image/png"}}},
		`{"type":"image","data":"+/8B","mimeType":"image/png"}`},
	{"audio", &toolv1.Content{Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{Data: []byte("RIFF"), MimeType: "audio/wav"}}},
		`{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`},
	{"link", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{
		Uri: "file:///a.txt", Name: "a", Title: "A", Description: "An a.", MimeType: "text/plain", Size: proto.Int64(7),
	}}}, `{"type":"resource_link","uri":"file:///a.txt","name":"a","title":"A","description":"An a.","mimeType":"text/plain","size":7}`},
	{"short link", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "https://a.example/", Name: "a"}}},
		`{"type":"resource_link","uri":"https://a.example/","name":"a"}`},
	{"embedded text", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{
		Uri: "test://a", MimeType: "text/plain", Contents: &toolv1.EmbeddedResource_Text{Text: "x"},
	}}}, `{"type":"resource","resource":{"uri":"test://a","mimeType":"text/plain","text":"x"}}`},
	{"embedded bytes", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{
		Uri: "test://a", Contents: &toolv1.EmbeddedResource_Blob{Blob: []byte{0}},
	}}}, `{"type":"resource","resource":{"uri":"test://a","blob":"AA=="}}`},
	{"annotations", &toolv1.Content{
		Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: "x"}},
		Annotations: &toolv1.ContentAnnotations{
			Audience: []toolv1.Audience{toolv1.Audience_AUDIENCE_USER, toolv1.Audience_AUDIENCE_ASSISTANT}, Priority: proto.Float64(0.5),
			LastModified: timestamppb.New(time.Date(2026, 7, 28, 1, 2, 3, 0, time.UTC)),
		},
	}, `{"type":"text","text":"x","annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-07-28T01:02:03Z"}}`},
}

// resultOf is the specified result of a call in a version: the members, `dev.sallyport/...` ones of `_meta`, and what
// the modern era has beside them.
func resultOf(version, members, meta string) string {
	if version != version20260728 {
		return `{` + members + `,"_meta":{` + meta + `}}`
	}
	return `{"resultType":"complete",` + members + `,"_meta":{"` + keyServerInfo + `":` + serverInfo + `,` + meta + `}}`
}

// checkResult compares a result with the specified one. In the modern era it says first what it is.
func (c *counter) checkResult(t *testing.T, p post, members, meta string) {
	t.Helper()
	result := good.check(t, &p, c.say(t, p))
	if result == nil {
		return
	}
	if want := resultOf(p.version, members, meta); !sameJSON(t, result, []byte(want)) {
		t.Errorf("the result is\n%s\nwant\n%s", result, want)
	}
	if first := namesOf(t, result)[0]; (first == "resultType") != (p.version == version20260728) {
		t.Errorf("the result begins with %q", first)
	}
}

// sameJSON says that two texts are the same value; objects have no order.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(parseJSON(t, a), parseJSON(t, b))
}

func TestProtocol_everyKindOfContentInEveryVersion(t *testing.T) {
	c := newCounter(t)
	var all []*toolv1.Content
	var allJSON []string
	for _, row := range blockRows {
		all, allJSON = append(all, row.content), append(allJSON, row.json)
	}
	type sent struct {
		name    string
		content []*toolv1.Content
		json    string
	}
	rows := []sent{{"none", nil, ""}, {"all in their order", all, strings.Join(allJSON, ",")}}
	for _, row := range blockRows {
		rows = append(rows, sent{row.name, []*toolv1.Content{row.content}, row.json})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var wire []byte
			for _, block := range row.content {
				b, err := proto.Marshal(block)
				if err != nil {
					t.Fatal(err)
				}
				wire = protowire.AppendBytes(protowire.AppendTag(wire, 1, protowire.BytesType), b)
			}
			wire = protowire.AppendString(protowire.AppendTag(wire, 2, protowire.BytesType), "beside")
			c.witness.answer(protocolService+"Blocks", func(context.Context, *seen) ([]byte, error) { return wire, nil })
			structured, err := structpb.NewStruct(map[string]any{"a": 1.5, "b": []any{nil, "x"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range protocolVersions {
				p := post{version: version, method: "tools/call", params: `"name":"blocks"`}
				c.checkResult(t, p, `"content":[`+row.json+`],"structuredContent":{"note":"beside"}`, `"dev.sallyport/type":"protocol.v1.BlocksResponse"`)

				p.params = `"name":"author"`
				c.answers(t, "Author", &toolv1.ToolResult{Content: row.content})
				c.checkResult(t, p, `"content":[`+row.json+`]`, `"dev.sallyport/type":"sallyport.tool.v1.ToolResult"`)
				c.answers(t, "Author", &toolv1.ToolResult{Content: row.content, StructuredContent: structured})
				c.checkResult(t, p, `"content":[`+row.json+`],"structuredContent":{"a":1.5,"b":[null,"x"]}`, `"dev.sallyport/type":"sallyport.tool.v1.ToolResult"`)
				c.answers(t, "Author", &toolv1.ToolResult{Content: row.content, IsError: true})
				c.checkResult(t, p, `"content":[`+row.json+`],"isError":true`, `"dev.sallyport/type":"sallyport.tool.v1.ToolResult"`)
			}
		})
	}
}

func TestProtocol_resultsOfCalls(t *testing.T) {
	c := newCounter(t)
	c.answers(t, "Count", wrapperspb.Int64(1<<60))
	for _, version := range protocolVersions {
		t.Run(versionName(version), func(t *testing.T) {
			call := func(params string) post { return post{version: version, method: "tools/call", params: params} }
			c.checkResult(t, call(`"name":"greet","arguments":{"name":"Ada"}`),
				`"content":[{"type":"text","text":"{\"text\":\"\"}"}],"structuredContent":{"text":""}`, `"dev.sallyport/type":"protocol.v1.GreetResponse"`)
			c.checkResult(t, call(`"name":"nothing"`),
				`"content":[{"type":"text","text":"{}"}],"structuredContent":{}`, `"dev.sallyport/type":"google.protobuf.Empty"`)
			c.checkResult(t, call(`"name":"count"`),
				`"content":[{"type":"text","text":"1152921504606846976"}]`, `"dev.sallyport/type":"google.protobuf.Int64Value"`)
			// Absent and null arguments are the empty object.
			for _, arguments := range []string{"", `,"arguments":{}`, `,"arguments":null`} {
				c.checkResult(t, call(`"name":"nothing"`+arguments),
					`"content":[{"type":"text","text":"{}"}],"structuredContent":{}`, `"dev.sallyport/type":"google.protobuf.Empty"`)
			}
			// What other servers make use of is ignored: answers to questions, and tasks.
			for _, more := range []string{
				`"inputResponses":{"a":{"action":"accept","content":{}}},"requestState":"opaque"`, `"inputResponses":7,"requestState":null`,
				`"task":{"ttl":60000}`, `"task":null`, `"x":[1,{"name":"count"}]`,
			} {
				c.checkResult(t, call(`"name":"nothing",`+more),
					`"content":[{"type":"text","text":"{}"}],"structuredContent":{}`, `"dev.sallyport/type":"google.protobuf.Empty"`)
			}
			// Refusals of the arguments and failures of the service are results.
			c.checkResult(t, call(`"name":"greet","arguments":{"name":7}`),
				`"content":[{"type":"text","text":"The arguments do not fit the tool's input schema:\n- name: must be a string"}],"isError":true`, `"dev.sallyport/correctable":true`)
			c.witness.answer(protocolService+"Greet", func(context.Context, *seen) ([]byte, error) {
				return nil, status.Error(codes.NotFound, "there is no such person")
			})
			defer c.witness.answer(protocolService+"Greet", nil)
			p := call(`"name":"greet"`)
			result := good.check(t, &p, c.say(t, p))
			if string(memberOf(t, result, "isError")) != "true" || !strings.Contains(string(memberOf(t, result, "content")), "there is no such person") {
				t.Errorf("a failure is answered %s", result)
			}
			c.witness.answer(protocolService+"Greet", func(context.Context, *seen) ([]byte, error) { return nil, status.Error(codes.Unavailable, "no") })
			p = call(`"name":"greet"`)
			result = good.check(t, &p, c.say(t, p))
			if fact := memberOf(t, memberOf(t, result, "_meta"), "dev.sallyport/executed"); string(fact) != `"unknown"` {
				t.Errorf("a call that may have run is answered %s", result)
			}
		})
	}
}

// A page is the same tools in every version, and the modern era says for how long and for whom it may be kept.
func TestProtocol_list(t *testing.T) {
	c := newCounter(t, configured(func(cfg *configv1.EdgeConfig) { cfg.PageSize = 3 }))
	hashes := map[string]string{}
	for alias, method := range map[string]string{
		"greet": "Greet", "blocks": "Blocks", "author": "Author", "count": "Count", "nothing": "Nothing", "ask": "Ask", "ask_more": "AskMore", "route": "Route", "send": "Send",
	} {
		hashes[alias] = hashOf("app-api", "protocol.v1.ProtocolService", method)
	}
	var first [][]byte
	for _, version := range protocolVersions {
		t.Run(versionName(version), func(t *testing.T) {
			var listed []string
			var pages [][]byte
			for cursor := ""; ; {
				params := ""
				if cursor != "" {
					params = `"cursor":` + cursor
				}
				p := post{version: version, method: "tools/list", params: params}
				result := good.check(t, &p, c.say(t, p))
				again := good.check(t, &p, c.say(t, p))
				if string(result) != string(again) {
					t.Errorf("a page is once %s and once %s", result, again)
				}
				next := memberOf(t, result, "nextCursor")
				checkPage(t, version, result, next != nil)
				var tools []json.RawMessage
				if err := json.Unmarshal(memberOf(t, result, "tools"), &tools); err != nil {
					t.Fatal(err)
				}
				if next != nil && len(tools) != 3 {
					t.Errorf("a page of %d tools", len(tools))
				}
				for _, tool := range tools {
					var name string
					if err := json.Unmarshal(memberOf(t, tool, "name"), &name); err != nil {
						t.Fatal(err)
					}
					listed = append(listed, hashes[name])
				}
				pages = append(pages, memberOf(t, result, "tools"))
				if cursor = string(next); cursor == "" {
					break
				}
			}
			if !slices.IsSorted(listed) || len(slices.Compact(slices.Clone(listed))) != len(hashes) || slices.Contains(listed, "") {
				t.Errorf("listed %q of %v", listed, hashes)
			}
			if first == nil {
				first = pages
			}
			if !reflect.DeepEqual(first, pages) {
				t.Errorf("the pages are others than in another version")
			}
			for _, cursor := range []string{`""`, `"x"`, `"=="`, `null`, `7`, `true`, `["AQ"]`, `{}`, quote(strings.Repeat("A", 300)), `"AQ=="`, `"\u0000"`} {
				p := post{version: version, method: "tools/list", params: `"cursor":` + cursor}
				badParams.check(t, &p, c.say(t, p))
			}
		})
	}
}

// checkPage looks at the members of a page.
func checkPage(t *testing.T, version string, result json.RawMessage, more bool) {
	t.Helper()
	want := []string{"tools"}
	if more {
		want = append(want, "nextCursor")
	}
	if version == version20260728 {
		want = slices.Concat([]string{"resultType"}, want, []string{"ttlMs", "cacheScope", "_meta"})
		for name, value := range map[string]string{"resultType": `"complete"`, "ttlMs": "60000", "cacheScope": `"private"`, "_meta": modernResultMeta} {
			if got := string(memberOf(t, result, name)); got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
		}
	}
	if got := namesOf(t, result); !slices.Equal(got, want) {
		t.Errorf("a page has %q, want %q", got, want)
	}
}

func TestProtocol_anEmptyListIsAnArray(t *testing.T) {
	c := newCounter(t)
	c.instance.leave()
	c.until("nothing is listed", func() bool {
		p := post{method: "tools/list"}
		return string(good.check(t, &p, c.say(t, p))) == `{"tools":[]}`
	})
	for _, version := range protocolVersions {
		p := post{version: version, method: "tools/list"}
		want := `{"tools":[]}`
		if version == version20260728 {
			want = `{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"private","_meta":` + modernResultMeta + `}`
		}
		if result := good.check(t, &p, c.say(t, p)); string(result) != want {
			t.Errorf("version %q lists %s, want %s", version, result, want)
		}
		// A tool that is known and has nobody to serve it is a tool error.
		p = post{version: version, method: "tools/call", params: `"name":"greet"`}
		c.checkResult(t, p, `"content":[{"type":"text","text":"The tool is offline: no instance of its service is running. The call did not run."}],"isError":true`,
			`"dev.sallyport/executed":"no"`)
	}
}

// A tool that needs more of its client than the client states is refused with what it needs, before anything else is
// looked at but the headers (mcp-protocol.md 1.4). In the legacy era nobody states anything with a request.
func TestProtocol_capabilitiesOfTheClient(t *testing.T) {
	c := newCounter(t)
	form, all := incapable(`{"elicitation":{"form":{}}}`), incapable(`{"sampling":{"tools":{}},"elicitation":{"url":{},"form":{}},"roots":{}}`)
	for _, row := range []struct {
		tool, capabilities string
		want               reply
	}{
		{"ask", `{}`, form},
		{"ask", `{"sampling":{}}`, form},
		{"ask", `{"elicitation":null}`, form},
		{"ask", `{"elicitation":true}`, form},
		{"ask", `{"elicitation":[]}`, form},
		{"ask", `{"elicitation":{"url":{}}}`, form},
		{"ask", `{"elicitation":{"form":null}}`, form},
		{"ask", `{"elicitation":{"form":true}}`, form},
		{"ask", `{"elicitation.form":{}}`, form},
		{"ask", `{"Elicitation":{"form":{}}}`, form},
		{"ask", `{"x":{"elicitation":{"form":{}}}}`, form},
		{"ask", `{"elicitation":{}}`, good},
		{"ask", `{"elicitation": { } }`, good},
		{"ask", `{"elicitation":{"form":{}}}`, good},
		{"ask", `{"elicitation":{"url":{},"form":{"x":1}},"sampling":{}}`, good},
		{"ask", `{"elici\u0074ation":{"f\u006frm":{}}}`, good},
		{"ask_more", `{}`, all},
		{"ask_more", `{"elicitation":{},"sampling":{"tools":{}},"roots":{}}`, all},
		{"ask_more", `{"elicitation":{"url":{},"form":{}},"sampling":{},"roots":{}}`, all},
		{"ask_more", `{"elicitation":{"url":{},"form":{}},"sampling":{"tools":{}}}`, all},
		{"ask_more", `{"elicitation":{"url":{}},"sampling":{"tools":{}},"roots":{}}`, all},
		{"ask_more", `{"elicitation":{"url":{},"form":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true},"x":1}`, good},
		{"greet", `{}`, good},
	} {
		for _, arguments := range []string{`{}`, `{"x":1}`, `[]`} {
			t.Run(row.tool+" "+row.capabilities+" with "+arguments, func(t *testing.T) {
				want := row.want
				if want == good && arguments == `[]` {
					want = badParams
				}
				p := post{version: version20260728, method: "tools/call", params: `"name":"` + row.tool + `","arguments":` + arguments,
					meta: `{"` + keyVersion + `":"2026-07-28","` + keyCapabilities + `":` + row.capabilities + `}`}
				before := c.witness.count()
				want.check(t, &p, c.say(t, p))
				if called := c.witness.count() > before; called != (want == good && arguments == `{}`) {
					t.Errorf("the service was called: %v", called)
				}
			})
		}
	}
	for _, version := range protocolVersions {
		if version == version20260728 {
			continue
		}
		for tool, names := range map[string]string{"ask": "elicitation.form", "ask_more": "sampling.tools, elicitation.url, elicitation.form, roots"} {
			t.Run(versionName(version)+" "+tool, func(t *testing.T) {
				// `_meta` is the modern era's place for them.
				p := post{version: version, method: "tools/call", params: `"name":"` + tool + `"`, meta: `{"` + keyCapabilities + `":{"elicitation":{}}}`}
				before := c.witness.count()
				c.checkResult(t, p, `"content":[{"type":"text","text":`+quote(fmt.Sprintf("This tool needs a client that states these capabilities with each request, as protocol version "+
					"2026-07-28 does: %s. The call did not run.", names))+`}],"isError":true`, `"dev.sallyport/executed":"no"`)
				if c.witness.count() != before {
					t.Error("the service was called")
				}
			})
		}
	}
}

// An answer to a call that is large goes out whole, in every version.
func TestProtocol_aLargeResult(t *testing.T) {
	c := newCounter(t)
	text := strings.Repeat("0123456789abcdef", 1<<14)
	c.answers(t, "Author", &toolv1.ToolResult{Content: []*toolv1.Content{{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: text}}}}})
	for _, version := range protocolVersions {
		p := post{version: version, method: "tools/call", params: `"name":"author"`}
		got := c.say(t, p)
		if got.status != http.StatusOK || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
			t.Errorf("version %q: %d, %q of %d bytes", version, got.status, got.header.Get("Content-Length"), len(got.body))
		}
		want := resultOf(version, `"content":[{"type":"text","text":"`+text+`"}]`, `"dev.sallyport/type":"sallyport.tool.v1.ToolResult"`)
		if !sameJSON(t, good.check(t, &p, got), []byte(want)) {
			t.Errorf("version %q: another result", version)
		}
	}
}
