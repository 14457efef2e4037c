package boundary_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func ggRMCPRows() []peerRow {
	const peer = "ggRMCP"
	return []peerRow{
		{peer: peer, defect: "two services that differ in the package are one tool", shows: twinsAreTwo},
		{peer: peer, defect: "a recursive message refers to a definition that is not there", shows: func(t *testing.T, p *peers) {
			for function, document := range map[string]string{
				"peers.v1.PeersService/Walk":  `{"children":[{"children":[{"name":"x"}]}]}`,
				"peers.v1.PeersService/Parse": `{"expr":{"callExpr":{"function":"f","args":[{"identExpr":{"name":"x"}}]}}}`,
				"peers.v1.PeersService/Mix":   `{"a":{"b":{"c":{"d":{"leaf":"x"}}}}}`,
			} {
				if !schematest.Accepts(t, p.inputValidator(function), []byte(document)) {
					t.Errorf("%s refuses %s: %s", function, document, p.input(function))
				}
				if r := p.ask(function, document); r.seen == nil {
					t.Errorf("%s: %s", function, r.body)
				}
			}
		}},
		{peer: peer, defect: "a Duration is published in the form of ISO 8601", shows: func(t *testing.T, p *peers) {
			p.reaches(paintRPC, `{"wait":"3600s"}`, "peers.v1.PaintRequest", `wait {seconds: 3600}`)
			p.reaches(paintRPC, `{"wait":"-1.5s"}`, "peers.v1.PaintRequest", `wait {seconds: -1 nanos: -500000000}`)
			p.refuses(paintRPC, `{"wait":"PT1H"}`, "wait")
			v := p.inputValidator(paintRPC)
			if !schematest.Accepts(t, v, []byte(`{"wait":"3600s"}`)) || schematest.Accepts(t, v, []byte(`{"wait":"PT1H"}`)) {
				t.Errorf("published as %v", p.property(paintRPC, "wait"))
			}
		}},
		{peer: peer, defect: "notifications/initialized is answered with an error", shows: notificationsAreAccepted},
		{peer: peer, defect: "ping is unknown", shows: pingIsAnswered},
		{peer: peer, defect: "GET / initializes", shows: func(t *testing.T, p *peers) {
			if r := p.plain(http.MethodGet, "/"); r.status != http.StatusNotFound {
				t.Errorf("GET /: %d %s", r.status, r.body)
			}
			if r := p.plain(http.MethodGet, "/mcp"); r.status != http.StatusMethodNotAllowed || r.headers.Get("Allow") != http.MethodPost {
				t.Errorf("GET /mcp: %d %s", r.status, r.body)
			}
		}},
		{peer: peer, defect: "the protocol version is always 2024-11-05", shows: func(t *testing.T, p *peers) {
			for requested, want := range map[string]string{
				version20251125: version20251125, version20250618: version20250618, version20250326: version20250326,
				"2024-11-05": version20251125, version20260728: version20251125, "x": version20251125,
			} {
				r := p.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+requested+
					`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`), p.caller.headers(""))
				if !strings.Contains(string(r.body), `"protocolVersion":"`+want+`"`) {
					t.Errorf("%s: %d %s", requested, r.status, r.body)
				}
			}
		}},
		{peer: peer, defect: "tools are listed in random order", shows: listsAreOneOrder},
		{peer: peer, defect: "ordinary words of a service's message are struck out", shows: func(t *testing.T, p *peers) {
			const words = "author key 42 not found; tokenizer idle"
			p.witness.answer("/"+paintRPC, func(context.Context, *seen) ([]byte, error) {
				return nil, status.Error(codes.NotFound, words)
			})
			defer p.witness.answer("/"+paintRPC, nil)
			// A caller gets the service's words whole, but for what the caller sent.
			for arguments, want := range map[string]string{
				`{"name":"x"}`: words, `{"layers":42}`: "author key {layers} not found; tokenizer idle",
			} {
				if text := p.ask(paintRPC, arguments).toolError(); text != want {
					t.Errorf("says %q, want %q", text, want)
				}
			}
		}},
		{peer: peer, defect: "arguments of 12 levels are refused", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Carry", `{"any":`+arrays(12)+`}`, "peers.v1.Parcel",
				`any {`+strings.Repeat(`list_value {values {`, 11)+`list_value {}`+strings.Repeat(`}}`, 11)+`}`)
			p.reaches("peers.v1.PeersService/Walk", strings.Repeat(`{"children":[`, 40)+`{"name":"x"}`+strings.Repeat(`]}`, 40),
				"peers.v1.Node", strings.Repeat(`children {`, 40)+`name: "x"`+strings.Repeat(`}`, 40))
		}},
		{peer: peer, defect: "a limit of 100 calls a second for the whole process", shows: func(t *testing.T, p *peers) {
			tool := p.tool("peers.v1.PeersService/Nothing")
			for i := range 400 {
				if r := p.call(version20251125, tool, `{}`); r.status != http.StatusOK || r.seen == nil {
					t.Fatalf("call %d: %d %s", i, r.status, r.body)
				}
			}
		}},
		{peer: peer, defect: "arguments are logged at info", shows: func(t *testing.T, p *peers) {
			p.reaches(paintRPC, `{"name":"`+secretWord+`"}`, "peers.v1.PaintRequest", `name: "`+secretWord+`"`)
			p.refuses(paintRPC, `{"layers":"`+secretWord+`"}`, "layers")
			p.refuses(paintRPC, `{"`+secretWord+`":1}`)
			p.ask(secretWord, `{}`)
			p.rpc(secretWord, `{}`)
			log := p.log()
			if strings.Contains(log, secretWord) {
				t.Error("the log repeats an argument")
			}
			if !strings.Contains(log, "srv://"+zone+"~"+paintRPC) {
				t.Error("the log does not even name the tool")
			}
		}},
		{peer: peer, defect: "every origin is allowed", shows: func(t *testing.T, p *peers) {
			headers := p.caller.headers(version20251125)
			headers.Set("Origin", "https://evil.example")
			if r := p.post(callBody("1", paintRPC, `{}`), headers); r.status != http.StatusForbidden {
				t.Errorf("%d %s", r.status, r.body)
			}
			for _, r := range []response{p.rpc("ping", ""), p.plain(http.MethodOptions, "/mcp")} {
				for name := range r.headers {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("answered with %s: %q", name, r.headers[name])
					}
				}
			}
		}},
		{peer: peer, defect: "the Host header is not looked at", shows: foreignHostsAreRefused},
		{peer: peer, defect: "services are reached in plain text only", shows: tlsToServices},
		{peer: peer, defect: "the server binds every interface", cannot: "an edge listens where its configuration or --listen says; " +
			"there is no default, and cmd/edge refuses to start without an address"},
		{peer: peer, defect: "a service that is down at the start ends the process", shows: func(t *testing.T, p *peers) {
			h := newHouse(t, map[string]string{"greeter/v1/greeter.proto": greeter}, prepared(func(h *house) { h.witness.server.Stop() }))
			r := h.call(version20251125, "greet", `{}`)
			if text := r.toolError(); !strings.Contains(text, "not available") || r.parse().Result.Meta["dev.sallyport/executed"] != "no" {
				t.Errorf("answered %s", r.body)
			}
		}},
		{peer: peer, defect: "a backend that comes back is not reached again", shows: func(t *testing.T, p *peers) {
			h := newHouse(t, map[string]string{"greeter/v1/greeter.proto": greeter})
			h.call(version20251125, "greet", `{}`).result()
			h.instance.leave()
			h.until("the tool is gone", func() bool { return len(h.list()) == 0 })
			h.instance = h.register(&settings{zone: zone, address: h.witness.address}, map[string]string{"greeter/v1/greeter.proto": greeter})
			h.until("the tool is back", func() bool { return len(h.list()) == 1 })
			h.call(version20251125, "greet", `{}`).result()
		}},
		{peer: peer, defect: "a contract without tools lists null", shows: func(t *testing.T, p *peers) {
			h := newHouse(t, map[string]string{"greeter/v1/greeter.proto": greeter})
			h.instance.leave()
			h.until("the tool is gone", func() bool { return len(h.list()) == 0 })
			r := h.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), h.caller.headers(version20251125))
			if string(r.body) != `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}` {
				t.Errorf("listed %s", r.body)
			}
		}},
	}
}

