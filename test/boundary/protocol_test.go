package boundary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/participant"
)

// The protocol tests hold the edge against mcp-protocol.md, over a socket. This file says how a request is written and
// how an answer is judged; the others are the tables.

// The contract of the protocol tests. Its caller is an application, which reaches app-api alone.
const protocolProto = `
syntax = "proto3";
package protocol.v1;

import "google/protobuf/empty.proto";
import "google/protobuf/wrappers.proto";
import "sallyport/tool/v1/content.proto";
import "sallyport/tool/v1/options.proto";

service ProtocolService {
  rpc Greet(GreetRequest) returns (GreetResponse) { option (sallyport.tool.v1.tool) = {name: "greet"}; }
  rpc Blocks(google.protobuf.Empty) returns (BlocksResponse) { option (sallyport.tool.v1.tool) = {name: "blocks"}; }
  rpc Author(google.protobuf.Empty) returns (sallyport.tool.v1.ToolResult) { option (sallyport.tool.v1.tool) = {name: "author"}; }
  rpc Count(google.protobuf.Empty) returns (google.protobuf.Int64Value) { option (sallyport.tool.v1.tool) = {name: "count"}; }
  rpc Nothing(google.protobuf.Empty) returns (google.protobuf.Empty) { option (sallyport.tool.v1.tool) = {name: "nothing"}; }
  rpc Ask(GreetRequest) returns (GreetResponse) {
    option (sallyport.tool.v1.tool) = {name: "ask", required_client_capabilities: ["elicitation.form"]};
  }
  rpc AskMore(GreetRequest) returns (GreetResponse) {
    option (sallyport.tool.v1.tool) = {
      name: "ask_more", required_client_capabilities: ["sampling.tools", "elicitation.url", "elicitation.form", "roots"]
    };
  }
  rpc Route(RouteRequest) returns (GreetResponse) {
    option (sallyport.tool.v1.tool) = {name: "route", required_client_capabilities: ["elicitation.form"]};
  }
  rpc Send(RouteRequest) returns (GreetResponse) { option (sallyport.tool.v1.tool) = {name: "send"}; }
  rpc Deny(GreetRequest) returns (GreetResponse) {
    option (sallyport.tool.v1.tool) = {name: "denied", access: {mode: ACCESS_MODE_DENY_ALL}};
  }
}

// In a zone that no application reaches.
service HiddenService {
  option (sallyport.tool.v1.service) = {zone: "management-api"};
  rpc Hide(GreetRequest) returns (GreetResponse) { option (sallyport.tool.v1.tool) = {name: "hidden"}; }
}

message GreetRequest { string name = 1; }
message GreetResponse { string text = 1; }
message RouteRequest {
  string region = 1 [(sallyport.tool.v1.field).header = "Region"];
  int64 total = 2 [(sallyport.tool.v1.field).header = "Total"];
  int32 level = 3 [(sallyport.tool.v1.field).header = "Level"];
  bool urgent = 4 [(sallyport.tool.v1.field).header = "Urgent"];
  Inner inner = 5;
  string note = 6;
}
message Inner { string shard = 1 [(sallyport.tool.v1.field).header = "Name"]; }
message BlocksResponse {
  repeated sallyport.tool.v1.Content blocks = 1 [(sallyport.tool.v1.field) = {content: true}];
  string note = 2;
}
`

// counter is a house before a caller who speaks the protocol by hand over one connection.
type counter struct {
	*house
	caller credentials
	line   *caller
}

func newCounter(t *testing.T, options ...setting) *counter {
	t.Helper()
	c := new(counter)
	options = append([]setting{inZone("app-api"), prepared(func(h *house) {
		c.caller = h.newMachine(participant.Application("acme-org", "orders-app", "counter"))
	})}, options...)
	c.house = newHouse(t, map[string]string{"protocol/v1/protocol.proto": protocolProto}, options...)
	c.line = &caller{host: c.address}
	t.Cleanup(c.line.close)
	return c
}

// protocolVersions are the served ones as callers say them; the blank one sends no header, which means 2025-03-26.
var protocolVersions = []string{"", version20250326, version20250618, version20251125, version20260728}

