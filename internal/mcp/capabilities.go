package mcp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// checkCapabilities refuses a call of a tool that needs more of its client than the client states.
//
// In the modern era each request states the client's capabilities. In the legacy era they were told in `initialize`,
// which a stateless server does not remember, so that such a tool cannot be called.
func (x *exchange) checkCapabilities(needed []string) *answer {
	if !x.era.routed {
		return x.toolError(statelessText(needed), metaExecuted, executedNo, lifecycle.Capability)
	}
	stated := x.message.params.meta.clientCapabilities
	if !slices.ContainsFunc(needed, func(name string) bool { return !states(stated, name) }) {
		return nil
	}
	a := x.fail(&problem{
		code:    codeMissingCapability,
		message: "The tool needs capabilities that the client does not state.",
		data:    append(appendTree([]byte(`{"requiredCapabilities":`), needed), '}'),
	}, lifecycle.Capability)
	a.status = http.StatusBadRequest
	return a
}

// states says whether capabilities hold a dotted name, level by level, each an object. A client that states
// `elicitation` without saying more states its form mode (MCP, "Elicitation", capabilities).
func states(capabilities jsontext.Value, name string) bool {
	path := strings.Split(name, ".")
	if find(capabilities, path).Kind() == '{' {
		return true
	}
	return name == "elicitation.form" && isEmptyObject(find(capabilities, path[:1]))
}

func isEmptyObject(v jsontext.Value) bool {
	return v.Kind() == '{' && strings.TrimSpace(string(v[1:len(v)-1])) == ""
}

// appendTree appends dotted names as nested objects: what a client would state.
func appendTree(b []byte, names []string) []byte {
	b = append(b, '{')
	var heads []string
	for _, name := range names {
		head, _, _ := strings.Cut(name, ".")
		if head == "" || slices.Contains(heads, head) {
			continue
		}
		if len(heads) > 0 {
			b = append(b, ',')
		}
		heads = append(heads, head)
		var below []string
		for _, other := range names {
			if h, rest, deeper := strings.Cut(other, "."); h == head && deeper {
				below = append(below, rest)
			}
		}
		b = append(appendString(b, head), ':')
		b = appendTree(b, below)
	}
	return append(b, '}')
}

func statelessText(needed []string) string {
	return "This tool needs a client that states these capabilities with each request, as protocol version " +
		version20260728 + " does: " + strings.Join(needed, ", ") + "." + didNotRunText
}
