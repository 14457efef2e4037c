package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/mem"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The doubles below stand for the other rooms, whose own tests and the tests of package edge show the real ones.

// tool is one tool of the double catalog.
type tool struct {
	name         string
	hidden       bool
	offline      bool
	capabilities []string
	headers      []schema.Header
	spelled      bool // the definition says the dialect
	refusal      *mcp.Refusal
	call         func(ctx context.Context, request []byte) ([]byte, error)
	judge        func(arguments []byte) ([]byte, error)
	result       func(dst []byte) ([]byte, bool, error)
	explain      func(arguments []byte, f *mcp.Failure) (string, bool)
	// progress makes a tool with progress; report is never nil.
	progress func(ctx context.Context, report func(mcp.Sign)) ([]byte, error)
	// forwarded gets what is forwarded with each call; nil where nobody asks.
	forwarded chan<- []string
}

func (t *tool) Resource() string   { return "srv://system-api~test.v1.Service/" + t.name }
func (t *tool) ResultType() string { return "test.v1.Response" }
func (t *tool) Online() bool       { return !t.offline }

func (t *tool) Progress() bool           { return t.progress != nil }
func (t *tool) Capabilities() []string   { return t.capabilities }
func (t *tool) Headers() []schema.Header { return t.headers }
func (t *tool) AsksForHeaders() bool     { return true }

func (t *tool) Judge(arguments []byte) ([]byte, *mcp.Refusal, error) {
	if t.judge == nil {
		return slices.Clone(arguments), t.refusal, nil
	}
	request, err := t.judge(arguments)
	return request, t.refusal, err
}

func (t *tool) Dispatch(ctx context.Context, c *mcp.Call, report func(mcp.Sign)) (mem.Buffer, error) {
	if t.forwarded != nil {
		t.forwarded <- c.Forwarded
	}
	if t.progress != nil {
		if report == nil {
			report = func(mcp.Sign) {}
		}
		response, err := t.progress(ctx, report)
		return mem.SliceBuffer(response), err
	}
	if t.call == nil {
		return mem.SliceBuffer(c.Request), nil
	}
	response, err := t.call(ctx, c.Request)
	return mem.SliceBuffer(response), err
}

func (t *tool) AppendResult(dst, response []byte) ([]byte, bool, error) {
	if t.result != nil {
		return t.result(dst)
	}
	return append(dst, fmt.Sprintf(`"structuredContent":%s,"content":[{"type":"text","text":%q}]`, response, response)...), false, nil
}

func (t *tool) Explain(arguments []byte, f *mcp.Failure) (string, bool) {
	if t.explain != nil {
		return t.explain(arguments, f)
	}
	return "said with " + f.Code.String(), false
}

// catalog is a sorted list of tools.
type catalog []*tool

func (c catalog) Load() mcp.Snapshot {
	if c == nil {
		return nil
	}
	return c
}

func (c catalog) Page(_ *participantv1.Participant, d dialect.Dialect, after string, size int) (definitions []byte, next string) {
	count := 0
	for _, t := range c {
		if t.hidden || t.name <= after {
			continue
		}
		if count == size {
			return definitions, next
		}
		if count++; count > 1 {
			definitions = append(definitions, ',')
		}
		definition := `{"name":"` + t.name + `"}`
		if t.spelled {
			definition = `{"name":"` + t.name + `","dialect":"` + d.String() + `"}`
		}
		definitions = append(definitions, definition...)
		next = t.name
	}
	return definitions, ""
}

func (c catalog) Resolve(_ *participantv1.Participant, _ dialect.Dialect, name string) (mcp.Tool, bool) {
	i := slices.IndexFunc(c, func(t *tool) bool { return t.name == name && !t.hidden })
	if i < 0 {
		return nil, false
	}
	return c[i], true
}

// machine is the one machine that the double authenticator knows.
type machine struct{ id, secret string }

func (m machine) Authenticate(id, secret string, present bool) (*participantv1.Participant, error) {
	if !present || id != m.id || secret != m.secret {
		return nil, errors.New("unauthenticated")
	}
	return &participantv1.Participant{Kind: participantv1.Kind_KIND_SYSTEM, Id: id}, nil
}

// settlements collects what settled, and lets a test wait for it.
type settlements struct {
	mu   sync.Mutex
	all  []lifecycle.Settlement
	tell chan lifecycle.Settlement
}

func newSettlements() *settlements { return &settlements{tell: make(chan lifecycle.Settlement, 1024)} }

func (s *settlements) settled(_ context.Context, settlement *lifecycle.Settlement) {
	s.mu.Lock()
	s.all = append(s.all, *settlement)
	s.mu.Unlock()
	s.tell <- *settlement
}

// server is a handler behind a real HTTP server on loopback.
type server struct {
	*httptest.Server
	settlements *settlements
	log         *syncBuffer
}

func start(t *testing.T, tools catalog, change ...func(*mcp.Options)) *server {
	t.Helper()
	s := &server{settlements: newSettlements(), log: new(syncBuffer)}
	o := mcp.Options{
		Catalog:       tools,
		Authenticator: machine{"m-1", "secret"},
		Logger:        slog.New(slog.NewJSONHandler(s.log, nil)),
		Settled:       s.settlements.settled,
		Version:       "1.2.3",
	}
	for _, c := range change {
		c(&o)
	}
	h, err := mcp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// call is one request to make. Its zero value is a POST of JSON with valid credentials.
type call struct {
	method  string
	path    string // what follows the server's address
	host    string
	headers map[string]string // an empty value takes the header away
	body    string
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

func (s *server) do(t *testing.T, c call) reply {
	t.Helper()
	method := c.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = c.host
	headers := map[string]string{"Content-Type": "application/json", "clientId": "m-1", "clientSecret": "secret"}
	for name, value := range c.headers {
		headers[name] = value
	}
	for name, value := range headers {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

// syncBuffer is a log that a test may read while the server writes.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
