package boundary_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// tools are those of the contract, compiled beside the edge.
func (h *house) spelledTools() []*contract.Tool {
	h.t.Helper()
	compiled, err := contract.Compile(contract.Source{Files: schematest.WholeSet(h.files), Services: []string{"spelled.v1.SpelledService"}, Zone: zone})
	if err != nil {
		h.t.Fatal(err)
	}
	return compiled.Services[0].Tools
}

// Each dialect lists every tool in its own spelling, in both eras and over pages, and no dialect lists as another does
// throughout.
func TestDialects_areListed(t *testing.T) {
	h := newSpelledHouse(t, configured(func(c *configv1.EdgeConfig) { c.PageSize = 3 }))
	tools := h.spelledTools()
	whole := make(map[string]dialect.Dialect)
	for _, d := range dialect.All() {
		for _, version := range eras {
			t.Run(d.String()+" "+version, func(t *testing.T) {
				listed := h.in(t).definitionsIn(version, d)
				if len(listed) != len(tools) {
					t.Errorf("%d tools, want %d", len(listed), len(tools))
				}
				var all bytes.Buffer
				for _, tool := range tools {
					published := contractName(tool)
					want := tool.DefinitionIn(d, published)
					if got := listed[d.ToolName(published)]; !bytes.Equal(got, want) {
						t.Errorf("got  %s\nwant %s", got, want)
					}
					all.Write(want)
				}
				if other, found := whole[all.String()]; found && other != d && !(d == dialect.BedrockStrict && other == dialect.AnthropicStrict) {
					t.Errorf("it lists as %s does", other)
				}
				whole[all.String()] = d
			})
		}
	}
}

func contractName(tool *contract.Tool) string {
	if tool.Alias != "" {
		return tool.Alias
	}
	return tool.Name
}

// A name that begins with a digit is listed by gemini behind an underscore, and is called by that there and nowhere
// else. The canonical name and the hash are good everywhere.
func TestDialects_spellNames(t *testing.T) {
	h := newSpelledHouse(t)
	hash := contract.ToolName(contract.QualifiedName(zone, "spelled.v1.SpelledService"), "First")
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			h := h.in(t)
			listed := h.definitionsIn(version20251125, d)
			isGemini := d == dialect.Gemini
			if (listed["_1st"] != nil) != isGemini || (listed["1st"] != nil) == isGemini {
				t.Errorf("the tool is not listed by its name")
			}
			for name := range listed {
				if isGemini && '0' <= name[0] && name[0] <= '9' {
					t.Errorf("%s begins with a digit", name)
				}
			}
			arguments := spelledBy(t, memberOf(t, listed[d.ToolName("1st")], "inputSchema"), `{"sku":"x"}`)
			digits := '0' <= hash[0] && hash[0] <= '9'
			for _, row := range []struct {
				name  string
				found bool
			}{{"1st", true}, {hash, true}, {"_1st", isGemini}, {"_" + hash, isGemini && digits}, {"__1st", false}, {"_everything", false}} {
				for _, version := range eras {
					got := h.callIn(version, d, row.name, arguments)
					if found := got.seen != nil && got.code() == 0; found != row.found {
						t.Errorf("%s in %s: found %v: %s", row.name, version, found, got.body)
					}
					if !row.found && (got.code() != -32602 || !strings.Contains(string(got.body), `"Unknown tool."`)) {
						t.Errorf("%s in %s: %s", row.name, version, got.body)
					}
				}
			}
		})
	}
}

// The request names the dialect in _meta, else in the URL; else the client's default counts.
func TestDialects_areChosen(t *testing.T) {
	h := newSpelledHouse(t, configured(func(c *configv1.EdgeConfig) {
		c.ClientDialects = []*configv1.ClientDialect{{Client: "agent", Dialect: "gemini"}, {Client: "opencode", Dialect: "canonical"}}
	}))
	byDocument := make(map[string]string)
	for _, tool := range h.spelledTools() {
		if tool.Alias == "everything" {
			for _, d := range dialect.All() {
				byDocument[string(tool.DefinitionIn(d, "everything"))] = d.String()
			}
		}
	}
	const client = `"io.modelcontextprotocol/clientInfo":{"version":"1","name":`
	for _, row := range []struct{ name, query, meta, agent, want string }{
		{"nothing", "", "", "", "canonical"},
		{"_meta", "", `"dev.sallyport/dialect":"nova"`, "", "nova"},
		{"the URL", "?dialect=openai_strict", "", "", "openai_strict"},
		{"_meta over the URL", "?dialect=flat", `"dev.sallyport/dialect":"gemini"`, "", "gemini"},
		{"_meta over a URL that names none there is", "?dialect=x", `"dev.sallyport/dialect":"gemini"`, "", "gemini"},
		{"canonical in _meta over all", "?dialect=flat", `"dev.sallyport/dialect":"canonical",` + client + `"agent"}`, "agent/1", "canonical"},
		{"canonical in the URL over the client's", "?dialect=canonical", "", "agent/1", "canonical"},
		{"the configured User-Agent", "", "", "agent/1 (x)", "gemini"},
		{"the configured client's name", "", client + `"agent"}`, "", "gemini"},
		{"the client's name over the User-Agent", "", client + `"gemini-cli-mcp-client"}`, "agent/1", "flat"},
		{"a known client that is configured otherwise", "", client + `"opencode"}`, "", "canonical"},
		{"a known client", "", client + `"Visual Studio Code"}`, "", "flat"},
		{"another client", "", client + `"Agent"}`, "agent/1", "canonical"},
		{"a client without a name", "", `"io.modelcontextprotocol/clientInfo":{"version":"1"}`, "agent/1", "gemini"},
	} {
		for _, version := range eras {
			t.Run(row.name+" "+version, func(t *testing.T) {
				var lines []string
				if row.agent != "" {
					lines = append(lines, "User-Agent: "+row.agent)
				}
				got := h.in(t).ask(version, row.query, rpc("tools/list", `{"_meta":{`+row.meta+`}}`), lines...)
				var page struct {
					Result struct{ Tools []json.RawMessage }
				}
				if err := json.Unmarshal(got.body, &page); err != nil {
					t.Fatal(err)
				}
				spoken := ""
				for _, definition := range page.Result.Tools {
					if d, found := byDocument[string(definition)]; found {
						spoken = d
					}
				}
				if want := row.want; spoken != want {
					t.Errorf("in %q, want %q: %.300s", spoken, want, got.body)
				}
			})
		}
	}
}

