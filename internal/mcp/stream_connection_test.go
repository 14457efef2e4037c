package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// over serves a handler over one version of HTTP and gives its address with a client that speaks it.
func over(t *testing.T, version int, tools catalog, change ...func(*mcp.Options)) (*server, *http.Client) {
	t.Helper()
	s := start(t, tools, change...)
	s.Close()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(version == 1)
	protocols.SetUnencryptedHTTP2(version == 2)
	handler := s.Config.Handler
	s.Server = httptest.NewUnstartedServer(handler)
	s.Config.Protocols = protocols
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.Start()
	t.Cleanup(s.Close)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return s, &http.Client{Transport: transport}
}

// versions runs a test over HTTP/1 and over HTTP/2.
func versions(t *testing.T, test func(t *testing.T, version int)) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func (c call) request(ctx context.Context, t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Clientid": {"m-1"}, "Clientsecret": {"secret"}}
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	return r
}

// A sign is with the client before the next one is made.
func TestProgress_isNotHeldBack(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, version int) {
		next := make(chan struct{})
		s, client := over(t, version, catalog{{name: "a", progress: func(ctx context.Context, report func(mcp.Sign)) ([]byte, error) {
			for i := range 3 {
				report(mcp.Sign{Progress: float64(i)})
				select {
				case <-next:
				case <-ctx.Done():
				}
			}
			return []byte("{}"), nil
		}}}, eager)
		response, err := client.Do(listening("1").request(t.Context(), t, s.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		lines := bufio.NewReader(response.Body)
		for i := range 4 {
			frame := ""
			for !strings.HasSuffix(frame, "\n\n") || frame == ":\n\n" {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				frame = strings.TrimPrefix(frame, ":\n\n") + line
			}
			if i < 3 {
				next <- struct{}{}
			}
		}
		if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
			t.Errorf("after the result: %q, %v", rest, err)
		}
	})
}

// A client that leaves ends the call, in whatever phase of it, and the request settles as cancelled.
func TestProgress_endsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, version int) {
		for _, signs := range []int{0, 1, 5} {
			t.Run(fmt.Sprintf("after %d signs", signs), func(t *testing.T) {
				t.Parallel()
				running, ended := make(chan struct{}), make(chan error, 1)
				s, client := over(t, version, catalog{{name: "a", progress: func(ctx context.Context, report func(mcp.Sign)) ([]byte, error) {
					for i := range signs {
						report(mcp.Sign{Progress: float64(i)})
					}
					close(running)
					<-ctx.Done()
					ended <- ctx.Err()
					report(mcp.Sign{Progress: 100})
					return nil, &mcp.Failure{Code: codes.Canceled}
				}}})
				ctx, leave := context.WithCancel(t.Context())
				go func() { <-running; leave() }()
				if response, err := client.Do(listening("1").request(ctx, t, s.URL)); err == nil {
					_, err = io.ReadAll(response.Body)
					response.Body.Close()
					if err == nil {
						t.Error("the client got an answer")
					}
				}
				if err := receive(t, ended); !errors.Is(err, context.Canceled) {
					t.Errorf("the call ended with %v", err)
				}
				if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.Cancelled || settled.Class != lifecycle.Transport {
					t.Errorf("settled as %+v", settled)
				}
				if strings.Contains(s.log.String(), "ERROR") {
					t.Errorf("log: %s", s.log)
				}
			})
		}
	})
}

// A client that keeps its connection and reads nothing ends the call when the time for a write is over.
func TestProgress_endsWhenTheClientDoesNotRead(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, version int) {
		ended := make(chan error, 1)
		s, client := over(t, version, catalog{{name: "a", progress: func(ctx context.Context, report func(mcp.Sign)) ([]byte, error) {
			for i := 0; ctx.Err() == nil; i++ {
				report(mcp.Sign{Progress: float64(i), Message: strings.Repeat("m", 1<<20)})
			}
			ended <- ctx.Err()
			return nil, &mcp.Failure{Code: codes.Canceled}
		}}}, eager, func(o *mcp.Options) { o.WriteTimeout = 100 * time.Millisecond })
		response, err := client.Do(listening("1").request(t.Context(), t, s.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := receive(t, ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.Cancelled || settled.Class != lifecycle.Transport {
			t.Errorf("settled as %+v", settled)
		}
	})
}

// So does a client that does not read a large result.
func TestAnswer_endsWhenTheClientDoesNotRead(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", 32<<20) + `"`
	versions(t, func(t *testing.T, version int) {
		s, client := over(t, version, catalog{{name: "a", result: func(dst []byte) ([]byte, bool, error) {
			return append(dst, large...), false, nil
		}}}, func(o *mcp.Options) { o.WriteTimeout = 100 * time.Millisecond })
		response, err := client.Do(call{body: callA}.request(t.Context(), t, s.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.Cancelled || settled.Class != lifecycle.Transport {
			t.Errorf("settled as %+v", settled)
		}
		if got, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%d bytes arrived whole", len(got))
		}
	})
}

// A connection serves on after streams and large results, and streams of one connection do not mix.
func TestProgress_leavesTheConnectionUsable(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, version int) {
		s, client := over(t, version, catalog{{name: "a", progress: func(_ context.Context, report func(mcp.Sign)) ([]byte, error) {
			for i := range 20 {
				report(mcp.Sign{Progress: float64(i), Message: strings.Repeat("m", 1000)})
			}
			return []byte(`"` + strings.Repeat("x", 200<<10) + `"`), nil
		}}}, eager)
		opened := make(chan net.Conn, 100)
		client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			opened <- c
			return c, err
		}
		once := func(token string) {
			response, err := client.Do(listening(token).request(t.Context(), t, s.URL))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || strings.Count(string(body), "event: message\ndata: ") != 21 || strings.Count(string(body), `"progressToken":`+token+`,`) != 20 {
				t.Errorf("got %d bytes, %v", len(body), err)
			}
		}
		for range 3 {
			once("0")
		}
		if len(opened) != 1 {
			t.Errorf("%d connections", len(opened))
		}
		var clients sync.WaitGroup
		for i := range 8 {
			clients.Go(func() { once(fmt.Sprint(i + 1)) })
		}
		clients.Wait()
		if version == 2 && len(opened) != 1 {
			t.Errorf("%d connections", len(opened))
		}
	})
}

// A writer that can neither flush nor bear deadlines gets the same bytes.
func TestProgress_worksWithoutFlushing(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{stepping("{}", mcp.Sign{Progress: 1}, mcp.Sign{Progress: 2})}, eager)
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(struct{ http.ResponseWriter }{w}, listening("1").request(t.Context(), t, "/mcp"))
	all := frames(t, w.Body.String())
	if len(all) != 3 || all[1] != notification("1", `"progress":2`) || all[2] != plainResult || w.Flushed {
		t.Errorf("got %q", all)
	}
}
