package boundary_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// peerRow is one defect of another bridge (peers.md, section 4).
type peerRow struct {
	peer, defect string
	// shows shows that we do not have it. Nil where it cannot apply to us.
	shows func(t *testing.T, p *peers)
	// cannot is the reason why it cannot apply.
	cannot string
}

// peerCounts is how many defects section 4 of peers.md lists, part by part: sentences that name several are counted as
// several. 4.1 numbers D1 to D10; D14 stands under ContextForge, and the numbers between were never given out. Two of
// ggRMCP's are from section 2 and from D10: it never reconnects, and lists null.
var peerCounts = map[string]int{
	"4.1":          14,
	"redpanda":     25,
	"machani/tpp":  11,
	"linkbreakers": 13,
	"ggRMCP":       19,
	"ContextForge": 12,
	"go-micro":     6,
	"easyp":        2,
	"go-sdk":       5,
}

func peerRows() []peerRow {
	var rows []peerRow
	for _, part := range [][]peerRow{
		worstRows(), redpandaRows(), machaniRows(), linkbreakersRows(), ggRMCPRows(), contextForgeRows(), goMicroRows(),
		easypRows(), goSDKRows(),
	} {
		rows = append(rows, part...)
	}
	return rows
}

func TestPeers_weHaveNoneOfTheirDefects(t *testing.T) {
	folder := t.TempDir()
	p := &peers{newHouse(t, peersTexts()), sync.OnceValues(func() (string, error) { return buildPlugin(folder) })}
	counts, reasons := map[string]int{}, 0
	names := map[string]bool{}
	for _, row := range peerRows() {
		name := row.peer + ": " + row.defect
		if names[name] {
			t.Errorf("two rows %q", name)
		}
		names[name] = true
		counts[row.peer]++
		switch {
		case (row.shows == nil) == (row.cannot == ""):
			t.Errorf("%s: want a test or a reason, and not both", name)
		case row.shows != nil:
			t.Run(name, func(t *testing.T) { row.shows(t, &peers{p.in(t), p.pluginBinary}) })
		default:
			reasons++
		}
	}
	total := 0
	for peer, want := range peerCounts {
		if counts[peer] != want {
			t.Errorf("%s has %d rows, want %d", peer, counts[peer], want)
		}
		total += want
	}
	if len(counts) != len(peerCounts) || len(names) != total {
		t.Errorf("%d rows of %d peers, want %d of %d", len(names), len(counts), total, len(peerCounts))
	}
	t.Logf("%d rows: %d tests, %d reasons", len(names), len(names)-reasons, reasons)
	if log := p.log(); strings.Contains(log, secretWord) {
		t.Error("the log repeats an argument")
	}
}

// secretWord is an argument that must appear nowhere but at the service and in its answer.
const secretWord = "hunter2-is-my-password"

// peers is the house of the table, with what its rows need.
type peers struct {
	*house
	// pluginBinary builds our protoc plugin at its first call.
	pluginBinary func() (string, error)
}

// tool is the published name of `package.Service/Method` in the house's zone.
func (p *peers) tool(function string) string {
	service, method, _ := strings.Cut(function, "/")
	return contract.ToolName(contract.QualifiedName(zone, service), method)
}

// ask calls a function.
func (p *peers) ask(function, arguments string) response {
	p.t.Helper()
	return p.call(version20251125, p.tool(function), arguments)
}

// tells sets what a function answers: a message of the type in prototext.
func (p *peers) tells(function, message, text string) {
	p.t.Helper()
	wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(p.build(message, text))
	if err != nil {
		p.t.Fatal(err)
	}
	p.witness.answer("/"+function, func(context.Context, *seen) ([]byte, error) { return wire, nil })
}