// tlsToServices registers an instance with a server name, and wants the edge to speak TLS to it, to ask for that name,
// and to trust nobody who cannot prove it.
func tlsToServices(t *testing.T, _ *peers) {
	hello := make(chan string, 16)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{selfSigned(t)},
		NextProtos:   []string{"h2"},
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			hello <- info.ServerName
			return nil, nil // the listener's own
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	failed := make(chan error, 16)
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			failed <- conn.(*tls.Conn).HandshakeContext(t.Context())
			conn.Close()
		}
	}()
	h := newHouse(t, map[string]string{"greeter/v1/greeter.proto": greeter}, reachedAt(l.Addr().String(), "greeter.example"))
	r := h.call(version20251125, "greet", `{}`)
	if text := r.toolError(); r.parse().Result.Meta["dev.sallyport/executed"] != "no" || h.witness.count() != 0 {
		t.Errorf("answered %s", text)
	}
	if name := <-hello; name != "greeter.example" {
		t.Errorf("asked for %q", name)
	}
	if err := <-failed; err == nil {
		t.Error("the edge trusts a certificate that nobody vouches for")
	}
	l.Close()
	<-done
}

// selfSigned is a certificate that no authority vouches for.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"greeter.example"}, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// until makes requests until done says so: the edge follows etcd a moment behind.
func (h *house) until(what string, done func() bool) {
	h.t.Helper()
	for limit := time.Now().Add(patience); !done(); {
		if time.Now().After(limit) {
			h.t.Fatalf("waited %s in vain until %s; log:\n%s", patience, what, h.log())
		}
	}
}

