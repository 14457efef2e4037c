package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// ourFiles are the files of the contract that have services.
var ourFiles = []string{
	"com/a/v1/foo.proto", "com/b/v1/foo.proto", "peers/lower/v1/lower.proto", "peers/next/v1/next.proto",
	"peers/numeric/v1/numeric.proto", "peers/old/v1/old.proto", "peers/v1/peers.proto",
}

func machaniRows() []peerRow {
	const peer = "machani/tpp"
	return []peerRow{
		{peer: peer, defect: "a call without arguments fails, and with it every tool without parameters", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Nothing", ``, "google.protobuf.Empty", ``)
			p.reaches("peers.v1.PeersService/Nothing", `{}`, "google.protobuf.Empty", ``)
			p.refuses("peers.v1.PeersService/Nothing", `{"x":1}`)
		}},
		{peer: peer, defect: "two services of one name in two packages are one tool", shows: twinsAreTwo},
		{peer: peer, defect: "GetAPIKeyByID is torn into letters", shows: func(t *testing.T, p *peers) {
			if title := p.listing("peers.v1.PeersService/GetAPIKeyByID").Title; title != "Peers Get API Key By ID" {
				t.Errorf("titled %q", title)
			}
		}},
		{peer: peer, defect: "types from two packages that end in v1 do not build together", shows: func(t *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Share", `{"word":"x"}`, "peers.shared.v1.SharedRequest", `word: "x"`)
			parseGenerated(t, p, "peers/v1/peers.proto")
		}},
		{peer: peer, defect: "a quotation mark in an option breaks the generated code", shows: func(t *testing.T, p *peers) {
			tool := p.listing("peers.v1.PeersService/Quote")
			if want := `He said "so" and left a \ behind. ${x}`; tool.Description != want {
				t.Errorf("described as %q, want %q", tool.Description, want)
			}
			parseGenerated(t, p, "peers/v1/peers.proto")
		}},
		{peer: peer, defect: "two oneofs make the generated code differ between runs", shows: func(t *testing.T, p *peers) {
			runs := p.plugin(t, 10, ourFiles...)
			for _, run := range runs[1:] {
				if !proto.Equal(run, runs[0]) {
					t.Fatal("the plugin wrote something else")
				}
			}
			if len(runs[0].GetFile()) == 0 {
				t.Errorf("the plugin wrote nothing: %s", runs[0].GetError())
			}
		}},
		{peer: peer, defect: "a tool that asks for confirmation cannot be called by a client without elicitation", shows: func(_ *testing.T, p *peers) {
			// Whether to ask is the host's affair, which the annotations tell: the call itself needs nothing of the client.
			p.reaches("peers.v1.PeersService/Confirm", `{}`, "google.protobuf.Empty", ``)
		}},
		{peer: peer, defect: "resources are announced and every read is empty", shows: func(t *testing.T, p *peers) {
			for _, method := range []string{"resources/list", "resources/read", "resources/templates/list", "resources/subscribe"} {
				if r := p.rpc(method, `{"uri":"file:///x"}`); r.code() != -32601 {
					t.Errorf("%s: %s", method, r.body)
				}
			}
			onlyTools(t, p)
		}},
		{peer: peer, defect: "prompts are announced and a prompt is its description", shows: func(t *testing.T, p *peers) {
			for _, method := range []string{"prompts/list", "prompts/get"} {
				if r := p.rpc(method, `{"name":"x"}`); r.code() != -32601 {
					t.Errorf("%s: %s", method, r.body)
				}
			}
			onlyTools(t, p)
		}},
		{peer: peer, defect: "one base path silently overrides another", cannot: "there is one endpoint, /mcp, and no setting for its path"},
		{peer: peer, defect: "wrappers say nullable, which JSON Schema ignores", shows: func(t *testing.T, p *peers) {
			for _, tool := range p.list() {
				if bytes.Contains(tool.InputSchema, []byte(`"nullable"`)) || bytes.Contains(tool.OutputSchema, []byte(`"nullable"`)) {
					t.Errorf("%s says nullable", tool.Title)
				}
			}
			if property := p.property(paintRPC, "size"); property["type"] != "integer" {
				t.Errorf("an Int32Value is %v", property)
			}
			p.reaches(paintRPC, `{"size":0}`, "peers.v1.PaintRequest", `size {}`)
			p.reaches(paintRPC, `{}`, "peers.v1.PaintRequest", ``)
			p.refuses(paintRPC, `{"size":null}`, "size", "leave it out")
			p.refuses(paintRPC, `{"size":2147483648}`, "size")
		}},
	}
}

const paintRPC = "peers.v1.PeersService/Paint"

// twinsAreTwo: names come from the full name of the function, so that both are listed and reach their own service.
func twinsAreTwo(t *testing.T, p *peers) {
	for _, letter := range []string{"a", "b"} {
		function := "com." + letter + ".v1.Foo/Get"
		p.reaches(function, `{"`+letter+`":"x"}`, "com."+letter+".v1.GetRequest", letter+`: "x"`)
		if description := p.listing(function).Description; description != "Gets it from "+letter+"." {
			t.Errorf("%s is described as %q", function, description)
		}
	}
	p.refuses("com.a.v1.Foo/Get", `{"b":"x"}`)
}

