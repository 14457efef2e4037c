package boundary_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The conversations of clients of the older legacy versions are recorded once, and committed. To record them anew:
//
//	go test ./test/boundary -run TestProtocol_conversations -record
//
// That runs the Go SDK's client, pinned to the version, against an edge behind a proxy that keeps the bytes of each
// request. Only what differs from run to run is taken out: the address and the credentials.
var record = flag.Bool("record", false, "record the conversations of real clients anew")

func conversationFile(version string) string {
	return "testdata/conversations/go-sdk-1.8.0-" + version + ".http"
}

// recorder is a proxy in front of an edge that writes down what a client sends.
type recorder struct {
	to       string
	listener net.Listener
	mu       sync.Mutex
	requests []byte
	running  sync.WaitGroup
}

func startRecorder(t *testing.T, to string) *recorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{to: to, listener: l}
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.running.Add(1)
			go func() {
				defer r.running.Done()
				defer conn.Close()
				if err := r.relay(conn); err != nil {
					t.Errorf("relay: %v", err)
				}
			}()
		}
	}()
	return r
}

// relay carries one connection, whose client sends a request after it has the answer to the one before.
func (r *recorder) relay(client net.Conn) error {
	edge, err := net.Dial("tcp", r.to)
	if err != nil {
		return err
	}
	defer edge.Close()
	var raw bytes.Buffer
	in, out := bufio.NewReader(io.TeeReader(client, &raw)), bufio.NewReader(edge)
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return nil //nolint:nilerr // the client hung up
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return err
		}
		r.mu.Lock()
		r.requests = append(r.requests, raw.Bytes()...)
		r.mu.Unlock()
		// To the edge it goes as it came, but for the host that the edge expects.
		forwarded := strings.Replace(raw.String(), "Host: "+r.listener.Addr().String(), "Host: "+r.to, 1)
		raw.Reset()
		if _, err := io.WriteString(edge, forwarded); err != nil {
			return err
		}
		answer, err := http.ReadResponse(out, request)
		if err != nil {
			return err
		}
		if err := answer.Write(client); err != nil {
			return nil //nolint:nilerr // the client hung up
		}
	}
}

// machineHeaders sends a machine's credentials.
type machineHeaders struct {
	credentials
	base *http.Transport
}

func (m machineHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("clientId", m.id)
	r.Header.Set("clientSecret", m.secret)
	return m.base.RoundTrip(r)
}

// recordConversation has the Go SDK say everything that the replay looks for.
func (c *counter) recordConversation(t *testing.T, version string) {
	t.Helper()
	r := startRecorder(t, c.address)
	transport := &http.Transport{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "recorded", Title: "Recorded", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + r.listener.Addr().String() + "/mcp", HTTPClient: &http.Client{Transport: machineHeaders{c.caller, transport}}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		t.Log("listed", tool.Name)
	}
	call := func(name string, arguments any, token any) {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		if token != nil {
			params.SetProgressToken(token)
		}
		result, err := session.CallTool(ctx, params)
		t.Log("called", name, result, err)
	}
	call("greet", map[string]any{"name": "Ada"}, nil)
	call("greet", map[string]any{"name": 7}, nil)
	call("nosuch", map[string]any{}, nil)
	call("count", nil, "token")
	call("nothing", map[string]any{}, 7)
	call("blocks", map[string]any{}, nil)
	// A call that is given up. The proxy does not tell the edge that its caller left.
	arrived, over := make(chan struct{}), make(chan struct{})
	c.witness.answer(protocolService+"Author", func(context.Context, *seen) ([]byte, error) {
		close(arrived)
		<-over
		return nil, nil
	})
	giveUp, abort := context.WithCancel(ctx)
	go func() {
		<-arrived
		abort()
	}()
	_, err = session.CallTool(giveUp, &mcp.CallToolParams{Name: "author"})
	close(over)
	if err == nil {
		t.Error("a call that was given up has a result")
	}
	if _, err := session.ListResources(ctx, nil); err == nil {
		t.Error("there are resources")
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	transport.CloseIdleConnections()
	_ = r.listener.Close()
	r.running.Wait()
	text := strings.NewReplacer(r.listener.Addr().String(), "$HOST", c.caller.id, "$CLIENT", c.caller.secret, "$SECRET").Replace(string(r.requests))
	if err := os.WriteFile(conversationFile(version), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
