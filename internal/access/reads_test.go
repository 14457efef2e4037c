package access_test

import (
	"slices"
	"testing"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
)

// A place that is only asked for is marked with a question mark.
func TestRule_Reads(t *testing.T) {
	for _, row := range []struct {
		policy string
		want   []string
	}{
		{`participant.id == tool.name`, nil},
		{`size(arguments) > 0`, nil},
		{`arguments.amount < 5`, []string{"arguments.amount"}},
		{`.arguments.amount < 5`, []string{"arguments.amount"}},
		{`arguments["amount"] < 5`, []string{"arguments.amount"}},
		{`arguments["the amount"] < 5`, []string{`arguments["the amount"]`}},
		{`arguments[participant.id] < 5`, []string{"arguments[]"}},
		{`arguments[""] == arguments["1"]`, []string{`arguments[""]`, `arguments["1"]`}},
		{`arguments.order.total.units > 1`, []string{"arguments.order", "arguments.order.total", "arguments.order.total.units"}},
		{`arguments.lines[0].price > 1`, []string{"arguments.lines", "arguments.lines[]", "arguments.lines[].price"}},
		{`!has(arguments.note) || arguments.note == ''`, []string{"arguments.note?", "arguments.note"}},
		{`has(arguments.order.note)`, []string{"arguments.order", "arguments.order.note?"}},
		{`'note' in arguments`, []string{"arguments.note?"}},
		{`participant.id in arguments.owners`, []string{"arguments.owners"}},
		{`arguments.owner in participant.roles`, []string{"arguments.owner"}},
		{`participant.id == 'x' ? arguments.a : arguments.b`, []string{"arguments.a", "arguments.b"}},
		{`arguments.name.startsWith(arguments.prefix)`, []string{"arguments.name", "arguments.prefix"}},
		{`[arguments.a, {'k': arguments.b, arguments.c: 1}.size()].size() > 1`, []string{"arguments.a", "arguments.b", "arguments.c"}},
		{`'sku' in arguments.lines[0]`, []string{"arguments.lines", "arguments.lines[]", "arguments.lines[].sku?"}},
		{`arguments.lines.all(l, l.price < 5 && has(l.sku))`, []string{"arguments.lines", "arguments.lines[].price", "arguments.lines[].sku?"}},
		{`[1].all(x, arguments.lines.all(l, l.price < x))`, []string{"arguments.lines", "arguments.lines[].price"}},
		{`arguments.lines.all(l, [1].all(l, l > 0) && l.price < 5)`, []string{"arguments.lines", "arguments.lines[].price"}},
		{`arguments.lines.filter(l, l.open).size() > 1`, []string{"arguments.lines", "arguments.lines[].open"}},
		{`arguments.lines.map(l, l.open, l.price)[0] > 1`, []string{"arguments.lines", "arguments.lines[].open", "arguments.lines[].price"}},
		{`arguments.lines.map(l, l.order)[0].price > 1`, []string{"arguments.lines", "arguments.lines[].order"}},
		{`arguments.lines.exists_one(l, l.open)`, []string{"arguments.lines", "arguments.lines[].open"}},
		{`participant.roles.exists(arguments, arguments.size() > 1)`, nil},
		{`dyn([participant.id]).exists(arguments, arguments.amount > 1)`, nil},
		{`sallyport.tool.v1.Weight{level: arguments.level}.level == 1`, []string{"arguments.level"}},
	} {
		rule, err := access.Compile(&toolv1.Access{Policy: row.policy}, facts(zone))
		if err != nil {
			t.Errorf("%s: %v", row.policy, err)
			continue
		}
		var got []string
		for _, r := range rule.Reads() {
			spelled := access.Spelling(r.Steps)
			if r.Tested {
				spelled += "?"
			}
			if !slices.Contains(got, spelled) {
				got = append(got, spelled)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s\n got %q\nwant %q", row.policy, got, row.want)
		}
	}
}

func TestRead_Within(t *testing.T) {
	at := func(names ...string) (r access.Read) {
		for _, n := range names {
			r.Steps = append(r.Steps, access.Step{Name: n})
		}
		return r
	}
	for _, row := range []struct {
		inner, outer access.Read
		want         bool
	}{
		{at("a"), at("a"), true},
		{at("a", "b"), at("a"), true},
		{at("a"), at("a", "b"), false},
		{at("b", "a"), at("a"), false},
		{access.Read{Steps: []access.Step{{Kind: access.Index}}}, access.Read{Steps: []access.Step{{Kind: access.Visit}}}, false},
	} {
		if got := row.inner.Within(row.outer); got != row.want {
			t.Errorf("%v in %v: %v", row.inner, row.outer, got)
		}
	}
}
