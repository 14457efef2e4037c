package boundary_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

// smallSchema bounds the schemas of types that others could not describe: one listing of a thousand such tools is still
// something that a client reads.
const smallSchema = 32 << 10

// worstRows are the defects that matter most.
func worstRows() []peerRow {
	const peer = "4.1"
	return []peerRow{
		{peer: peer, defect: "D1 a message that holds itself kills the generator", shows: func(t *testing.T, p *peers) {
			if size := len(p.input("peers.v1.PeersService/Walk")); size > smallSchema {
				t.Errorf("the schema has %d bytes", size)
			}
			p.reaches("peers.v1.PeersService/Walk", `{"children":[{"name":"a","children":[{"children":[{"name":"b"}]}]}]}`,
				"peers.v1.Node", `children {name: "a" children {children {name: "b"}}}`)
			p.refuses("peers.v1.PeersService/Walk", `{"children":[{"children":[{"name":7}]}]}`, "children[].children[].name")
		}},
		{peer: peer, defect: "D2 a session keeps the credentials that opened it", shows: credentialsAreTheRequests},
		{peer: peer, defect: "D3 a 64-bit integer is rounded on its way in", shows: func(t *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Find", `{"filter":{"minVersion":"9007199254740993","maxVersion":"18446744073709551615",
				"ids":["-9223372036854775808","9223372036854775807"],"counts":{"-9223372036854775807":"9007199254740993"}}}`,
				"peers.v1.FindRequest", `filter {min_version: 9007199254740993 max_version: 18446744073709551615
				ids: [-9223372036854775808, 9223372036854775807] counts {key: -9223372036854775807 value: 9007199254740993}}`)
			p.refuses("peers.v1.PeersService/Find", `{"filter":{"minVersion":9007199254740993}}`, "filter.minVersion", "string")
			p.reaches("peers.numeric.v1.NumericService/Find", `{"filter":{"minVersion":9007199254740993,"maxVersion":18446744073709551615}}`,
				"peers.v1.FindRequest", `filter {min_version: 9007199254740993 max_version: 18446744073709551615}`)
			p.refuses("peers.numeric.v1.NumericService/Find", `{"filter":{"maxVersion":18446744073709551616}}`, "filter.maxVersion")
		}},
		{peer: peer, defect: "D3 a 64-bit integer is rounded on its way out", shows: func(t *testing.T, p *peers) {
			for service, want := range map[string]string{
				"peers.v1.PeersService": `"minVersion":"9007199254740993"`, "peers.numeric.v1.NumericService": `"minVersion":9007199254740993`,
			} {
				p.tells(service+"/Find", "peers.v1.FindRequest", `filter {min_version: 9007199254740993}`)
				if got := p.conforms(service+"/Find", p.ask(service+"/Find", `{}`)); !strings.Contains(got, want) {
					t.Errorf("answered %s", got)
				}
			}
		}},
		{peer: peer, defect: "D4 an output schema without structured content", shows: everyOutputSchemaIsKept},
		{peer: peer, defect: "D4 names and types of a result differ from the output schema", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/GetReport", "peers.v1.Report", `mood: MOOD_GOOD moods: [MOOD_UNSPECIFIED, MOOD_BAD] ratio: 0.5 count: -7
				at {seconds: 1} took {nanos: 5} mask {paths: "a_b"} maybe {value: 9007199254740993} raw: "\377" parts {key: "x" value {number: 3}}`)
			got := p.conforms("peers.v1.PeersService/GetReport", p.ask("peers.v1.PeersService/GetReport", `{}`))
			for _, want := range []string{`"count":"-7"`, `"maybe":"9007199254740993"`, `"mask":"aB"`, `"raw":"/w=="`, `"moods":["MOOD_UNSPECIFIED","MOOD_BAD"]`, `"small":0`} {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in %s", want, got)
				}
			}
		}},
		{peer: peer, defect: "D5 a oneof becomes a union at the root, which model providers refuse", shows: func(t *testing.T, p *peers) {
			for name, tool := range p.list() {
				if union := unionIn(tool.InputSchema); union != "" {
					t.Errorf("%s (%s) has %s", tool.Title, name, union)
				}
			}
		}},
		{peer: peer, defect: "D5 a message with no member of its oneof is refused", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Choose", `{}`, "peers.v1.Choice", ``)
			p.reaches("peers.v1.PeersService/Choose", `{"userId":"1"}`, "peers.v1.Choice", `user_id: 1`)
		}},
		{peer: peer, defect: "D5 of two oneofs only one is enforced", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Choose", `{"email":"a","after":"1s"}`, "peers.v1.Choice", `email: "a" after {seconds: 1}`)
			p.refuses("peers.v1.PeersService/Choose", `{"email":"a","userId":"1"}`, "email", "userId")
			p.refuses("peers.v1.PeersService/Choose", `{"at":"2026-01-02T03:04:05Z","after":"1s"}`, "at", "after")
		}},
		{peer: peer, defect: "D6 four messages that hold each other have no end", shows: func(t *testing.T, p *peers) {
			for _, function := range []string{"peers.v1.PeersService/Mix", "peers.v1.PeersService/Parse"} {
				schema := p.input(function)
				if len(schema) > smallSchema {
					t.Errorf("%s: the schema has %d bytes", function, len(schema))
				}
				schematest.Validator(t, []byte(schema))
			}
			p.reaches("peers.v1.PeersService/Mix", `{"b":{"c":{"d":{"a":{"d":{"leaf":"x"}}}}}}`, "peers.v1.A", `b {c {d {a {d {leaf: "x"}}}}}`)
			p.refuses("peers.v1.PeersService/Mix", `{"b":{"c":{"d":{"a":{"leaf":"x"}}}}}`, "b.c.d.a")
		}},
		{peer: peer, defect: "D7 a diamond of 18 levels is written out whole", shows: func(t *testing.T, p *peers) {
			schema := p.input("peers.v1.PeersService/Descend")
			if len(schema) > smallSchema {
				t.Errorf("the schema has %d bytes", len(schema))
			}
			schematest.Validator(t, []byte(schema))
			p.reaches("peers.v1.PeersService/Descend", strings.Repeat(`{"right":`, 18)+`{"leaf":"x"}`+strings.Repeat(`}`, 18),
				"peers.v1.D0", strings.Repeat(`right {`, 18)+`leaf: "x"`+strings.Repeat(`}`, 18))
			p.refuses("peers.v1.PeersService/Descend", strings.Repeat(`{"left":`, 18)+`{"right":{}}`+strings.Repeat(`}`, 18), strings.Repeat("left.", 17)+"left")
		}},
		{peer: peer, defect: "D8 an Any cannot hold the service's own messages", shows: func(t *testing.T, p *peers) {
			const nested = `{"@type":"type.googleapis.com/peers.v1.Nested","name":"x","number":"7"}`
			r := p.reaches("peers.v1.PeersService/Wrap", `{"payload":`+nested+`}`,
				"peers.v1.Envelope", `payload {[type.googleapis.com/peers.v1.Nested] {name: "x" number: 7}}`)
			p.witness.answer("/peers.v1.PeersService/Wrap", echoes)
			if got := p.conforms("peers.v1.PeersService/Wrap", p.ask("peers.v1.PeersService/Wrap", `{"payload":`+nested+`}`)); got != `{"payload":`+nested+`}` {
				t.Errorf("answered %s, after %s", got, r.body)
			}
			p.refuses("peers.v1.PeersService/Wrap", `{"payload":{"@type":"type.googleapis.com/peers.v1.Nested","nmae":"x"}}`, "payload")
			p.refuses("peers.v1.PeersService/Wrap", `{"payload":{"@type":"type.googleapis.com/foreign.v1.Secret"}}`, "payload")
		}},
		{peer: peer, defect: "D9 a caller who leaves is not noticed by the service", shows: callerWhoLeaves},
		{peer: peer, defect: "D10 a request whose type is in another file is no tool", shows: func(t *testing.T, p *peers) {
			p.tells("peers.v1.PeersService/Share", "peers.answer.v1.SharedResponse", `word: "back"`)
			r := p.reaches("peers.v1.PeersService/Share", `{"word":"there"}`, "peers.shared.v1.SharedRequest", `word: "there"`)
			if got := p.conforms("peers.v1.PeersService/Share", r); got != `{"word":"back"}` {
				t.Errorf("answered %s", got)
			}
		}},
	}
}

// credentialsAreTheRequests sends three requests over one connection: by one machine, by another, and by nobody.
func credentialsAreTheRequests(t *testing.T, p *peers) {
	alice, bob := p.machine(participant.Organization("acme", "alice")), p.machine(participant.System("bob"))
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	send := func(c credentials, tool string) (int, string) {
		lines := []string{"Content-Type: application/json", "Mcp-Session-Id: one-and-the-same"}
		if c.id != "" {
			lines = append(lines, "clientId: "+c.id, "clientSecret: "+c.secret)
		}
		if _, err := conn.Write(p.rawRequest(lines, callBody("1", tool, `{}`))); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	tool := p.tool("peers.v1.PeersService/Nothing")
	for _, c := range []credentials{bob, p.caller, bob} {
		if status, body := send(c, tool); status != http.StatusOK || strings.Contains(body, "error") {
			t.Fatalf("%s: %d %s", c.id, status, body)
		}
		if got := p.witness.last().participant(t).GetId(); got != c.id {
			t.Errorf("the service was called by %q, want %q", got, c.id)
		}
	}
	before := p.witness.count()
	if status, body := send(credentials{}, tool); status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", status, body)
	}
	// An organization does not reach the platform's own zone, on whatever connection it comes.
	if _, body := send(alice, tool); !strings.Contains(body, "Unknown tool.") {
		t.Errorf("alice: %s", body)
	}
	if got := p.witness.count() - before; got != 0 {
		t.Errorf("%d calls without rights reached the service", got)
	}
}

// everyOutputSchemaIsKept calls every listed tool that has an output schema, with the least that it takes.
func everyOutputSchemaIsKept(t *testing.T, p *peers) {
	least := map[string]string{
		p.tool("peers.old.v1.OldService/Old"):           `{"id":"x"}`,
		p.tool("peers.next.v1.NextService/Next"):        `{"id":"x"}`,
		p.tool("peers.v1.PeersService/Judge"):           `{"id":"x"}`,
		p.tool("peers.numeric.v1.NumericService/Judge"): `{"id":"x"}`,
	}
	p.tells("peers.old.v1.OldService/Old", "peers.old.v1.OldRequest", `id: "x"`)
	p.tells("peers.next.v1.NextService/Next", "peers.next.v1.NextRequest", `id: "x"`)
	with, without := 0, 0
	for name, tool := range p.list() {
		arguments := least[name]
		if arguments == "" {
			arguments = `{}`
		}
		r := p.call(version20251125, name, arguments)
		structured, _ := r.result()
		if (tool.OutputSchema != nil) != (structured != nil) {
			t.Errorf("%s: output schema %s, structured content %s", tool.Title, tool.OutputSchema, structured)
		}
		if tool.OutputSchema == nil {
			without++
			continue
		}
		with++
		if !schematest.Accepts(t, schematest.Validator(t, tool.OutputSchema), structured) {
			t.Errorf("%s: %s does not fit %s", tool.Title, structured, tool.OutputSchema)
		}
	}
	if with < 20 || without < 3 {
		t.Errorf("%d tools with an output schema and %d without were called", with, without)
	}
}

// unionIn returns the first of oneOf, anyOf and allOf that a schema uses as a keyword at any depth.
func unionIn(schema json.RawMessage) string {
	var walk func(v any, names bool) string
	walk = func(v any, names bool) string {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				if found := walk(item, false); found != "" {
					return found
				}
			}
		case map[string]any:
			for key, value := range v {
				if !names && (key == "oneOf" || key == "anyOf" || key == "allOf") {
					return key
				}
				// Below these two, keys are names and not keywords.
				if found := walk(value, !names && (key == "properties" || key == "$defs")); found != "" {
					return found
				}
			}
		}
		return ""
	}
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		return err.Error()
	}
	return walk(v, false)
}

// callerWhoLeaves cuts a call off, and waits for the service to be told.
func callerWhoLeaves(t *testing.T, p *peers) {
	began, ended := make(chan struct{}, 1), make(chan error, 1)
	p.witness.answer("/peers.v1.PeersService/Nothing", func(ctx context.Context, _ *seen) ([]byte, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the call has no deadline")
		}
		began <- struct{}{}
		select {
		case <-ctx.Done():
		case <-time.After(patience):
		}
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	defer p.witness.answer("/peers.v1.PeersService/Nothing", nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/mcp",
		strings.NewReader(string(callBody("1", p.tool("peers.v1.PeersService/Nothing"), `{}`))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = p.caller.headers(version20251125)
	left := make(chan struct{})
	go func() {
		defer close(left)
		if answer, err := p.client.Do(r); err == nil {
			answer.Body.Close()
			t.Error("a call that nobody waits for was answered")
		}
	}()
	<-began
	leave()
	<-left
	if err := <-ended; err == nil {
		t.Errorf("the service was not told in %s", patience)
	}
}