func contextForgeRows() []peerRow {
	const peer = "ContextForge"
	return []peerRow{
		{peer: peer, defect: "D14 tools have an empty input schema", shows: func(t *testing.T, p *peers) {
			properties := p.property("peers.v1.PeersService/Find", "filter")["properties"].(map[string]any)
			for _, name := range []string{"minVersion", "maxVersion", "ids", "counts"} {
				if properties[name] == nil {
					t.Errorf("no %s in %v", name, properties)
				}
			}
		}},
		{peer: peer, defect: "D14 tools are described by a constant", shows: func(t *testing.T, p *peers) {
			seen := map[string]bool{}
			for _, tool := range p.list() {
				if tool.Description == "" || strings.Contains(tool.Description, "gRPC") {
					t.Errorf("%s is described as %q", tool.Title, tool.Description)
				}
				seen[tool.Description] = true
			}
			if len(seen) < 20 {
				t.Errorf("only %d descriptions", len(seen))
			}
			if description := p.property(arrangeRPC, "main", "name")["description"]; description != "What it is called." {
				t.Errorf("a field is described as %q", description)
			}
		}},
		{peer: peer, defect: "the schema builder has no guard against recursion", shows: recursionIsGuarded},
		{peer: peer, defect: "an enum has no values", shows: func(t *testing.T, p *peers) {
			if values, _ := json.Marshal(p.property(arrangeRPC, "main", "color")["enum"]); string(values) != `["RED","GREEN"]` {
				t.Errorf("an enum has the values %s", values)
			}
		}},
		{peer: peer, defect: "items of a repeated message are plain objects", shows: repeatedMessagesHaveTheirShape},
		{peer: peer, defect: "configured credentials never reach the service", shows: func(t *testing.T, p *peers) {
			// What reaches a service is who calls, signed by the edge; never what the caller proved it with.
			headers := p.caller.headers(version20251125)
			headers.Set("X-Api-Key", secretWord)
			r := p.post(callBody("1", p.tool("peers.v1.PeersService/Nothing"), `{}`), headers)
			r.result()
			seen := p.witness.last()
			if seen.participant(t).GetId() != p.caller.id || len(seen.metadata.Get(assertion.AssertionKey)) != 1 {
				t.Errorf("the service got %v", seen.metadata)
			}
			for key, values := range seen.metadata {
				for _, value := range values {
					if strings.Contains(value, p.caller.secret) || strings.Contains(value, secretWord) {
						t.Errorf("%s carries the caller's secret", key)
					}
				}
			}
		}},
		{peer: peer, defect: "every call makes a connection of its own", shows: oneConnection},
		{peer: peer, defect: "mutual TLS sends a key without its certificate chain", cannot: "an edge proves itself to a service by the signed " +
			"assertion of each call, and has no client certificate for services that could lack its chain"},
		{peer: peer, defect: "a method is looked for by the end of its service's name", shows: func(_ *testing.T, p *peers) {
			p.reaches("peers.v1.PeersService/Walk", `{"name":"x"}`, "peers.v1.Node", `name: "x"`)
			p.reaches("peers.v1.OtherPeersService/Walk", `{"name":"x"}`, "peers.v1.Node", `name: "x"`)
		}},
		{peer: peer, defect: "registration fails in several ways", shows: func(t *testing.T, p *peers) {
			functions := 0
			for _, file := range schematest.WholeSet(p.files).GetFile() {
				if _, ours := peersTexts()[file.GetName()]; !ours {
					continue
				}
				for _, service := range file.GetService() {
					for _, method := range service.GetMethod() {
						functions++
						p.listing(file.GetPackage() + "." + service.GetName() + "/" + method.GetName())
					}
				}
			}
			if tools := p.list(); len(tools) != functions || functions < 30 {
				t.Errorf("%d tools of %d functions", len(tools), functions)
			}
		}},
		{peer: peer, defect: "failed reflection looks like a service without methods", shows: func(t *testing.T, p *peers) {
			// A descriptor that is missing is an error that names it, and so is a service that is not there, or has nothing.
			whole := schematest.WholeSet(p.files)
			torn := &descriptorpb.FileDescriptorSet{}
			for _, file := range whole.GetFile() {
				if file.GetName() != "peers/shared/v1/shared.proto" {
					torn.File = append(torn.File, file)
				}
			}
			if _, _, err := contract.Normalize(torn, []string{"peers.v1.PeersService"}); err == nil || !strings.Contains(err.Error(), "peers.shared.v1.SharedRequest") {
				t.Errorf("a contract without a type: %v", err)
			}
			if _, _, err := contract.Normalize(whole, []string{"nowhere.v1.Service"}); err == nil || !strings.Contains(err.Error(), "nowhere.v1.Service") {
				t.Errorf("a contract without its service: %v", err)
			}
			silent := schematest.WholeSet(schematest.Files(t, map[string]string{"silent/v1/silent.proto": silentProto}))
			if _, err := contract.Compile(contract.Source{Files: silent, Services: []string{"silent.v1.Silent"}, Zone: zone}); err == nil || !strings.Contains(err.Error(), "silent.v1.Silent") {
				t.Errorf("a service that asks to be exposed and has nothing: %v", err)
			}
		}},
		{peer: peer, defect: "the epic of gRPC support is open", cannot: "an open request for a feature, no defect that could be shown; what it asks for, " +
			"services that register and are called with their types, is what this house does in every row"},
	}
}

