package edge_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/participant"
)

// What a rule does not permit is not listed, and as unknown as a tool that does not exist. Arguments that it does not
// permit are refused in words, in every spelling of them, and nothing is called.
func TestAccess_overHTTP(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "p")
	h.registerService(p, "system-api", ruleService)
	speaker, other := h.machine(participant.System("speaker")), h.machine(participant.System("other"))
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(speaker), []string{"nod", "repeat", "whisper"}) })
	if got := h.list(other); !slices.Equal(got, []string{"nod", "repeat"}) {
		t.Errorf("the other is listed %q", got)
	}
	const said = `"word":"hi"`
	unknown := h.call(other, "nonsense", `{}`)
	for _, name := range []string{"whisper", contract.ToolName(contract.QualifiedName("system-api", ruleService), "Whisper")} {
		if got := h.call(other, name, `{"word":"hi"}`); got != unknown || !strings.Contains(got, "Unknown tool.") {
			t.Errorf("%s: %s", name, got)
		}
		if got := h.call(speaker, name, `{"word":"hi"}`); !strings.Contains(got, `"servedBy":"p"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for len(p.calls) > 0 {
		<-p.calls
	}
	for _, row := range []struct {
		dialect, tool, arguments string
		permitted                bool
	}{
		{"canonical", "repeat", `{"word":"hi","times":2}`, true},
		{"canonical", "repeat", `{"word":"hi","times":3}`, false},
		{"canonical", "repeat", `{"word":"hi","times":3.0}`, false},
		{"canonical", "repeat", `{"word":"hi"}`, false}, // there is nothing to be less than 3
		{"canonical", "nod", `{"times":1}`, true},
		{"canonical", "nod", `{"word":"x"}`, false},
		{"openai_strict", "nod", `{"word":null,"times":1}`, true},
		{"openai_strict", "nod", `{"word":"x","times":null}`, false},
		{"openai_strict", "repeat", `{"word":"hi","times":2}`, true},
		{"openai_strict", "repeat", `{"word":"hi","times":7}`, false},
	} {
		_, body := h.post(other, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+row.tool+`","arguments":`+row.arguments+
			`,"_meta":{"dev.sallyport/dialect":"`+row.dialect+`"}}}`)
		refused := strings.Contains(body, "The access rule of this tool does not permit this call with these arguments.")
		if refused == row.permitted || refused != strings.Contains(body, `"dev.sallyport/correctable":false`) || (len(p.calls) == 1) != row.permitted {
			t.Errorf("%s %s in %s: %s, and %d calls", row.tool, row.arguments, row.dialect, body, len(p.calls))
		}
		if row.permitted && len(p.calls) > 0 {
			<-p.calls
		}
	}
	h.settle(func() bool { return strings.Contains(h.log.String(), `"AUTHORIZATION"`) })
	if strings.Contains(h.log.String(), said) {
		t.Error("arguments are in the log")
	}
	if strings.Contains(h.log.String(), "second door") {
		t.Error("the doors disagree")
	}
}

func TestAccess_anonymousOnly(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "p")
	anonymous := func(c *configv1.EdgeConfig) { c.AnonymousOnly, c.AnonymousZones = true, []string{"app-api"} }
	t.Run("what comes later is hidden and reported", func(t *testing.T) {
		h := h
		h.startEdge(anonymous)
		receive(t, h.edge.Ready())
		i := h.registerService(p, "app-api", ruleService)
		h.wait("the tools are reported", func() bool { return strings.Count(h.log.String(), "authenticates nobody") == 3 })
		if len(h.edge.Failed()) != 0 {
			t.Error("the edge has failed")
		}
		i.die()
	})
	t.Run("what is there at the start fails it", func(t *testing.T) {
		h.registerService(p, "app-api", ruleService)
		h.startEdge(anonymous)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		err = edge.Serve(t.Context(), l, h.edge, nil, discard)
		if err == nil || !strings.Contains(err.Error(), "anonymous_only") || !strings.Contains(err.Error(), "srv://app-api~probe.v1.RuleService/Whisper") {
			t.Errorf("serving ended with %v", err)
		}
		if got := h.get("/readyz"); !strings.HasPrefix(got, "503") {
			t.Errorf("it is ready: %s", got)
		}
		if status, body := h.post(credentials{}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != http.StatusServiceUnavailable {
			t.Errorf("it answers %d %s", status, body)
		}
		select {
		case <-h.edge.Ready():
			t.Error("it says that it is ready")
		default:
		}
	})
}
