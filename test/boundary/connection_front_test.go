package boundary_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sallyport-dev/sallyport/edge"
)

// connectionProto is the contract of the tests of connections. What its tools do is up to each test.
const connectionProto = `
syntax = "proto3";
package connection.v1;
import "sallyport/tool/v1/content.proto";
import "sallyport/tool/v1/options.proto";

service ConnectionService {
  // Says a word.
  rpc Say(Words) returns (Words) { option (sallyport.tool.v1.tool) = {name: "say"}; }
  // Answers when a test says so.
  rpc Wait(Words) returns (Words) { option (sallyport.tool.v1.tool) = {name: "wait"}; }
  // Must not take long.
  rpc Hurry(Words) returns (Words) { option (sallyport.tool.v1.tool) = {name: "hurry", timeout: {nanos: 500000000}}; }
  // May take longer than an edge allows.
  rpc Dawdle(Words) returns (Words) { option (sallyport.tool.v1.tool) = {name: "dawdle", timeout: {seconds: 7200}}; }
  // Tells of its progress.
  rpc Climb(Words) returns (stream ClimbResponse) { option (sallyport.tool.v1.tool) = {name: "climb", progress: true}; }
}
message Words { string word = 1; }
message ClimbResponse {
  oneof step {
    sallyport.tool.v1.Progress progress = 1;
    Words result = 2;
  }
}
`

const (
	sayMethod    = "/connection.v1.ConnectionService/Say"
	waitMethod   = "/connection.v1.ConnectionService/Wait"
	hurryMethod  = "/connection.v1.ConnectionService/Hurry"
	dawdleMethod = "/connection.v1.ConnectionService/Dawdle"
	climbMethod  = "/connection.v1.ConnectionService/Climb"
)

// newConnectionHouse is a house of that contract, whose tool say repeats its word.
func newConnectionHouse(t testing.TB, options ...setting) *house {
	t.Helper()
	h := newHouse(t, map[string]string{"connection/v1/connection.proto": connectionProto}, options...)
	h.witness.answer(sayMethod, func(_ context.Context, call *seen) ([]byte, error) { return call.wire, nil })
	return h
}

// front is the edge of a house, served as the program serves it, and what can be told of it from outside.
type front struct {
	*house
	// host is where it listens.
	host string
	// trust is the TLS of its callers, nil in the clear.
	trust *tls.Config
	// visitors are told of every connection, and entered of every request that the edge's handler begins with.
	visitors *visitors
	entered  chan struct{}
	// stop ends the serving as a signal does, and gives what edge.Serve gives.
	stop func() error
}

// how says in which way a front is served.
type how struct {
	limits edge.Limits
	// secure serves TLS.
	secure bool
	// address is where to listen; empty is on 127.0.0.1.
	address string
	// smallBuffers makes the connections hold little that nobody has read yet.
	smallBuffers bool
	// handler is served instead of the house's edge.
	handler http.Handler
}

// serve opens one more door to the edge of the house, which closes when the test ends.
func (h *house) serve(how how) *front {
	h.t.Helper()
	if how.address == "" {
		how.address = "127.0.0.1:0"
	}
	if how.handler == nil {
		how.handler = h.edge
	}
	l, err := net.Listen("tcp", how.address)
	if err != nil {
		h.t.Fatal(err)
	}
	f := &front{
		house: h, host: l.Addr().String(),
		visitors: &visitors{Listener: l, smallBuffers: how.smallBuffers, changed: make(chan struct{})},
		entered:  make(chan struct{}, 1<<16),
	}
	var tlsConfig *tls.Config
	if how.secure {
		model := httptest.NewTLSServer(nil) // has a certificate for loopback, and roots to trust it by
		roots := x509.NewCertPool()
		roots.AddCert(model.Certificate())
		tlsConfig, f.trust = &tls.Config{Certificates: model.TLS.Certificates}, &tls.Config{RootCAs: roots}
		model.Close()
	}
	handler := h.inFlight.count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.entered <- struct{}{}
		how.handler.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	logger := slog.New(slog.NewJSONHandler(h.lines, &slog.HandlerOptions{Level: slog.LevelInfo}))
	go func() {
		served <- edge.Serve(ctx, f.visitors, handler, tlsConfig, logger, edge.WithLimits(how.limits))
	}()
	f.stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	h.t.Cleanup(func() { _ = f.stop() })
	return f
}