const arrangeRPC = "peers.v1.PeersService/Arrange"

func recursionIsGuarded(t *testing.T, p *peers) {
	for _, function := range []string{"peers.v1.PeersService/Walk", "peers.v1.PeersService/Mix", "peers.v1.PeersService/Parse"} {
		if schema := p.input(function); len(schema) > smallSchema || !strings.Contains(schema, `"$ref"`) {
			t.Errorf("%s: %.300s", function, schema)
		}
	}
}

func repeatedMessagesHaveTheirShape(t *testing.T, p *peers) {
	if property := p.property(arrangeRPC, "items"); property["type"] != "array" {
		t.Errorf("a repeated message is %v", property)
	}
	if name := p.property(arrangeRPC, "items", "[]", "name"); name["type"] != "string" {
		t.Errorf("the name of an item is %v", name)
	}
	p.reaches(arrangeRPC, `{"items":[{"name":"a"},{"color":"GREEN"}]}`, "peers.v1.Shapes", `items {name: "a"} items {color: GREEN}`)
	p.refuses(arrangeRPC, `{"items":{"name":"a"}}`, "items", "array")
	p.refuses(arrangeRPC, `{"items":[{"nmae":"a"}]}`, "items[]")
}

// oneConnection: however many calls, the witness saw one connection.
func oneConnection(t *testing.T, p *peers) {
	for range 20 {
		p.ask("peers.v1.PeersService/Nothing", `{}`).result()
	}
	if made := p.witness.connections.Load(); made != 1 {
		t.Errorf("%d connections for %d calls", made, p.witness.count())
	}
}