// parseGenerated runs the plugin over a file, and wants Go that parses.
func parseGenerated(t *testing.T, p *peers, file string) {
	t.Helper()
	response := p.plugin(t, 1, file)[0]
	if response.GetError() != "" || len(response.GetFile()) != 1 {
		t.Fatalf("the plugin wrote %d files and said %q", len(response.GetFile()), response.GetError())
	}
	text := response.GetFile()[0].GetContent()
	if _, err := parser.ParseFile(token.NewFileSet(), "generated.go", text, parser.AllErrors); err != nil {
		t.Errorf("the generated code does not parse: %v", err)
	}
}

// onlyTools wants a server that announces tools and nothing else.
func onlyTools(t *testing.T, p *peers) {
	t.Helper()
	r := p.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	if !bytes.Contains(r.body, []byte(`"capabilities":{"tools":{}}`)) {
		t.Errorf("initialize: %s", r.body)
	}
}

func linkbreakersRows() []peerRow {
	const peer = "linkbreakers"
	return []peerRow{
		{peer: peer, defect: "enum value 0 cannot be sent although it means something", shows: func(t *testing.T, p *peers) {
			r := p.reaches(paintRPC, `{"color":"RED"}`, "peers.v1.PaintRequest", `color: RED`)
			if r.seen == nil || !schematest.Accepts(t, p.inputValidator(paintRPC), []byte(`{"color":"RED"}`)) {
				t.Error("the schema refuses RED")
			}
			// A zero value that says of itself that it means nothing is not offered.
			p.refuses(judgeRPC, `{"id":"x","mood":"MOOD_UNSPECIFIED"}`, "mood")
		}},
		{peer: peer, defect: "the schema of a FieldMask takes only what ProtoJSON refuses", shows: func(t *testing.T, p *peers) {
			p.reaches(paintRPC, `{"mask":"color,maskName.size"}`, "peers.v1.PaintRequest", `mask {paths: ["color", "mask_name.size"]}`)
			p.refuses(paintRPC, `{"mask":{"paths":["color"]}}`, "mask", "string")
			v := p.inputValidator(paintRPC)
			if !schematest.Accepts(t, v, []byte(`{"mask":"color,maskName.size"}`)) || schematest.Accepts(t, v, []byte(`{"mask":{"paths":["color"]}}`)) {
				t.Errorf("published as %v", p.property(paintRPC, "mask"))
			}
		}},
		{peer: peer, defect: "the schema of an Any takes only what ProtoJSON refuses", shows: func(t *testing.T, p *peers) {
			const good, bad = `{"extra":{"@type":"type.googleapis.com/peers.v1.Nested","name":"x"}}`, `{"extra":{"typeUrl":"type.googleapis.com/peers.v1.Nested","value":""}}`
			p.reaches(paintRPC, good, "peers.v1.PaintRequest", `extra {[type.googleapis.com/peers.v1.Nested] {name: "x"}}`)
			p.refuses(paintRPC, bad, "extra")
			if !schematest.Accepts(t, p.inputValidator(paintRPC), []byte(good)) {
				t.Errorf("published as %v", p.property(paintRPC, "extra"))
			}
		}},
		{peer: peer, defect: "an int64 is published as an integer", shows: func(t *testing.T, p *peers) {
			property := p.property("peers.v1.PeersService/Find", "filter", "minVersion")
			if property["type"] != "string" || property["pattern"] == nil {
				t.Errorf("published as %v", property)
			}
		}},
		{peer: peer, defect: "a oneof does not exclude", shows: func(_ *testing.T, p *peers) {
			p.refuses("peers.v1.PeersService/Choose", `{"email":"a","userId":"1"}`, "email", "userId")
		}},
		{peer: peer, defect: "ping is an unknown method with status 400", shows: pingIsAnswered},
		{peer: peer, defect: "notifications are answered with 204", shows: notificationsAreAccepted},
		{peer: peer, defect: "tools are listed in random order", shows: listsAreOneOrder},
		{peer: peer, defect: "any protocol version is accepted", shows: func(t *testing.T, p *peers) {
			for _, version := range []string{"2020-01-01", "1.0", "2025-11-26", "x", "2026-07-27"} {
				if r := p.call(version, p.tool("peers.v1.PeersService/Nothing"), `{}`); r.status != http.StatusBadRequest || r.code() != -32022 || r.seen != nil {
					t.Errorf("version %q: %d %s", version, r.status, r.body)
				}
			}
		}},
		{peer: peer, defect: "a body has no limit", shows: func(t *testing.T, p *peers) {
			large := `{"name":"` + strings.Repeat("x", 4<<20) + `"}`
			if r := p.ask(paintRPC, large); r.status != http.StatusRequestEntityTooLarge || r.seen != nil {
				t.Errorf("%d %.200s", r.status, r.body)
			}
		}},
		{peer: peer, defect: "the Host header is not looked at", shows: foreignHostsAreRefused},
		{peer: peer, defect: "a gRPC error is a protocol error", shows: func(t *testing.T, p *peers) {
			defer p.witness.answer("/peers.v1.PeersService/Nothing", nil)
			for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
				p.witness.answer("/peers.v1.PeersService/Nothing", func(context.Context, *seen) ([]byte, error) {
					return nil, status.Error(code, "no")
				})
				if text := p.ask("peers.v1.PeersService/Nothing", `{}`).toolError(); text == "" {
					t.Errorf("%s: no text", code)
				}
			}
		}},
		{peer: peer, defect: "a service gets no metadata", shows: func(t *testing.T, p *peers) {
			r := p.reaches("peers.v1.PeersService/Nothing", `{}`, "google.protobuf.Empty", ``)
			if r.seen.participant(t).GetId() != p.caller.id || len(r.seen.metadata.Get(assertion.AssertionKey)) != 1 {
				t.Errorf("the service got %v", r.seen.metadata)
			}
		}},
	}
}

