package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// inspector are the eras of the Inspector's command line. A process of it takes more than a second, and makes one call;
// so each era makes one call that fails, and one calls besides what the others do not.
var inspector = []struct {
	mode
	calls []call
	kill  bool
}{
	{mode: mode{name: "modern", ask: "modern", version: version20260728}, calls: calls[4:]},
	{mode: mode{name: "legacy", ask: "legacy", version: version20251125}, calls: calls[3:], kill: true},
	{mode: mode{name: "auto", ask: "auto", version: version20260728}, calls: calls[3:4]},
}

// The exit codes of the Inspector's command line (mcp-protocol.md 6.3).
const (
	exitFine      = 0
	exitToolError = 5
)

func testInspector(t *testing.T, h *house) {
	stack.NeedNode(t)
	for _, m := range inspector {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			i := &inspectorRun{tap: newTap(t, h), home: t.TempDir(), mode: m.mode}
			key := keys("inspector", m.mode)
			var listed struct{ Tools []tool }
			i.run(t, exitFine, &listed, "--method", "tools/list")
			checkTitles(t, listed.Tools)
			i.names = map[string]string{}
			for _, tool := range listed.Tools {
				i.names[tool.Title] = tool.Name
			}

			for _, c := range m.calls {
				var r result
				i.run(t, exitToolError, &r, i.call(c.Title, c.Arguments)...)
				checkCall(t, c, r)
			}

			// With a token the edge streams, and the Inspector finds the result behind the notifications.
			go func() {
				if until(t.Context(), h.visit(key["count"]).begun) == nil {
					h.tell(key["count"])
				}
			}()
			var counted result
			i.run(t, exitFine, &counted, append(i.call("Workshop Count", arguments(key["count"])), "--tool-metadata", "progressToken=aloud")...)
			if want := `{"key":"` + key["count"] + `","told":true}`; string(counted.StructuredContent) != want {
				t.Errorf("Count gave %s (%+v), want %s", counted.StructuredContent, counted.Content, want)
			}
			h.wantEnd(t, key["count"], endedTold)

			if m.kill {
				i.kill(t, h, key["closing"])
				h.wantEnd(t, key["closing"], endedCanceled)
			}
			checkExchanges(t, m.mode, &report{Tools: listed.Tools, Exchanges: i.tap.all()})
		})
	}
}

func arguments(key string) json.RawMessage { return json.RawMessage(`{"key":"` + key + `"}`) }

// inspectorRun runs the Inspector's command line, which makes one call and ends.
type inspectorRun struct {
	mode  mode
	tap   *tap
	home  string
	names map[string]string
}

func (i *inspectorRun) call(title string, arguments json.RawMessage) []string {
	return []string{"--method", "tools/call", "--tool-name", i.names[title], "--tool-args-json", string(arguments)}
}

func (i *inspectorRun) command(ctx context.Context, args ...string) *exec.Cmd {
	machine := i.tap.wire.machine
	cmd := exec.CommandContext(ctx, "node", append([]string{
		filepath.Join("node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"),
		"--cli", i.tap.url, "--transport", "http", "--protocol-era", i.mode.ask, "--format", "json", "-q",
		"--connect-timeout", "60000",
		"--header", "clientId: " + machine.ClientID, "--header", "clientSecret: " + machine.ClientSecret,
	}, args...)...)
	cmd.Dir = filepath.Join(stack.Root(), "tools")
	// It keeps files in its user's home.
	cmd.Env = append(os.Environ(), "HOME="+i.home)
	return cmd
}

// run runs a command to its end, wants an exit code, and reads the result.
func (i *inspectorRun) run(t *testing.T, exit int, into any, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	defer cancel()
	cmd := i.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit {
		t.Fatalf("inspector %q ended with %d, want %d\n%s%s", args, got, exit, out, stderr.String())
	}
	var printed struct{ Result json.RawMessage }
	if err := json.Unmarshal(out, &printed); err != nil {
		t.Fatalf("inspector %q printed %s: %v", args, out, err)
	}
	if err := json.Unmarshal(printed.Result, into); err != nil {
		t.Fatalf("inspector %q printed %s: %v", args, out, err)
	}
}

// kill ends the Inspector's process while its call runs.
func (i *inspectorRun) kill(t *testing.T, h *house, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	defer cancel()
	cmd := i.command(ctx, i.call("Workshop Wait", arguments(key))...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := until(ctx, h.visit(key).begun); err != nil {
		t.Errorf("inspector: the call did not begin within %v", stack.Patience)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// tap is a reverse proxy before the edge that notes what passes, since the Inspector does not say which version it
// negotiated.
type tap struct {
	*wire
	url string
}

func newTap(t *testing.T, h *house) *tap {
	t.Helper()
	target, err := url.Parse(h.MCPURL)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{machine: h.Machines.Application, base: &http.Transport{}}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		},
		Transport:     w,
		FlushInterval: -1,
		ErrorHandler: func(rw http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				t.Errorf("tap: %v", err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			rw.WriteHeader(http.StatusBadGateway)
		},
	})
	t.Cleanup(func() {
		server.Close()
		w.base.CloseIdleConnections()
	})
	return &tap{w, server.URL + target.Path}
}
