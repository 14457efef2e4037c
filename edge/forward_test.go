package edge_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
)

// callWith calls a tool with these headers beside the usual ones.
func (h *house) callWith(c credentials, name string, headers map[string][]string) (status int, answer string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":{}}}`))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Clientid": {c.id}, "Clientsecret": {c.secret}}
	for name, values := range headers {
		for _, value := range values {
			r.Header.Add(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// forged are headers by which a caller might try to be somebody else to a service.
var forged = map[string][]string{
	"sallyport-participant-bin":               {"CAE"},
	"sallyport-assertion":                     {"forged"},
	"sallyport-anything":                      {"forged"},
	"Grpc-Metadata-Sallyport-Participant-Bin": {"CAE"},
	"Grpc-Metadata-Sallyport-Assertion":       {"forged"},
	"grpc-timeout":                            {"1n"},
	"x-anything-bin":                          {"CAE"},
	"te":                                      {"trailers"},
	"user-agent":                              {"forged"},
	"cookie":                                  {"a=forged"},
	"organizationId":                          {"forged"},
	"x-other":                                 {"forged"},
}

// What a service hears of a caller's headers is what is on the list, and nothing else.
func TestForwarded_onlyWhatIsOnTheList(t *testing.T) {
	h := newHouse(t, func(c *configv1.EdgeConfig) { c.ForwardedHeaders = []string{"X-Tenant", "traceparent"} })
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })

	for _, row := range []struct {
		name    string
		headers map[string][]string
		want    map[string][]string
	}{
		{"none", nil, nil},
		{"what is on the list", map[string][]string{"x-tenant": {"acme"}, "TraceParent": {"00-1-2-01"}},
			map[string][]string{"x-tenant": {"acme"}, "traceparent": {"00-1-2-01"}}},
		{"several values", map[string][]string{"x-tenant": {"acme", "", "b, c"}}, map[string][]string{"x-tenant": {"acme", "", "b, c"}}},
		{"none again", nil, nil},
	} {
		headers := map[string][]string{}
		for _, from := range []map[string][]string{forged, row.headers} {
			for name, values := range from {
				headers[name] = values
			}
		}
		if status, body := h.callWith(caller, "say", headers); status != http.StatusOK || strings.Contains(body, "isError") {
			t.Fatalf("%s: %d %s", row.name, status, body)
		}
		md := receive(t, p.calls)
		for name, values := range md {
			switch name {
			case ":authority", "content-type", "user-agent", "grpc-accept-encoding", assertion.ParticipantKey, assertion.AssertionKey:
				if len(values) != 1 || strings.Contains(values[0], "forged") {
					t.Errorf("%s: %s is %q", row.name, name, values)
				}
			case "x-tenant", "traceparent":
			default:
				t.Errorf("%s: %s goes along: %q", row.name, name, values)
			}
		}
		for _, name := range []string{"x-tenant", "traceparent"} {
			if got := md.Get(name); !slices.Equal(got, row.want[name]) {
				t.Errorf("%s: %s is %q, want %q", row.name, name, got, row.want[name])
			}
		}
		who := new(participant.Participant)
		if err := proto.Unmarshal([]byte(md.Get(assertion.ParticipantKey)[0]), who); err != nil || who.GetId() != "tester" {
			t.Errorf("%s: the participant is %v, %v", row.name, who, err)
		}
	}

	// What cannot be carried stops the call: the service might do something else without it.
	for _, value := range []string{"ä", "a\tb", strings.Repeat("x", 4096)} {
		status, body := h.callWith(caller, "say", map[string][]string{"x-tenant": {value}})
		if status != http.StatusBadRequest || !strings.Contains(body, "The header x-tenant cannot be passed on") {
			t.Errorf("%.10q: %d %s", value, status, body)
		}
	}
	if len(p.calls) != 0 {
		t.Errorf("the service was called with %v", <-p.calls)
	}
	if status, body := h.callWith(caller, "deny", map[string][]string{"x-tenant": {"ä"}}); !strings.Contains(body, "Unknown tool.") {
		t.Errorf("a denied tool: %d %s", status, body)
	}
}

func TestForwarded_nothingByItself(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })
	h.callWith(caller, "say", forged)
	for name, values := range receive(t, p.calls) {
		switch name {
		case ":authority", "content-type", "user-agent", "grpc-accept-encoding", assertion.ParticipantKey, assertion.AssertionKey:
			if strings.Contains(strings.Join(values, " "), "forged") {
				t.Errorf("%s is %q", name, values)
			}
		default:
			t.Errorf("%s goes along: %q", name, values)
		}
	}
}
