package contract_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
)

// A base and a further base for the rows about inheritance.
const bases = `
service Further {
  // From the further base.
  rpc Get(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Further Get" description: "Further." destructive_hint: true}; }
  // Comment of the further base.
  rpc Peek(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Further Peek" open_world_hint: true}; }
}
service Base {
  option (sallyport.tool.v1.service) = {title: "Ignored Base Title" inherits: "acme.Further"};
  // Comment of the base.
  rpc Get(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Base Get" read_only_hint: true}; }
  rpc Peek(Req) returns (Res);
}
service Other {
  rpc Get(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Other Get" idempotent_hint: true}; }
  rpc Only(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Only Here"}; }
}
`

func TestCompile_whichDeclarationDescribes(t *testing.T) {
	for _, row := range []struct {
		name, text, function string
		overlays             []*registryv1.Overlay
		title, description   string
		hints                contract.Hints
	}{
		{
			name: "tool beats tool_info on the same RPC, and borrows nothing from it", function: "acme.S/Find",
			text: `service S { rpc Find(Req) returns (Res) {
  option (sallyport.tool.v1.tool) = {title: "By Tool"};
  option (sallyport.tool.v1.tool_info) = {title: "By Info" description: "Info." read_only_hint: true}; } }`,
			title: "S By Tool", description: "Find",
		},
		{
			name: "tool beats an inherited tool_info: its comment, not that description", function: "acme.S/Get",
			text: bases + `service S { option (sallyport.tool.v1.service) = {inherits: "acme.Further"};
  // The RPC's own comment.
  rpc Get(Req) returns (Res) { option (sallyport.tool.v1.tool) = {title: "Store Entity"}; } }`,
			title: "S Store Entity", description: "The RPC's own comment.",
		},
		{
			name: "code beats proto", function: "acme.S/Find",
			text:     `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {title: "By Proto" description: "Proto." read_only_hint: true}; } }`,
			overlays: []*registryv1.Overlay{{Function: "acme.S/Find", Tool: &toolv1.Tool{Title: "By Code", IdempotentHint: true}}},
			title:    "S By Code", description: "Find", hints: contract.Hints{Idempotent: true},
		},
		{
			name: "a bare exposure in code does not describe", function: "acme.S/Find",
			text:     `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "By Info" description: "Info." read_only_hint: true}; } }`,
			overlays: []*registryv1.Overlay{{Function: "acme.S/Find"}},
			title:    "S By Info", description: "Info.", hints: contract.Hints{ReadOnly: true},
		},
		{
			name: "tool_info on the RPC describes what is swept", function: "acme.S/Find",
			text:  `service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "By Info" description: "Info." open_world_hint: true}; } }`,
			title: "S By Info", description: "Info.", hints: contract.Hints{OpenWorld: true},
		},
		{
			name: "tool_info on the RPC beats an inherited one", function: "acme.S/Get",
			text: bases + `service S { option (sallyport.tool.v1.service) = {inherits: "acme.Further"};
  rpc Get(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Own Get"}; } }`,
			title: "S Own Get", description: "From the further base.",
		},
		{
			name: "the nearest inherited tool_info, depth first: the first base before the second", function: "acme.S/Get",
			text:  bases + `service S { option (sallyport.tool.v1.service) = {inherits: ["acme.Base", "acme.Other"]}; rpc Get(Req) returns (Res); }`,
			title: "S Base Get", description: "Comment of the base.", hints: contract.Hints{ReadOnly: true},
		},
		{
			name: "in the order of inherits", function: "acme.S/Get",
			text:  bases + `service S { option (sallyport.tool.v1.service) = {inherits: ["acme.Other", "acme.Base"]}; rpc Get(Req) returns (Res); }`,
			title: "S Other Get", description: "Comment of the base.", hints: contract.Hints{Idempotent: true},
		},
		{
			name: "a base's own base before the next base", function: "acme.S/Peek",
			text: bases + `service Late { rpc Peek(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "Late Peek"}; } }
service S { option (sallyport.tool.v1.service) = {inherits: ["acme.Base", "acme.Late"]}; rpc Peek(Req) returns (Res); }`,
			title: "S Further Peek", description: "Comment of the further base.", hints: contract.Hints{OpenWorld: true},
		},
		{
			name: "the second base where the first has no such RPC", function: "acme.S/Only",
			text:  bases + `service S { option (sallyport.tool.v1.service) = {inherits: ["acme.Base", "acme.Other"]}; rpc Only(Req) returns (Res); }`,
			title: "S Only Here", description: "Only",
		},
		{
			name: "tool on a base's RPC describes nobody else", function: "acme.S/Find",
			text: `service Base { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {title: "Base Find" destructive_hint: true}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc Find(Req) returns (Res); }`,
			title: "S Find", description: "Find", hints: contract.Hints{ReadOnly: true},
		},
		{
			name: "the built-in base", function: "acme.S/Delete",
			text:  `service S { option (sallyport.tool.v1.service) = {inherits: "sallyport.crud.v1.CrudService"}; rpc Delete(Req) returns (Res); }`,
			title: "S Delete", description: "Deletes one resource by its id.", hints: contract.Hints{Destructive: true, Idempotent: true},
		},
		{
			name: "of the service option only the title describes", function: "acme.S/Find",
			text:  `service S { option (sallyport.tool.v1.service) = {title: "Titled"}; rpc Find(Req) returns (Res); }`,
			title: "Titled Find", description: "Find", hints: contract.Hints{ReadOnly: true},
		},
		{
			name: "nothing declares: comment and name", function: "acme.S/FindById",
			text: `service S { option (sallyport.tool.v1.service) = {};
  // Finds one.
  rpc FindById(Req) returns (Res); }`,
			title: "S Find By Id", description: "Finds one.", hints: contract.Hints{ReadOnly: true},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, row.text, row.overlays...)
			s.Services = []string{"acme.S"}
			tool := tools(compile(t, s))[row.function]
			if tool == nil {
				t.Fatal("no such tool")
			}
			if tool.Title != row.title {
				t.Errorf("title %q, want %q", tool.Title, row.title)
			}
			if tool.Description != row.description {
				t.Errorf("description %q, want %q", tool.Description, row.description)
			}
			if tool.Hints != row.hints {
				t.Errorf("hints %+v, want %+v", tool.Hints, row.hints)
			}
		})
	}
}

