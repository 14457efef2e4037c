package catalog_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// Each dialect has listings of its own, in the same order and pages, and each is made once per scope.
func TestSnapshot_listsInDialects(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(orderService(`Find option (sallyport.tool.v1.tool) = {name: "1st_order"};`, "Cancel", "Place", "Return"))
	s := h.show(newWorld().serves(zone, orders, digest).view())
	seen := map[string]bool{}
	for _, d := range dialect.All() {
		whole, _ := s.Page(app, d, "", 100)
		if again, _ := s.Page(app, d, "", 100); &again[0] != &whole[0] {
			t.Errorf("%s is listed anew", d)
		}
		var want, paged [][]byte
		for _, n := range sorted(hash(zone, orders, "Find"), hash(zone, orders, "Cancel"), hash(zone, orders, "Place"), hash(zone, orders, "Return")) {
			e, ok := s.Resolve(app, d, n)
			if !ok {
				t.Fatalf("%s does not resolve in %s", n, d)
			}
			published := e.Tool.Name
			if e.Tool.Alias != "" {
				published = e.Tool.Alias
			}
			want = append(want, e.Tool.DefinitionIn(d, published))
		}
		if !bytes.Equal(whole, bytes.Join(want, []byte(","))) {
			t.Errorf("%s lists\n%s", d, whole)
		}
		for after := ""; ; {
			page, next := s.Page(app, d, after, 3)
			for _, definition := range split(t, page) {
				paged = append(paged, definition)
			}
			if after = next; after == "" {
				break
			}
		}
		if !slices.EqualFunc(paged, want, bytes.Equal) {
			t.Errorf("%s lists in pages\n%s", d, bytes.Join(paged, []byte("\n")))
		}
		seen[string(whole)] = true
		for n, found := range map[string]bool{"1st_order": true, "_1st_order": d == dialect.Gemini, "__1st_order": false} {
			if _, ok := s.Resolve(app, d, n); ok != found {
				t.Errorf("%s in %s resolves: %t", n, d, ok)
			}
		}
	}
	// There is nothing to inline here, and nothing that the dialects without bounds would leave out.
	if len(seen) != 4 {
		t.Errorf("%d listings differ, want those of openai_strict, nova, gemini, and the others'", len(seen))
	}
}

// The plan of a dialect is compiled by its first call, whoever makes it, and is kept.
func TestEntry_callPlanIsCompiledOncePerDialect(t *testing.T) {
	h := open(t, nil)
	e, ok := h.show(newWorld().serves(zone, orders, h.contract(orderService("Find"))).view()).Resolve(app, dialect.Canonical, hash(zone, orders, "Find"))
	if !ok {
		t.Fatal("the tool does not resolve")
	}
	for _, d := range dialect.All() {
		first, err := e.CallPlan(d)
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				if plan, err := e.CallPlan(d); err != nil || plan != first {
					t.Errorf("%s: another plan, %v", d, err)
				}
			})
		}
		callers.Wait()
		arguments, want := `{"id":"A-17"}`, "\x0a\x04A-17"
		if got, refusal := first.Judge([]byte(arguments)); refusal != nil || string(got) != want {
			t.Errorf("%s judges %s as %q, %v", d, arguments, got, refusal)
		}
		if _, refusal := first.Judge([]byte(`{"id":null}`)); (refusal == nil) != (d == dialect.OpenAIStrict) {
			t.Errorf("%s judges null: %v", d, refusal)
		}
	}
}
