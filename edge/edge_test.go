package edge_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// published are the names under which the probe's tools are listed: all but the denied one.
var published = []string{"fail", "late", "say", "wait"}

func TestEdge_listsAndCallsARealService(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })

	got := h.call(caller, "say", `{"word":"hello"}`)
	want := `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"word":"hello","servedBy":"one","participantId":""},` +
		`"content":[{"type":"text","text":"{\"word\":\"hello\",\"servedBy\":\"one\",\"participantId\":\"\"}"}],"_meta":{"dev.sallyport/type":"probe.v1.SayResponse"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	t.Run("the hashed name works as well", func(t *testing.T) {
		hash := contract.ToolName("system-api~"+probeService, "Say")
		if again := h.call(caller, hash, `{"word":"hello"}`); again != want {
			t.Errorf("got %s", again)
		}
	})

	t.Run("the service can verify who calls", func(t *testing.T) {
		var token string
		for len(p.calls) > 0 {
			md := <-p.calls
			token = md.Get(assertion.AssertionKey)[0]
		}
		keys := make(chan *registry.View, 1)
		w := h.store.Watch(t.Context(), registry.WatchOptions{OnChange: func(v *registry.View) {
			select {
			case keys <- v:
			default:
			}
		}})
		defer w.Close()
		stored := (<-keys).AssertionKeys[0]
		public, err := assertion.EncodeKey(stored.GetKid(), stored.GetSeed())
		if err != nil {
			t.Fatal(err)
		}
		key, err := assertion.DecodeKey(public)
		if err != nil {
			t.Fatal(err)
		}
		verifier := assertion.NewVerifier(assertion.Keys{stored.GetKid(): key}, time.Now)
		who, err := verifier.Verify(t.Context(), token, "/probe.v1.ProbeService/Say", "system-api~"+probeService)
		if err != nil {
			t.Fatal(err)
		}
		if who.GetId() != "tester" {
			t.Errorf("the service was told of %v", who)
		}
	})

	t.Run("the gate's refusal", func(t *testing.T) {
		body := h.call(caller, "say", `{"word":7,"canary":"canary"}`)
		if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `"_meta":{"dev.sallyport/correctable":true}`) ||
			!strings.Contains(body, "word") || strings.Contains(body, "canary") {
			t.Errorf("got %s", body)
		}
	})

	t.Run("denied like unknown", func(t *testing.T) {
		if denied, unknown := h.call(caller, "deny", `{}`), h.call(caller, "nobody", `{}`); denied != unknown {
			t.Errorf("denied  %s\nunknown %s", denied, unknown)
		}
	})
}

func TestEdge_answersEveryCodeOfTheServiceWithoutItsWords(t *testing.T) {
	h := newHouse(t)
	h.register(startProbe(t, "one"), "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) > 0 })
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		t.Run(code.String(), func(t *testing.T) {
			body := h.call(caller, "fail", fmt.Sprintf(`{"code":%d,"message":"canary"}`, code))
			if !strings.Contains(body, `"isError":true`) || strings.Contains(body, "canary") {
				t.Errorf("got %s", body)
			}
			executed := strings.Contains(body, `"_meta":{"dev.sallyport/executed":"unknown"}`)
			if want := code == codes.Canceled || code == codes.DeadlineExceeded || code == codes.Unavailable; executed != want {
				t.Errorf("executed in %s", body)
			}
		})
	}
	if strings.Contains(h.log.String(), "canary") {
		t.Errorf("log: %s", h.log)
	}
}

// The rows are access.md, "Zones": who sees and calls what is in which zone.
func TestEdge_showsAndServesOnlyWhatTheCallerReaches(t *testing.T) {
	zones := []string{"", "app-api", "management-api", "system-api", "app.acme.orders", "app.acme.orders.billing",
		"app.acme.orders-2", "app.other.orders"}
	application := []string{"app-api", "app.acme.orders", "app.acme.orders.billing"}
	organization := []string{"management-api", "app-api"}
	tests := []struct {
		name      string
		caller    *participant.Participant // nil sends no credentials
		configure func(*configv1.EdgeConfig)
		reaches   []string
	}{
		{"system", participant.System("s"), nil, zones},
		{"organization", participant.Organization("acme", "o"), nil, organization},
		{"organization with its applications", participant.Organization("acme", "o"),
			func(c *configv1.EdgeConfig) { c.OrganizationsReachTheirApplications = true },
			append(slices.Clone(organization), "app.acme.orders", "app.acme.orders.billing", "app.acme.orders-2")},
		{"application", participant.Application("acme", "orders", "a"), nil, application},
		{"anonymous", nil, func(c *configv1.EdgeConfig) { c.AnonymousZones = []string{"app-api", "app.acme.orders"} }, application},
		{"system at a narrowed edge", participant.System("s"),
			func(c *configv1.EdgeConfig) { c.ServesZones = []string{"app.acme.orders"} },
			[]string{"app.acme.orders", "app.acme.orders.billing"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := startProbe(t, "one")
			// In the zones of tenants loopback may be dialled only at a port that is named.
			configure := []func(*configv1.EdgeConfig){func(c *configv1.EdgeConfig) {
				c.Addresses = []*configv1.ZoneAddresses{
					{Zone: "*", Ranges: []string{"127.0.0.1/32"}, Ports: []uint32{p.port()}},
					{Zone: "", Ranges: []string{"127.0.0.1/32"}, Ports: []uint32{p.port()}},
				}
			}}
			if test.configure != nil {
				configure = append(configure, test.configure)
			}
			h := newHouse(t, configure...)
			for _, zone := range zones {
				h.registerService(p, zone, plainService)
			}
			hash := func(zone string) string {
				return contract.ToolName(contract.QualifiedName(zone, plainService), "Say")
			}
			var caller credentials
			if test.caller != nil {
				caller = h.machine(test.caller)
			}
			h.wait("everything reached is listed", func() bool { return len(h.list(caller)) >= len(test.reaches) })
			var want []string
			for _, zone := range test.reaches {
				want = append(want, hash(zone))
			}
			slices.Sort(want)
			if got := h.list(caller); !slices.Equal(got, want) {
				t.Errorf("listed %v, want %v", got, want)
			}
			unknown := h.call(caller, "nobody", `{}`)
			for _, zone := range zones {
				got := h.call(caller, hash(zone), `{"word":"x"}`)
				if slices.Contains(test.reaches, zone) {
					if !strings.Contains(got, `"word":"x"`) {
						t.Errorf("zone %q: %s", zone, got)
					}
				} else if got != unknown {
					t.Errorf("zone %q is not hidden: %s", zone, got)
				}
			}
		})
	}
}

func TestEdge_cancelsTheCallWhenTheClientLeaves(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) > 0 })
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-p.running
		leave()
	}()
	h.postFrom(ctx, caller, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
	if err := receive(t, p.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the service's call ended with %v", err)
	}
}

func TestEdge_endsACallAtItsDeadline(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) > 0 })
	body := h.call(caller, "late", `{}`)
	if !strings.Contains(body, "did not answer in time") || !strings.Contains(body, `"dev.sallyport/executed":"unknown"`) {
		t.Errorf("got %s", body)
	}
	receive(t, p.ended)
}

func TestServe_letsRunningRequestsEnd(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) > 0 })

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- edge.Serve(ctx, l, h.edge, nil, discard) }()
	behind := *h
	behind.url = "http://" + l.Addr().String()
	answered := make(chan string, 1)
	go func() { answered <- behind.call(caller, "wait", `{}`) }()
	receive(t, p.running)
	stop()
	// The listener is closed before the running request ends: nobody new gets in.
	for {
		conn, err := net.DialTimeout("tcp", l.Addr().String(), patience)
		if err != nil {
			break
		}
		conn.Close()
	}
	select {
	case err := <-served:
		t.Fatalf("stopped with a request running: %v", err)
	default:
	}
	close(p.release)
	if body := receive(t, answered); !strings.Contains(body, `"servedBy":"one"`) {
		t.Errorf("the running request got %s", body)
	}
	if err := receive(t, served); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestServe_speaksHTTP2InTheClear(t *testing.T) {
	h := newHouse(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- edge.Serve(ctx, l, h.edge, nil, discard) }()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: transport}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		t.Errorf("%s %s", response.Proto, response.Status)
	}
	transport.CloseIdleConnections()
	stop()
	if err := receive(t, served); err != nil {
		t.Error(err)
	}
}

func TestEdge_logsOneLineForEachRequest(t *testing.T) {
	h := newHouse(t)
	h.register(startProbe(t, "one"), "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) > 0 })
	before := strings.Count(h.log.String(), `"msg":"request settled"`)
	h.call(caller, "say", `{"word":"canary"}`)
	h.call(credentials{caller.id, "canary"}, "canary", `{"word":"canary"}`)
	h.call(caller, "canary", `{"canary":"canary"}`)
	h.call(caller, "say", `{"canary":"canary"}`)
	// A line is written after the answer: the next answer on this edge comes after it.
	var lines []string
	h.settle(func() bool {
		lines = nil
		for line := range strings.Lines(h.log.String()) {
			if strings.Contains(line, `"msg":"request settled"`) {
				lines = append(lines, line)
			}
		}
		return len(lines) >= before+4
	})
	for i, want := range [][]string{
		{`"outcome":"SUCCESS"`, `"tool":"srv://system-api~probe.v1.ProbeService/Say"`, `"method":"tools/call"`, `"id":"tester"`, `"status":200`, `"duration":`},
		{`"outcome":"REJECTED"`, `"class":"AUTHENTICATION"`, `"status":401`},
		{`"outcome":"REJECTED"`, `"class":"AUTHORIZATION"`, `"status":200`},
		{`"outcome":"TOOL_ERROR"`, `"class":"INPUT_VALIDATION"`},
	} {
		for _, part := range want {
			if !strings.Contains(lines[before+i], part) {
				t.Errorf("line %d has no %s: %s", i, part, lines[before+i])
			}
		}
	}
	if strings.Contains(h.log.String(), "canary") {
		t.Errorf("a value of the caller is in the log: %s", h.log)
	}
}

func TestEdge_servesHealthAndMetrics(t *testing.T) {
	h := newHouse(t)
	caller := h.system()
	h.list(caller)
	for path, want := range map[string]string{"/healthz": "200 ok\n", "/readyz": "200 fresh\n"} {
		if got := h.get(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, want := range []string{`sallyport_edge_requests_total{class="NONE",method="tools/list",outcome="SUCCESS"} `,
		"sallyport_edge_snapshot_stale 0", "sallyport_edge_snapshot_timestamp_seconds 1.", "sallyport_edge_request_duration_seconds_bucket"} {
		h.settle(func() bool { return strings.Contains(h.get("/metrics"), want) })
	}
	for _, path := range []string{"/canary", "//canary", "/mcp/", "/mcp/../canary", "/canary/../mcp", "/%6detrics", "/metric%73"} {
		if got := h.get(path); got != "404 not found\n" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := h.get("/mcp"); !strings.HasPrefix(got, "405") {
		t.Errorf("GET /mcp: %s", got)
	}
}

func TestNew_namesWhatIsWrongWithTheConfiguration(t *testing.T) {
	h := newHouse(t)
	for _, test := range []struct {
		name   string
		change func(*configv1.EdgeConfig)
		want   string
	}{
		{"unknown profile", func(c *configv1.EdgeConfig) { c.JsonProfile = "protojsn" }, "json_profile"},
		{"anonymous zone", func(c *configv1.EdgeConfig) { c.AnonymousZones = []string{"App"} }, "anonymous"},
		{"served zone", func(c *configv1.EdgeConfig) { c.ServesZones = []string{"a..b"} }, "serves_zones"},
		{"origin", func(c *configv1.EdgeConfig) { c.AllowedOrigins = []string{"example.com"} }, "origin"},
		{"base URL", func(c *configv1.EdgeConfig) { c.BaseUrl = "example.com" }, "base URL"},
		{"address range", func(c *configv1.EdgeConfig) { c.Addresses[0].Ranges = []string{"10.0.0.0"} }, "10.0.0.0"},
		{"broken rule", func(c *configv1.EdgeConfig) { c.PageSize = -1 }, "page_size"},
		{"requests in flight", func(c *configv1.EdgeConfig) { c.MaxRequestsInFlight = -1 }, "max_requests_in_flight"},
		{"calls of a participant", func(c *configv1.EdgeConfig) { c.MaxCallsPerParticipant = -1 }, "max_calls_per_participant"},
		{"rate", func(c *configv1.EdgeConfig) { c.CallRate = &configv1.CallRate{} }, "call_rate.per_second"},
		{"audit log", func(c *configv1.EdgeConfig) { c.AuditLog = &configv1.AuditLog{Path: "/dev/null/audit.log"} }, "audit_log.path"},
		{"forwarded header", func(c *configv1.EdgeConfig) { c.ForwardedHeaders = []string{"Authorization"} },
			`forwarded_headers[0]: "Authorization" cannot be forwarded: it carries the caller's credentials`},
		{"forwarded name", func(c *configv1.EdgeConfig) { c.ForwardedHeaders = []string{":path"} }, "forwarded_headers[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := defaults()
			test.change(cfg)
			e, err := edge.New(t.Context(), edge.WithConfig(cfg), edge.WithEtcd(h.etcd.Client(), ""))
			if err == nil {
				e.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not name %q", err, test.want)
			}
		})
	}
	t.Run("no etcd", func(t *testing.T) {
		if e, err := edge.New(t.Context()); err == nil {
			e.Close()
			t.Error("no error")
		}
	})
}

// receive takes one value, with a bound.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %s in vain", patience)
		panic("unreachable")
	}
}

var _ http.Handler = (*edge.Edge)(nil)