func goMicroRows() []peerRow {
	const peer = "go-micro"
	return []peerRow{
		{peer: peer, defect: "tools of a vanished service stay listed", shows: func(t *testing.T, _ *peers) {
			h := newHouse(t, map[string]string{"greeter/v1/greeter.proto": greeter})
			if len(h.list()) != 1 {
				t.Fatal("the tool is not listed")
			}
			h.instance.leave()
			h.until("the tool is gone", func() bool { return len(h.list()) == 0 })
			r := h.call(version20251125, "greet", `{}`)
			if text := r.toolError(); !strings.Contains(text, "offline") || r.seen != nil {
				t.Errorf("answered %s", r.body)
			}
		}},
		{peer: peer, defect: "a recursive type overflows the gateway's stack", shows: recursionIsGuarded},
		{peer: peer, defect: "a repeated message loses its array", shows: repeatedMessagesHaveTheirShape},
		{peer: peer, defect: "a map becomes an object of key and value", shows: func(t *testing.T, p *peers) {
			property := p.property(arrangeRPC, "byName")
			inner, _ := property["additionalProperties"].(map[string]any)
			if property["type"] != "object" || inner["type"] != "object" || inner["properties"] == nil {
				t.Errorf("published as %v", property)
			}
			p.reaches(arrangeRPC, `{"byName":{"key":{"name":"a"},"value":{}}}`, "peers.v1.Shapes",
				`by_name {key: "key" value {name: "a"}} by_name {key: "value" value {}}`)
			p.refuses(arrangeRPC, `{"byName":[{"key":"a","value":{}}]}`, "byName", "object")
		}},
		{peer: peer, defect: "every call makes a connection of its own", shows: oneConnection},
		{peer: peer, defect: "the request's context is thrown away", shows: callerWhoLeaves},
	}
}

func goSDKRows() []peerRow {
	const peer = "go-sdk"
	return []peerRow{
		{peer: peer, defect: "a handler's error is a protocol error with the code 0", shows: badArgumentsAreToolErrors},
		{peer: peer, defect: "the context is detached from the request", shows: callerWhoLeaves},
		{peer: peer, defect: "sessions and the modern era exclude each other", cannot: "the edge has no sessions: it never issues a session id, ignores the " +
			"one it is sent (row D2), and so can serve both eras on one path; that it refuses the modern one by naming its versions is no session's doing"},
		{peer: peer, defect: "a 64-bit integer passes through a double", shows: func(t *testing.T, p *peers) {
			for _, number := range []string{"9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "9007199254740993.0", "9223372036854775807e0"} {
				exact := strings.TrimSuffix(strings.TrimSuffix(number, ".0"), "e0")
				p.reaches("peers.numeric.v1.NumericService/Find", `{"filter":{"minVersion":`+number+`}}`, "peers.v1.FindRequest", `filter {min_version: `+exact+`}`)
			}
		}},
		{peer: peer, defect: "a body is parsed twice", cannot: "it costs time and shows in no answer: internal/mcp decodes the envelope once, and hands the gate " +
			"the bytes of the arguments as a slice of the body; the benchmarks hold the cost"},
	}
}
