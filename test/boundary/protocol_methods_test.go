package boundary_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// agreed checks the result of initialize, whole, and gives the version.
func agreed(t *testing.T, result json.RawMessage) (version string) {
	t.Helper()
	if got := namesOf(t, result); !slices.Equal(got, []string{"protocolVersion", "capabilities", "serverInfo", "instructions"}) {
		t.Fatalf("the result has %q", got)
	}
	if got := string(memberOf(t, result, "capabilities")); got != `{"tools":{}}` {
		t.Errorf("capabilities %s", got)
	}
	if got := string(memberOf(t, result, "serverInfo")); got != serverInfo {
		t.Errorf("serverInfo %s", got)
	}
	checkInstructions(t, result)
	if err := json.Unmarshal(memberOf(t, result, "protocolVersion"), &version); err != nil {
		t.Fatal(err)
	}
	return version
}

func checkInstructions(t *testing.T, result json.RawMessage) {
	t.Helper()
	var instructions string
	if err := json.Unmarshal(memberOf(t, result, "instructions"), &instructions); err != nil || !strings.Contains(instructions, "dev.sallyport/correctable") {
		t.Errorf("instructions %q, %v", instructions, err)
	}
}

// initialize agrees on what is asked for where it is a served legacy version, and else on the newest of those. It is no
// error to ask for anything (mcp-protocol.md 1.2).
func TestProtocol_initialize(t *testing.T) {
	c := newCounter(t)
	const client = `,"capabilities":{},"clientInfo":{"name":"x","version":"1"}`
	params := func(version string) string { return `"protocolVersion":` + version + client }
	for _, row := range []struct {
		name, params string
		agrees       string // blank: refused with -32602
	}{
		{"2025-11-25", params(`"2025-11-25"`), version20251125},
		{"2025-06-18", params(`"2025-06-18"`), version20250618},
		{"2025-03-26", params(`"2025-03-26"`), version20250326},
		{"by escapes", params(`"2025\u002d03-26"`), version20250326},
		{"the modern era", params(`"2026-07-28"`), version20251125},
		{"the future", params(`"2099-01-01"`), version20251125},
		{"the end of time", params(`"9999-99-99"`), version20251125},
		{"the past", params(`"2024-11-05"`), version20251125},
		{"long ago", params(`"1999-01-01"`), version20251125},
		{"a draft", params(`"DRAFT-2026-v1"`), version20251125},
		{"nonsense", params(`"latest"`), version20251125},
		{"empty", params(`""`), version20251125},
		{"blanks around", params(`" 2025-03-26 "`), version20251125},
		{"a list in a text", params(`"2025-03-26,2025-06-18"`), version20251125},
		{"very long", params(`"` + strings.Repeat("2025-03-26", 1000) + `"`), version20251125},
		{"capabilities of today", `"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"x","title":"X","version":"1","icons":[]}`, version20250618},
		{"no capabilities and no client", `"protocolVersion":"2025-06-18"`, version20250618},
		{"capabilities and client of nobody", `"protocolVersion":"2025-06-18","capabilities":7,"clientInfo":[]`, version20250618},
		{"a number", params(`20250618`), ""},
		{"null", params(`null`), ""},
		{"true", params(`true`), ""},
		{"a list", params(`["2025-06-18"]`), ""},
		{"an object", params(`{"x":"2025-06-18"}`), ""},
		{"no version", strings.TrimPrefix(client, ","), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			// The header is of no account: it is what is being agreed on.
			for _, header := range []string{"", version20250326, version20250618, version20251125, "1999-01-01", "2024-11-05", "nonsense"} {
				p := post{version: header, method: "initialize", params: row.params}
				want := good
				if row.agrees == "" {
					want = badParams
				}
				result := want.check(t, &p, c.say(t, p))
				if result == nil {
					continue
				}
				if version := agreed(t, result); version != row.agrees {
					t.Errorf("under %q agreed on %q, want %q", header, version, row.agrees)
				}
			}
			// A header of the modern era demands a body of it, which has no initialize.
			for _, header := range []string{version20260728, "2099-01-01"} {
				p := post{method: "initialize", params: row.params, lines: []string{"MCP-Protocol-Version: " + header, "Mcp-Method: initialize"}}
				badEnvelope.check(t, &p, c.say(t, p))
			}
			p := post{version: version20260728, method: "initialize", params: row.params}
			unknownOnes.check(t, &p, c.say(t, p))
		})
	}
	for _, shape := range []string{absent, `null`, `[]`, `["2025-06-18"]`, `"2025-06-18"`, `7`} {
		p := post{method: "initialize", shape: shape}
		badParams.check(t, &p, c.say(t, p))
	}
}