// build reads a message in prototext.
func (p *peers) build(message, text string) *dynamicpb.Message {
	p.t.Helper()
	m := dynamicpb.NewMessage(p.message(message))
	options := prototext.UnmarshalOptions{Resolver: dynamicpb.NewTypes(p.files), AllowPartial: true}
	if err := options.Unmarshal([]byte(text), m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// reaches calls a function, and wants the service to have got exactly this message.
func (p *peers) reaches(function, arguments, message, text string) response {
	p.t.Helper()
	r := p.ask(function, arguments)
	if r.seen == nil {
		p.t.Fatalf("nothing reached the service: %d %s", r.status, r.body)
	}
	if r.seen.method != "/"+function {
		p.t.Errorf("%s got the call", r.seen.method)
	}
	got, want := r.seen.as(p.t, p.message(message)), p.build(message, text)
	if !proto.Equal(got, want) {
		p.t.Errorf("the service got %v, want %v", got, want)
	}
	r.result()
	return r
}

// refuses calls a function, and wants a tool error that a caller can correct, names all of these, and did not reach the
// service.
func (p *peers) refuses(function, arguments string, names ...string) {
	p.t.Helper()
	r := p.ask(function, arguments)
	text := r.toolError()
	if correctable := r.parse().Result.Meta["dev.sallyport/correctable"]; correctable != true || r.seen != nil {
		p.t.Errorf("%s: correctable %v, reached the service %v", arguments, correctable, r.seen != nil)
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			p.t.Errorf("%s is refused without naming %q: %s", arguments, name, text)
		}
	}
}

// listing is a tool as it is listed.
func (p *peers) listing(function string) listed {
	p.t.Helper()
	tool, found := p.list()[p.tool(function)]
	if !found {
		p.t.Fatalf("%s is not listed", function)
	}
	return tool
}

// input and output are the published schemas; as text, and as a neutral validator that nobody here wrote.
func (p *peers) input(function string) string {
	p.t.Helper()
	return string(p.listing(function).InputSchema)
}

func (p *peers) inputValidator(function string) *jsonschema.Schema {
	p.t.Helper()
	return schematest.Validator(p.t, p.listing(function).InputSchema)
}

func (p *peers) outputValidator(function string) *jsonschema.Schema {
	p.t.Helper()
	schema := p.listing(function).OutputSchema
	if schema == nil {
		p.t.Fatalf("%s publishes no output schema", function)
	}
	return schematest.Validator(p.t, schema)
}

// property is the schema of a property, by the path through `properties` and `items`, of a function's input.
func (p *peers) property(function string, path ...string) map[string]any {
	p.t.Helper()
	var node map[string]any
	if err := json.Unmarshal(p.listing(function).InputSchema, &node); err != nil {
		p.t.Fatal(err)
	}
	for _, step := range path {
		inner, found := node["properties"].(map[string]any)
		next, ok := inner[step].(map[string]any)
		if step == "[]" {
			next, ok = node["items"].(map[string]any)
		} else if !found {
			ok = false
		}
		if !ok {
			p.t.Fatalf("%s has no %v: %v", function, path, node)
		}
		node = next
	}
	return node
}

// conforms wants a successful result whose structured content fits the published output schema, and returns it.
func (p *peers) conforms(function string, r response) string {
	p.t.Helper()
	structured, block := r.result()
	if structured == nil || string(structured) != block {
		p.t.Fatalf("structured content %s, text %s", structured, block)
	}
	if !schematest.Accepts(p.t, p.outputValidator(function), structured) {
		p.t.Errorf("the result does not fit its own output schema: %s", structured)
	}
	return string(structured)
}

// rpc posts a method with params as the house's caller.
func (p *peers) rpc(method, params string) response {
	p.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":` + quote(method)
	if params != "" {
		body += `,"params":` + params
	}
	return p.post([]byte(body+`}`), p.caller.headers(version20251125))
}

// notify posts a notification.
func (p *peers) notify(method string) response {
	p.t.Helper()
	return p.post([]byte(`{"jsonrpc":"2.0","method":`+quote(method)+`}`), p.caller.headers(version20251125))
}

// plain makes a request without a body to a path of the edge.
func (p *peers) plain(method, path string) response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = p.caller.headers(version20251125)
	return p.do(r)
}