func TestCompile_inheritsThatDoesNotResolve(t *testing.T) {
	for _, row := range []struct{ name, text, function, problem string }{
		{"an unknown service", `service S { option (sallyport.tool.v1.service) = {inherits: "acme.Missing"}; rpc Get(Req) returns (Res); }`,
			"acme.S", `inherits "acme.Missing": no service acme.Missing`},
		{"a name without its package", `service Base { rpc Get(Req) returns (Res); } service S { option (sallyport.tool.v1.service) = {inherits: "Base"}; rpc Get(Req) returns (Res); }`,
			"acme.S", `inherits "Base": no service Base`},
		{"a message", `service S { option (sallyport.tool.v1.service) = {inherits: "acme.Req"}; rpc Get(Req) returns (Res); }`,
			"acme.S", "acme.Req is not a service"},
		{"itself", `service S { option (sallyport.tool.v1.service) = {inherits: "acme.S"}; rpc Get(Req) returns (Res); }`,
			"acme.S", "inherits goes in a circle: acme.S → acme.S"},
		{"a circle of two", `service A { option (sallyport.tool.v1.service) = {inherits: "acme.S"}; rpc Get(Req) returns (Res); }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.A"}; rpc Get(Req) returns (Res); }`,
			"acme.S", "inherits goes in a circle: acme.S → acme.A → acme.S"},
		{"a circle further away", `service A { option (sallyport.tool.v1.service) = {inherits: "acme.B"}; rpc Get(Req) returns (Res); }
service B { option (sallyport.tool.v1.service) = {inherits: "acme.A"}; rpc Get(Req) returns (Res); }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.A"}; rpc Get(Req) returns (Res); }`,
			"acme.S", "inherits goes in a circle: acme.A → acme.B → acme.A"},
		{"a base's unknown service", `service Base { option (sallyport.tool.v1.service) = {inherits: "acme.Missing"}; rpc Get(Req) returns (Res); }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc Get(Req) returns (Res); }`,
			"acme.S", `inherits "acme.Missing"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, row.text)
			s.Services = []string{"acme.S"}
			wantConflict(t, conflicts(t, s), row.function, row.problem)
		})
	}
	t.Run("two ways to one base are no circle", func(t *testing.T) {
		compile(t, source(t, `service Base { rpc Get(Req) returns (Res); }
service A { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc Get(Req) returns (Res); }
service S { option (sallyport.tool.v1.service) = {inherits: ["acme.A", "acme.Base"]}; rpc Get(Req) returns (Res); }`))
	})
}

func TestCompile_description(t *testing.T) {
	swept := `service S { option (sallyport.tool.v1.service) = {}; `
	for _, row := range []struct{ name, text, want string }{
		{"the declaration's first", `service S {
  // The comment.
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {description: "Written."}; } }`, "Written."},
		{"then the leading comment", `service S {
  // The comment.
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {}; } }`, "The comment."},
		{"then the inherited comment", `service S { option (sallyport.tool.v1.service) = {inherits: "sallyport.crud.v1.CrudService"};
  rpc List(Req) returns (Res); }`, "Lists resources, page by page."},
		{"the RPC's comment before the inherited one", `service S { option (sallyport.tool.v1.service) = {inherits: "sallyport.crud.v1.CrudService"};
  // Lists orders.
  rpc List(Req) returns (Res); }`, "Lists orders."},
		{"then the name as a sentence", swept + `rpc findByRepoFullName(Req) returns (Res); }`, "Find by repo full name"},
		{"runs of capitals stay together", swept + `rpc GetHTTPStatus(Req) returns (Res); }`, "Get HTTP status"},
		{"a run with a digit", swept + `rpc ListV2Items(Req) returns (Res); }`, "List V2 items"},
		{"underscores", swept + `rpc list_all_items(Req) returns (Res); }`, "List all items"},
		{"a plural run", swept + `rpc ListIDsOfUser(Req) returns (Res); }`, "List IDs of user"},
		{"one run", swept + `rpc GET(Req) returns (Res); }`, "GET"},
		{"a run at the end", swept + `rpc ParseJSON(Req) returns (Res); }`, "Parse JSON"},
		{"two words", swept + `rpc MemberList(Req) returns (Res); }`, "Member list"},
		{"the trailing comment is not used", swept + `
  rpc Find(Req) returns (Res); // Trailing.
}`, "Find"},
		{"a detached comment is not used", swept + `
  // Detached.

  rpc Find(Req) returns (Res); }`, "Find"},
		{"blank lines and uniform indent go", swept + `
  //
  //   First.
  //     Indented.
  //
  rpc Find(Req) returns (Res); }`, "First.\n  Indented."},
		{"references become their text", swept + `
  // Finds an [Order][acme.Order].
  rpc Find(Req) returns (Res); }`, "Finds an Order."},
		{"HTML tags go", swept + `
  // <p>Finds <b>one</b>.</p>
  rpc Find(Req) returns (Res); }`, "Finds one."},
		{"lint directives go", swept + `
  // Finds one.
  // buf:lint:ignore RPC_REQUEST_STANDARD_NAME
  rpc Find(Req) returns (Res); }`, "Finds one."},
		{"@exclude goes", swept + `
  // Finds one.
  // @exclude from the documentation
  rpc Find(Req) returns (Res); }`, "Finds one."},
		{"a comment of directives alone is blank", swept + `
  // buf:lint:ignore RPC_REQUEST_STANDARD_NAME
  rpc FindOne(Req) returns (Res); }`, "Find one"},
		{"block comments", swept + `
  /*
   * Finds one.
   * Or none.
   */
  rpc Find(Req) returns (Res); }`, "Finds one.\nOr none."},
		{"4,096 characters written", `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {description: "` + strings.Repeat("é", 4096) + `"}; } }`,
			strings.Repeat("é", 4096)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := one(t, row.text).Description; got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestCompile_overlongComment(t *testing.T) {
	sentence := "This sentence is about orders. "
	for _, row := range []struct{ name, comment, ends string }{
		{"cut at a sentence", strings.Repeat(sentence, 200), "orders."},
		{"without a sentence, between words", strings.Repeat("words ", 900), "words"},
		{"without words, anywhere", strings.Repeat("x", 5000), "x"},
		{"not inside a number", "1" + strings.Repeat(".5", 3000), ".5."},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := compile(t, source(t, `service S { option (sallyport.tool.v1.service) = {};
  // `+row.comment+`
  rpc Find(Req) returns (Res); }`))
			got := c.Services[0].Tools[0].Description
			if n := utf8.RuneCountInString(got); n > 4096 || n == 0 {
				t.Errorf("%d characters", n)
			}
			if !strings.HasSuffix(got, row.ends) {
				t.Errorf("ends in %q", got[max(0, len(got)-20):])
			}
			if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "acme.S/Find: ") {
				t.Errorf("warnings %q, want one that names the RPC", c.Warnings)
			}
		})
	}
}

func TestCompile_title(t *testing.T) {
	for _, row := range []struct{ name, service, tool, want string }{
		{"both halves from names", ``, ``, "Project Service Find By Repo Full Name"},
		{"the RPC's title", ``, `title: "Find by GitHub Repo"`, "Project Service Find by GitHub Repo"},
		{"both titles", `title: "Projects"`, `title: "Find by GitHub Repo"`, "Projects Find by GitHub Repo"},
		{"the service's title alone", `title: "Projects"`, ``, "Projects Find By Repo Full Name"},
		{"blank titles are none", `title: " "`, `title: "\t"`, "Project Service Find By Repo Full Name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tool := one(t, `service ProjectService { option (sallyport.tool.v1.service) = {`+row.service+`};
  rpc FindByRepoFullName(Req) returns (Res) { option (sallyport.tool.v1.tool) = {`+row.tool+`}; } }`)
			if tool.Title != row.want {
				t.Errorf("title %q, want %q", tool.Title, row.want)
			}
			if tool.Name != contract.ToolName("acme.ProjectService", "FindByRepoFullName") {
				t.Error("the title affects the name")
			}
		})
	}
	for _, row := range []struct{ service, method, want string }{
		{"Maintenance", "Status", "Maintenance Status"},
		{"Cluster", "MemberList", "Cluster Member List"},
		{"KV", "Range", "KV Range"},
		{"HTTPProxyService", "getV2Items", "HTTP Proxy Service Get V2 Items"},
	} {
		t.Run(row.want, func(t *testing.T) {
			tool := one(t, `service `+row.service+` { option (sallyport.tool.v1.service) = {}; rpc `+row.method+`(Req) returns (Res); }`)
			if tool.Title != row.want {
				t.Errorf("title %q, want %q", tool.Title, row.want)
			}
		})
	}
	t.Run("the service's title in code", func(t *testing.T) {
		tool := one(t, `service S { option (sallyport.tool.v1.service) = {title: "Proto"}; rpc Find(Req) returns (Res); }`,
			&registryv1.Overlay{Function: "acme.S", ServiceTitle: "Code"})
		if tool.Title != "Code Find" {
			t.Errorf("title %q", tool.Title)
		}
	})
}