// visitors is a listener that knows its open connections.
type visitors struct {
	net.Listener
	smallBuffers bool

	mu          sync.Mutex
	total, open int
	changed     chan struct{} // closed and replaced at each change
}

func (l *visitors) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.change(1, 1)
	tcp := conn.(*net.TCPConn)
	if l.smallBuffers {
		_ = tcp.SetWriteBuffer(4 << 10)
	}
	return &visitor{TCPConn: tcp, gone: sync.OnceFunc(func() { l.change(0, -1) })}, nil
}

func (l *visitors) change(total, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += total
	l.open += open
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *visitors) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// waitGone returns when the edge has taken this many connections and closed all of them, on its own or because the
// callers did.
func (l *visitors) waitGone(t testing.TB, n int) {
	t.Helper()
	for limit := time.After(patience); ; {
		l.mu.Lock()
		total, open, changed := l.total, l.open, l.changed
		l.mu.Unlock()
		if total >= n && open == 0 {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("of %d connections, %d are open after %s", total, open, patience)
		}
	}
}

type visitor struct {
	*net.TCPConn
	gone func()
}

func (c *visitor) Close() error {
	defer c.gone()
	return c.TCPConn.Close()
}

// receive takes a value that is to come.
func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: not within %s", what, patience)
		panic("unreachable")
	}
}

// asked is a tools/call as a client of a version makes it.
type asked struct {
	version, id, tool string
	// arguments are JSON; token, too, and empty asks for no progress.
	arguments, token string
}

// headers are those of the call, with these credentials.
func (s asked) headers(c credentials) http.Header {
	headers := c.headers(s.version)
	if s.version == version20260728 {
		headers.Set("Mcp-Method", "tools/call")
		headers.Set("Mcp-Name", s.tool)
	}
	return headers
}