// listsAreOneOrder lists again and again: always the same bytes.
func listsAreOneOrder(t *testing.T, p *peers) {
	list := func() []byte {
		return p.rpc("tools/list", "").body
	}
	first := list()
	for range 20 {
		if again := list(); !bytes.Equal(again, first) {
			t.Fatalf("listed\n%.300s\nand\n%.300s", first, again)
		}
	}
	var o outcome
	if err := json.Unmarshal(first, &o); err != nil || !slices.IsSortedFunc(o.Result.Tools, func(a, b listed) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("not in the order of the names: %v", err)
	}
}

func pingIsAnswered(t *testing.T, p *peers) {
	if r := p.rpc("ping", ""); r.status != http.StatusOK || string(r.body) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func notificationsAreAccepted(t *testing.T, p *peers) {
	for _, method := range []string{"notifications/initialized", "notifications/cancelled", "notifications/unheard-of"} {
		if r := p.notify(method); r.status != http.StatusAccepted || len(r.body) != 0 {
			t.Errorf("%s: %d %q", method, r.status, r.body)
		}
	}
}

// foreignHostsAreRefused: a page whose name someone pointed at this machine is no caller.
func foreignHostsAreRefused(t *testing.T, p *peers) {
	body := callBody("1", p.tool("peers.v1.PeersService/Nothing"), `{}`)
	request := func(host, origin string) []byte {
		head := "POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nclientId: " + p.caller.id +
			"\r\nclientSecret: " + p.caller.secret + "\r\nConnection: close\r\n"
		if origin != "" {
			head += "Origin: " + origin + "\r\n"
		}
		return []byte(head + "Content-Length: " + itoa(len(body)) + "\r\n\r\n" + string(body))
	}
	for _, test := range []struct {
		host, origin string
		want         int
	}{
		{p.address, "", http.StatusOK},
		{"localhost", "http://localhost:3000", http.StatusOK},
		{"evil.example", "", http.StatusForbidden},
		{"evil.example", "http://evil.example", http.StatusForbidden},
		{p.address, "http://evil.example", http.StatusForbidden},
		{p.address, "null", http.StatusForbidden},
	} {
		before := p.witness.count()
		r := p.send(request(test.host, test.origin))
		if reached := p.witness.count() != before; r.status != test.want || reached != (test.want == http.StatusOK) {
			t.Errorf("host %s, origin %q: %d %s", test.host, test.origin, r.status, r.body)
		}
	}
}

func easypRows() []peerRow {
	const peer = "easyp"
	return []peerRow{
		{peer: peer, defect: "every singular field without optional is required", shows: func(t *testing.T, p *peers) {
			p.reaches(paintRPC, `{}`, "peers.v1.PaintRequest", ``)
			p.reaches("peers.v1.PeersService/Find", `{"filter":{}}`, "peers.v1.FindRequest", `filter {}`)
			if schema := p.input(paintRPC); strings.Contains(schema, `"required"`) {
				t.Errorf("published as %s", schema)
			}
		}},
		{peer: peer, defect: "references that clients reject", shows: func(t *testing.T, p *peers) {
			// Types are written out where they stand. What recurses cannot be, and what is shared too often is not: for these a
			// reference is all that JSON Schema has, and it resolves.
			recursive := []string{
				p.tool("peers.v1.PeersService/Walk"), p.tool("peers.v1.OtherPeersService/Walk"), p.tool("peers.v1.PeersService/Mix"),
				p.tool("peers.v1.PeersService/Parse"), p.tool("peers.v1.PeersService/Descend"),
			}
			for name, tool := range p.list() {
				has := bytes.Contains(tool.InputSchema, []byte(`"$ref"`))
				if has != slices.Contains(recursive, name) {
					t.Errorf("%s has a reference: %v", tool.Title, has)
				}
				schematest.Validator(t, tool.InputSchema)
			}
		}},
	}
}