// post is one POST of /mcp. What a field leaves blank is that of a sound request in the version.
type post struct {
	// version is spoken as its era does: by a header alone, or by headers and `_meta`.
	version string
	// verb is HTTP's method.
	verb string
	// lines are header lines. One replaces those of the same name that a sound request has; one without a colon only takes
	// them away.
	lines []string
	// anonymous leaves the credentials out.
	anonymous bool
	// jsonrpc, id and meta are raw JSON; the id is 1 and absent where it says so.
	jsonrpc, id, meta string
	// method stands within quotes as it is.
	method string
	// params are the members beside `_meta`, without braces. Instead of both, shape is the whole value.
	params, shape string
	// message is the whole body instead of all that, and opening and closing stand around any body.
	message, opening, closing string
}

// absent leaves out what else would have a sound value.
const absent = "absent"

// body is the JSON-RPC message.
func (p *post) body() string {
	if p.message != "" {
		return p.opening + p.message + p.closing
	}
	var members []string
	add := func(name, sound, value string) {
		if value = or(value, sound); value != absent {
			members = append(members, `"`+name+`":`+value)
		}
	}
	add("jsonrpc", `"2.0"`, p.jsonrpc)
	add("id", "1", p.id)
	add("method", "", `"`+p.method+`"`)
	meta := or(p.meta, absent)
	if p.version == version20260728 {
		meta = or(p.meta, soundMeta(p.version))
	}
	params := p.params
	if meta != absent {
		if params != "" {
			params += ","
		}
		params += `"_meta":` + meta
	}
	shape := `{` + params + `}`
	if params == "" {
		shape = absent
	}
	add("params", shape, p.shape)
	return p.opening + `{` + strings.Join(members, ",") + `}` + p.closing
}

// head is every header line of the request.
func (p *post) head(c *counter, body string) []string {
	lines := []string{"Host: " + c.address, "Content-Type: application/json", "Accept: application/json, text/event-stream",
		"Content-Length: " + strconv.Itoa(len(body))}
	if !p.anonymous {
		lines = append(lines, "clientId: "+c.caller.id, "clientSecret: "+c.caller.secret)
	}
	if p.version != "" {
		lines = append(lines, "MCP-Protocol-Version: "+p.version)
	}
	if p.version == version20260728 {
		lines = append(lines, routingLines(p.body())...)
	}
	var out []string
	for _, line := range lines {
		if !overridden(line, p.lines) {
			out = append(out, line)
		}
	}
	for _, line := range p.lines {
		if strings.Contains(line, ":") {
			out = append(out, line)
		}
	}
	return out
}

// say sends a request and reads the answer.
func (c *counter) say(t testing.TB, p post) answer {
	t.Helper()
	body := p.body()
	request := or(p.verb, http.MethodPost) + " /mcp HTTP/1.1\r\n" + strings.Join(p.head(c, body), "\r\n") + "\r\n\r\n" + body
	got, err := c.line.attempt(&payload{Method: p.verb}, []byte(request))
	if err != nil {
		c.line.close()
		t.Fatalf("%v: %.2000q", err, request)
	}
	return got
}

// reply is the specified answer to a request: an error with a code, or with none a result.
type reply struct {
	status, code int
	// data is the error's, compact.
	data string
	// noID says that the answer has none; else it has the request's.
	noID bool
	// allow is the header of that name.
	allow string
}

// The replies of the tables, by what they say.
var (
	good         = reply{status: 200}
	denied       = reply{status: 403, code: -32600, noID: true}
	notPost      = reply{status: 405, code: -32600, noID: true, allow: "POST"}
	challenge    = reply{status: 401, code: 401, noID: true}
	wrongType    = reply{status: 415, code: -32600, noID: true}
	tooBig       = reply{status: 413, code: -32600, noID: true}
	unparsed     = reply{status: 400, code: -32700, noID: true}
	nameless     = reply{status: 400, code: -32600, noID: true}
	noRequest    = reply{status: 400, code: -32600}
	badEnvelope  = reply{status: 400, code: -32602}
	mismatch     = reply{status: 400, code: -32020}
	unknownOnes  = reply{status: 404, code: -32601}
	legacyOnes   = reply{status: 200, code: -32601}
	badParams    = reply{status: 200, code: -32602}
	taken        = reply{status: 202, noID: true}
	untakenReply = reply{status: 400, code: -32600, noID: true}
)