func (s asked) body() string {
	var meta []string
	if s.version == version20260728 {
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`)
	}
	if s.token != "" {
		meta = append(meta, `"progressToken":`+s.token)
	}
	params := `"name":` + quote(s.tool) + `,"arguments":` + or(s.arguments, "{}")
	if meta != nil {
		params += `,"_meta":{` + strings.Join(meta, ",") + `}`
	}
	return `{"jsonrpc":"2.0","id":` + s.id + `,"method":"tools/call","params":{` + params + `}}`
}

// say is a call of say.
func say(version, id, word string) asked {
	return asked{version: version, id: id, tool: "say", arguments: `{"word":` + quote(word) + `}`}
}

// onTheWire writes the call as an HTTP/1.1 request.
func (f *front) onTheWire(s asked, c credentials) string {
	return f.head("POST /mcp", s.headers(c), len(s.body())) + s.body()
}

// head is the head of a request with a body of this length; a negative one declares none.
func (f *front) head(line string, headers http.Header, length int) string {
	var b strings.Builder
	b.WriteString(line + " HTTP/1.1\r\n")
	if headers.Get("Host") == "" {
		b.WriteString("Host: " + f.host + "\r\n")
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range headers {
			if !yield(name) {
				return
			}
		}
	}) {
		for _, value := range headers[name] {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	if length >= 0 {
		b.WriteString("Content-Length: " + strconv.Itoa(length) + "\r\n")
	}
	return b.String() + "\r\n"
}

// line is one connection that a test speaks HTTP/1.1 over by hand.
type line struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// dial opens a connection that fails the test when it waits for longer than anything may take.
func (f *front) dial(t testing.TB) *line {
	t.Helper()
	l := f.dialPlain(t)
	if f.trust != nil {
		trust := f.trust.Clone()
		trust.ServerName, trust.NextProtos = "127.0.0.1", []string{"http/1.1"}
		l.conn = tls.Client(l.conn, trust)
		l.in = bufio.NewReader(l.conn)
	}
	return l
}

// dialPlain is dial without TLS, even where the edge wants it.
func (f *front) dialPlain(t testing.TB) *line {
	t.Helper()
	conn, err := net.Dial("tcp", f.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if f.visitors.smallBuffers {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &line{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func (l *line) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.conn, text); err != nil {
		l.t.Fatalf("write: %v", err)
	}
}

// feed writes a text that the edge may not want to read to its end, while the test goes on.
func (l *line) feed(text string) {
	go func() { _, _ = io.WriteString(l.conn, text) }()
}

// read takes the next answer, which may be the last one of the connection.
func (l *line) read(method string) (a answer, last bool) {
	l.t.Helper()
	for {
		response, err := http.ReadResponse(l.in, &http.Request{Method: method})
		if err != nil {
			l.t.Fatalf("no answer: %v", err)
		}
		if response.StatusCode/100 == 1 {
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			l.t.Fatalf("answer %d is cut: %v", response.StatusCode, err)
		}
		return answer{status: response.StatusCode, header: response.Header, body: body}, response.Close
	}
}

// end wants nothing more to come but the end of the connection. A reset is one: what a caller still sent went unread.
func (l *line) end() {
	l.t.Helper()
	rest, err := io.ReadAll(l.in)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		l.t.Fatalf("the connection did not end: %v", err)
	}
	if len(rest) > 0 {
		l.t.Fatalf("before its end the connection brought %.300q", rest)
	}
}

// hangUp closes the connection without a farewell: what was sent to it and not read is lost, and the edge is told.
func (l *line) hangUp() {
	if tcp, ok := l.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = l.conn.Close()
}

// wordOf is the word that an answer to say has, checked to belong to the id.
func wordOf(t testing.TB, a answer, id string) string {
	t.Helper()
	var message struct {
		ID     json.RawMessage `json:"id"`
		Result struct {
			Structured struct {
				Word string `json:"word"`
			} `json:"structuredContent"`
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.body, &message); err != nil || a.status != http.StatusOK || message.Result.IsError {
		t.Fatalf("no answer to a call: %d %s", a.status, a.body)
	}
	if string(message.ID) != id {
		t.Fatalf("an answer to %s, want %s: %s", message.ID, id, a.body)
	}
	return message.Result.Structured.Word
}

// settlement is a line of the log for one request.
type settlement struct {
	Message  string `json:"msg"`
	Outcome  string `json:"outcome"`
	Class    string `json:"class"`
	Status   int    `json:"status"`
	Protocol string `json:"protocol"`
	Tool     string `json:"tool"`
}

// settled are the settlements since the log was forgotten, of requests that ended.
func (h *house) settled() []settlement {
	h.t.Helper()
	var out []settlement
	for text := range strings.Lines(h.log()) {
		var s settlement
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			h.t.Fatalf("the log has the line %q: %v", text, err)
		}
		if s.Message == "request settled" {
			out = append(out, s)
		}
	}
	return out
}

// held is a call that reached the witness and waits there.
type held struct {
	*seen
	// left is how much time the call's deadline gave it when it came.
	left time.Duration
	// answer ends the call with a response, and ended is closed when its context has ended.
	answer chan []byte
	ended  chan struct{}
}

// hold makes a method of the witness wait for the test with each call, or for the end of the call's context.
func (h *house) hold(method string) <-chan *held {
	calls := make(chan *held, 1024)
	h.witness.answer(method, func(ctx context.Context, call *seen) ([]byte, error) {
		one := &held{seen: call, answer: make(chan []byte, 1), ended: make(chan struct{})}
		if deadline, ok := ctx.Deadline(); ok {
			one.left = time.Until(deadline)
		}
		calls <- one
		select {
		case response := <-one.answer:
			return response, nil
		case <-ctx.Done():
			close(one.ended)
			return nil, ctx.Err()
		}
	})
	return calls
}

// word is a Words message on the wire.
func word(text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
}

// word is that of the request.
func (s *seen) word() string {
	_, _, tag := protowire.ConsumeTag(s.wire)
	text, n := protowire.ConsumeString(s.wire[max(tag, 0):])
	if tag < 0 || n < 0 {
		return ""
	}
	return text
}

// checkHeadRefusal wants an answer with this status that is an error with this code and without an id.
func checkHeadRefusal(t testing.TB, a answer, status, code int) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	if want := fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,`, code); !strings.HasPrefix(string(a.body), want) {
		t.Fatalf("the answer is %.300s, want %s…", a.body, want)
	}
}