// A dialect that nobody knows is refused on any method with the names of all, and is not repeated.
func TestDialects_unknownOnesAreRefused(t *testing.T) {
	h := newSpelledHouse(t)
	for _, version := range eras {
		methods := map[string][]string{
			version20251125: {"ping", "initialize", "tools/list", "tools/call"},
			version20260728: {"server/discover", "tools/list", "tools/call"},
		}
		for _, method := range methods[version] {
			for _, row := range []struct{ name, query, meta string }{
				{"in _meta", "", `{"dev.sallyport/dialect":"CANARY"}`},
				{"in another case", "", `{"dev.sallyport/dialect":"Flat"}`},
				{"a number", "", `{"dev.sallyport/dialect":7}`},
				{"null", "", `{"dev.sallyport/dialect":null}`},
				{"an object", "", `{"dev.sallyport/dialect":{"CANARY":"flat"}}`},
				{"in the URL", "?dialect=CANARY", `{}`},
				{"twice in the URL", "?dialect=flat&dialect=nova", `{}`},
				{"blank in the URL", "?dialect=", `{}`},
				{"in _meta over the URL", "?dialect=flat", `{"dev.sallyport/dialect":"CANARY"}`},
			} {
				t.Run(version+" "+method+" "+row.name, func(t *testing.T) {
					body := rpc(method, `{"name":"everything","protocolVersion":"2025-11-25","_meta":`+row.meta+`}`)
					got := h.in(t).ask(version, row.query, body)
					status := map[string]int{version20251125: 200, version20260728: 400}[version]
					o := got.parse()
					if got.status != status || o.Error == nil || o.Error.Code != -32602 {
						t.Fatalf("status %d: %s", got.status, got.body)
					}
					if want := "Unknown dialect: the accepted ones are " + strings.Join(dialect.Names(), ", ") + "."; o.Error.Message != want {
						t.Errorf("it says %q", o.Error.Message)
					}
					if strings.Contains(string(got.body), "CANARY") {
						t.Errorf("it repeats the caller: %s", got.body)
					}
				})
			}
		}
	}
	if strings.Contains(h.log(), "CANARY") {
		t.Error("the log repeats the caller")
	}
}

// A default that cannot work does not start, and says which field to mend.
func TestDialects_configuredOnesAreChecked(t *testing.T) {
	etcd := etcdtest.New(t)
	for _, row := range []struct{ name, want string }{
		{"Flat", "there is no dialect \"Flat\": want one of canonical, flat, nova, gemini"},
		{"", "at least 1 char"},
		{"openai_strict", "changes how arguments are spelled"},
		{"anthropic_strict", "changes how arguments are spelled"},
		{"bedrock_strict", "changes how arguments are spelled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := &configv1.EdgeConfig{ClientDialects: []*configv1.ClientDialect{
				{Client: "one", Dialect: "flat"}, {Client: "two", Dialect: row.name},
			}}
			e, err := edge.New(t.Context(), edge.WithConfig(cfg), edge.WithEtcd(etcd.NewClient(), ""))
			if err == nil {
				_ = e.Close()
				t.Fatal("it starts")
			}
			for _, part := range []string{"client_dialects[1].dialect", row.want} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		cfg := &configv1.EdgeConfig{ClientDialects: []*configv1.ClientDialect{
			{Client: "one", Dialect: "flat"}, {Client: "one", Dialect: "nova"},
		}}
		e, err := edge.New(t.Context(), edge.WithConfig(cfg), edge.WithEtcd(etcd.NewClient(), ""))
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), `client_dialects[1].client: "one" stands twice`) {
			t.Errorf("a client with two dialects: %v", err)
		}
	})
}