// notServed is the answer to a version that is not served, which is named where its text is one of ours.
func notServed(requested string) reply {
	return reply{status: 400, code: -32022, data: `{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"` + requested + `"}`}
}

// incapable is the answer to a client that lacks capabilities, as JSON.
func incapable(capabilities string) reply {
	return reply{status: 400, code: -32021, data: `{"requiredCapabilities":` + capabilities + `}`}
}

// check judges an answer, and returns its result if it has one.
func (r reply) check(t testing.TB, p *post, got answer) (result json.RawMessage) {
	t.Helper()
	if got.status != r.status {
		t.Errorf("status %d, want %d: %.500s", got.status, r.status, got.body)
		return nil
	}
	for name := range got.header {
		if !slices.Contains(answerHeaders, name) {
			t.Errorf("the answer has the header %s: %q", name, got.header[name])
		}
	}
	if got.header.Get("Allow") != r.allow {
		t.Errorf("Allow %q, want %q", got.header.Get("Allow"), r.allow)
	}
	if cache := got.header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control %q", cache)
	}
	if r.status == http.StatusAccepted {
		if len(got.body) != 0 {
			t.Errorf("202 with a body: %q", got.body)
		}
		return nil
	}
	if contentType := got.header.Get("Content-Type"); contentType != "application/json" {
		t.Errorf("Content-Type %q", contentType)
	}
	message := entries(t, got.body)
	var id, jsonrpc string
	for i, m := range message {
		switch m.name {
		case "jsonrpc":
			jsonrpc = string(m.value)
		case "id":
			id = string(m.value)
		case "result":
			result = m.value
		case "error":
			r.checkError(t, m.value)
		default:
			t.Errorf("the answer has the member %q", m.name)
		}
		if slices.ContainsFunc(message[:i], func(o member) bool { return o.name == m.name }) {
			t.Errorf("the answer has %q twice: %s", m.name, got.body)
		}
	}
	wantID := or(p.id, "1")
	if r.noID || wantID == absent {
		wantID = ""
	}
	if id != wantID {
		t.Errorf("id %s, want %q", id, wantID)
	}
	if jsonrpc != `"2.0"` || len(message) < 2 {
		t.Errorf("no JSON-RPC 2.0 message: %s", got.body)
	}
	if (result != nil) != (r.code == 0) {
		t.Errorf("code %d is wanted of %.500s", r.code, got.body)
	}
	return result
}

func (r reply) checkError(t testing.TB, raw json.RawMessage) {
	t.Helper()
	code, said, data := 0, "", ""
	for _, m := range entries(t, raw) {
		var err error
		switch m.name {
		case "code":
			code, err = strconv.Atoi(string(m.value))
		case "message":
			err = json.Unmarshal(m.value, &said)
		case "data":
			data = string(m.value)
		default:
			err = fmt.Errorf("unknown member %q", m.name)
		}
		if err != nil {
			t.Errorf("the error is %s: %v", raw, err)
		}
	}
	if code != r.code || said == "" || data != r.data {
		t.Errorf("the error is %s, want code %d and data %q", raw, r.code, r.data)
	}
}

// member is one of an object, in its order.
type member struct {
	name  string
	value json.RawMessage
}

// entries reads an object with nothing after it, in order and with duplicates.
func entries(t testing.TB, object []byte) []member {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		t.Fatalf("no JSON object: %.500q", object)
	}
	var out []member
	for d.More() {
		var m member
		name, err := d.Token()
		if err == nil {
			err = d.Decode(&m.value)
		}
		if err != nil {
			t.Fatalf("no JSON object: %v: %.500q", err, object)
		}
		m.name, _ = name.(string)
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil || !json.Valid(object) {
		t.Fatalf("no JSON object alone: %v: %.500q", err, object)
	}
	return out
}

// namesOf are those of an object's members, in order.
func namesOf(t testing.TB, object []byte) []string {
	t.Helper()
	var out []string
	for _, m := range entries(t, object) {
		out = append(out, m.name)
	}
	return out
}

// memberOf is a member's value, nil where there is none.
func memberOf(t testing.TB, object []byte, name string) json.RawMessage {
	t.Helper()
	for _, m := range entries(t, object) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// versionName names a version as a subtest.
func versionName(version string) string { return or(version, "no version") }
