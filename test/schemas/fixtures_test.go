package schemas_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestNeutral_fixtures judges, for each row and profile, drawn documents, and every property with every value that is
// near what it accepts.
func TestNeutral_fixtures(t *testing.T) {
	node := startAjv(t)
	count, documents := map[string]int{}, 0
	check := func(t *testing.T, text, message string) {
		files := schematest.Files(t, map[string]string{"t/v1/t.proto": text})
		md := schematest.Find(t, files, message)
		for _, id := range schema.BuiltinIDs() {
			profile, _ := schema.Builtin(id)
			doc, _, err := schema.Input(md, profile)
			if err != nil {
				t.Fatal(err)
			}
			tr := newTrial(t, doc)
			tr.count = count
			texts := append(draw(doc, 1, 5, 20), nearby(t, doc)...)
			documents += len(texts)
			tr.judge(t, node, texts...)
			judgeOutput(t, node, md, profile, 1, 10)
		}
	}
	for _, row := range schematest.Fixtures {
		t.Run(row.Name, func(t *testing.T) { check(t, schematest.WithHead(row.Proto), "t.v1.M") })
	}
	for _, name := range schematest.RequestTypes {
		t.Run("request "+name, func(t *testing.T) { check(t, schematest.Head, "google.protobuf."+name) })
	}
	t.Logf("%d documents; exceptions needed: %v", documents, count)
}

// nearby are the least document with each property in turn given every value near what it accepts: itself, its items,
// or its map's keys and values.
func nearby(t *testing.T, doc *schema.Document) (texts [][]byte) {
	drawer := schematest.NewDrawer(doc.Root())
	if !drawer.Satisfiable() {
		return nil
	}
	least, err := schematest.Parse([]byte(rapid.Custom(func(t *rapid.T) string { return drawer.Arguments(t, 0) }).Example(0)))
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, v *schematest.Value) {
		changed := &schematest.Value{Kind: '{'}
		for _, m := range least.Members {
			if m.Name != name {
				changed.Members = append(changed.Members, m)
			}
		}
		changed.Members = append(changed.Members, schematest.Member{Name: name, Value: v})
		texts = append(texts, []byte(changed.String()))
	}
	text := &schematest.Value{Kind: '"', Text: "abc"}
	for i := range doc.Root().Properties {
		p := &doc.Root().Properties[i]
		switch p.Node.Kind {
		case schema.Array:
			for _, v := range schematest.Near(p.Node.Elem.Node, text) {
				with(p.Name, &schematest.Value{Kind: '[', Items: []*schematest.Value{v}})
				with(p.Name, &schematest.Value{Kind: '[', Items: []*schematest.Value{v, v}})
			}
		case schema.Map:
			for _, v := range schematest.Near(p.Node.Elem.Node, text) {
				with(p.Name, &schematest.Value{Kind: '{', Members: []schematest.Member{{Name: "1", Value: v}}})
			}
			for _, key := range schematest.Near(p.Node.Key, text) {
				with(p.Name, &schematest.Value{Kind: '{', Members: []schematest.Member{{Name: key.Text, Value: &schematest.Value{Kind: 't'}}}})
			}
		default:
			for _, v := range schematest.Near(p.Node, text) {
				with(p.Name, v)
			}
		}
	}
	return texts
}