// servedMethods are those of an era.
var servedMethods = map[bool][]string{
	false: {"initialize", "ping", "tools/list", "tools/call"},
	true:  {"server/discover", "tools/list", "tools/call"},
}

// Every method of every version of the protocol, and some of nobody.
var allMethods = []string{
	"initialize", "ping", "server/discover", "tools/list", "tools/call", "logging/setLevel", "completion/complete",
	"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
	"subscriptions/listen", "tasks/get", "tasks/result", "tasks/list", "tasks/update", "tasks/cancel",
	"roots/list", "sampling/createMessage", "elicitation/create",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/message", "notifications/roots/list_changed",
	"notifications/tools/list_changed", "notifications/resources/updated", "notifications/elicitation/complete", "notifications/tasks/status",
	"notifications/subscriptions/acknowledged", "rpc.discover", "tools/burn", "x",
}

func TestProtocol_methodsOfEachVersion(t *testing.T) {
	c := newCounter(t)
	for _, version := range protocolVersions {
		t.Run(versionName(version), func(t *testing.T) {
			isModern := version == version20260728
			for _, method := range allMethods {
				want := good
				switch {
				case slices.Contains(servedMethods[isModern], method):
				case isModern:
					want = unknownOnes
				default:
					want = legacyOnes
				}
				t.Run(method, func(t *testing.T) {
					p := post{version: version, id: `"m"`, method: method, params: `"name":"nothing","protocolVersion":"2025-06-18","uri":"x:y","level":"debug"`}
					result := want.check(t, &p, c.say(t, p))
					if result != nil && method == "ping" && string(result) != "{}" {
						t.Errorf("ping is answered %s", result)
					}
				})
			}
		})
	}
}

// server/discover says what the server speaks, whole (mcp-protocol.md 1.3).
func TestProtocol_discover(t *testing.T) {
	for ttl, option := range map[string]setting{
		"60000": func(*settings) {},
		"1500": configured(func(c *configv1.EdgeConfig) {
			c.ListTtl = durationpb.New(1_500_000_000)
		}),
		"0": configured(func(c *configv1.EdgeConfig) { c.ListTtl = durationpb.New(0) }),
	} {
		t.Run(ttl, func(t *testing.T) {
			c := newCounter(t, option)
			p := post{version: version20260728, method: "server/discover", params: `"cursor":7,"x":1`}
			result := good.check(t, &p, c.say(t, p))
			if got := namesOf(t, result); !slices.Equal(got, []string{"resultType", "supportedVersions", "capabilities", "instructions", "ttlMs", "cacheScope", "_meta"}) {
				t.Fatalf("the result has %q", got)
			}
			for name, want := range map[string]string{
				"resultType": `"complete"`, "supportedVersions": `["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`, "capabilities": `{"tools":{}}`,
				"ttlMs": ttl, "cacheScope": `"public"`, "_meta": modernResultMeta,
			} {
				if got := string(memberOf(t, result, name)); got != want {
					t.Errorf("%s %s, want %s", name, got, want)
				}
			}
			checkInstructions(t, result)
			list := post{version: version20260728, method: "tools/list"}
			result = good.check(t, &list, c.say(t, list))
			if got := string(memberOf(t, result, "ttlMs")); got != ttl {
				t.Errorf("tools/list: ttlMs %s, want %s", got, ttl)
			}
		})
	}
}
