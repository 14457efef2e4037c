package docs_test

import (
	"slices"
	"strings"
	"testing"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/test/docs/generated"
)

const dialectPage = "docs/dialects.md"

// shipment has a field of each sort that dialects differ in.
const shipment = `message M {
  string id = 1 [(buf.validate.field).required = true];
  int32 parcels = 2 [(buf.validate.field).int32 = {gte: 1, lte: 20}];
  Address address = 3;
  map<string, string> labels = 4 [(buf.validate.field).map.max_pairs = 8];
  google.protobuf.Struct extra = 5;
  Node tree = 6;
}
message Address { string city = 1; }
message Node { string name = 1; repeated Node children = 2; }
`

// calls are one call in the spellings that there are: as canonical, closed, and closed with every property required.
var calls = map[string]string{
	"canonical": `{"id":"s-1","labels":{"door":"back"},"extra":{"weight":1.5}}`,
	"closed":    `{"id":"s-1","labels":[{"key":"door","value":"back"}],"extra":"{\"weight\":1.5}"}`,
	"strict": `{"id":"s-1","parcels":null,"address":null,"labels":[{"key":"door","value":"back"}],` +
		`"extra":"{\"weight\":1.5}","tree":null}`,
}

func TestDialectPage(t *testing.T) {
	canonical := documentOf(t, shipment, "protojson")
	var table, documents [][]string
	var examples strings.Builder
	for _, d := range dialect.All() {
		table = append(table, []string{generated.Code(d.String()), d.Reader(), d.Lacks(), d.Changes()})
		documents = append(documents, []string{generated.Code(d.String()), generated.Code(string(d.Input(canonical).JSON()))})
		g, err := gate.Compile(d.Input(canonical))
		if err != nil {
			t.Fatal(err)
		}
		want := "canonical"
		switch {
		case d.RequiresEverything():
			want = "strict"
		case d.ChangesArguments():
			want = "closed"
		}
		for name, call := range calls {
			_, refusal := g.Judge([]byte(call))
			if accepted := refusal == nil; accepted != (name == want) {
				t.Errorf("%s: the %s call is accepted: %t", d, name, accepted)
			}
		}
	}
	generated.Region(t, dialectPage, "dialects", generated.Table(
		[]string{"dialect", "for", "what its documents lack", "what it changes about arguments"}, table))
	generated.Region(t, dialectPage, "proto", "<!-- show -->\n```proto\n"+shipment+"```")
	generated.Region(t, dialectPage, "example", generated.Table([]string{"dialect", "the document"}, documents))
	for _, name := range []string{"canonical", "closed", "strict"} {
		examples.WriteString("| " + map[string]string{
			"canonical": "every other dialect", "closed": "`anthropic_strict`, `bedrock_strict`", "strict": "`openai_strict`",
		}[name] + " | " + generated.Code(calls[name]) + " |\n")
	}
	generated.Region(t, dialectPage, "calls", "| in | the arguments |\n| --- | --- |\n"+examples.String())
	var clients [][]string
	for _, c := range dialect.Clients() {
		clients = append(clients, []string{generated.Code(c.Name), generated.Code(c.Dialect.String()), c.Why,
			"[" + strings.TrimPrefix(c.Source, "https://") + "](" + c.Source + ")", c.Date})
	}
	generated.Region(t, dialectPage, "clients", generated.Table(
		[]string{"client", "dialect", "because it", "source", "date"}, clients))
	generated.Region(t, dialectPage, "names", strings.Join(quotedNames(), ", "))
}

// TestDialectPage_configuration: an edge takes what the page tells to write, and the dialects in it may be defaults.
func TestDialectPage_configuration(t *testing.T) {
	for _, b := range blocks(t, dialectPage) {
		name, found := strings.CutPrefix(b.directive, "file: ")
		if !found {
			continue
		}
		cfg := new(configv1.EdgeConfig)
		if err := config.Parse(name, []byte(b.text), cfg); err != nil {
			t.Fatal(err)
		}
		if len(cfg.GetClientDialects()) == 0 {
			t.Fatal("no client has a dialect")
		}
		for _, c := range cfg.GetClientDialects() {
			if d, ok := dialect.Parse(c.GetDialect()); !ok || d.ChangesArguments() {
				t.Errorf("%s cannot be the default of %s", c.GetDialect(), c.GetClient())
			}
		}
		return
	}
	t.Fatal("the page shows no configuration")
}

func quotedNames() []string {
	names := slices.Clone(dialect.Names())
	for i := range names {
		names[i] = generated.Code(names[i])
	}
	return names
}
