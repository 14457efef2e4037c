package catalog_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/catalog"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// A plan is compiled once, whoever asks first, and every snapshot that shows the contract has the same one.
func TestEntry_callPlanIsCompiledOncePerContract(t *testing.T) {
	h := open(t, nil)
	first := h.contract(orderService("FindById"))
	w := newWorld().serves(zone, orders, first)
	resolve := func(s *catalog.Snapshot) *catalog.Entry {
		t.Helper()
		e, ok := s.Resolve(app, dialect.Canonical, hash(zone, orders, "FindById"))
		if !ok {
			t.Fatal("the tool does not resolve")
		}
		return e
	}
	entry := resolve(h.show(w.view()))
	plans := make([]*catalog.CallPlan, 8)
	var callers sync.WaitGroup
	for i := range plans {
		callers.Go(func() {
			var err error
			if plans[i], err = entry.CallPlan(dialect.Canonical); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	for _, change := range []struct {
		name string
		view func() *world
		same bool
	}{
		{"another caller", func() *world { return w }, true},
		{"one more instance", func() *world { return w.runs(zone, orders, first, first) }, true},
		{"no instance", func() *world { return w.runs(zone, orders) }, true},
		{"an instance again", func() *world { return w.runs(zone, orders, first) }, true},
		{"another service of the contract", func() *world { return w.serves("app-api", orders, first) }, true},
		{"another contract", func() *world {
			return w.serves(zone, orders, h.contract(orderService("FindById", "Cancel")))
		}, false},
	} {
		plan, err := resolve(h.show(change.view().view())).CallPlan(dialect.Canonical)
		if err != nil {
			t.Fatalf("%s: %v", change.name, err)
		}
		if same := plan == plans[0]; same != change.same {
			t.Errorf("%s: the same plan: %t", change.name, same)
		}
	}
	for _, plan := range plans {
		if plan != plans[0] {
			t.Error("two callers got two plans")
		}
	}
}

func TestCallPlan_rendersResults(t *testing.T) {
	h := open(t, nil)
	e, ok := h.show(newWorld().serves(zone, orders, h.contract(orderService("FindById"))).view()).Resolve(app, dialect.Canonical, hash(zone, orders, "FindById"))
	if !ok || e.Resource() != "srv://"+zone+"~"+orders+"/FindById" {
		t.Fatalf("got %+v, %t", e, ok)
	}
	plan, err := e.CallPlan(dialect.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	got, isError, err := plan.AppendResult([]byte("{"), []byte("\x0a\x04A-17"))
	if want := `{"structuredContent":{"id":"A-17"},"content":[{"type":"text","text":"{\"id\":\"A-17\"}"}]`; string(got) != want || isError || err != nil {
		t.Errorf("got  %s, %t, %v\nwant %s", got, isError, err, want)
	}
	if got, _, err := plan.AppendResult([]byte("{"), []byte("\x0a\x04A")); string(got) != "{" || err == nil || strings.Contains(err.Error(), "A-17") {
		t.Errorf("a cut response gives %s, %v", got, err)
	}
}

// A function with progress is listed with the schema of its result, and its plan tells signs from the result.
func TestCallPlan_readsProgress(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(header + `
import "sallyport/tool/v1/content.proto";
message Step { oneof step { sallyport.tool.v1.Progress progress = 1; Response result = 2; } }
service OrderService { rpc Export(Request) returns (stream Step) { option (sallyport.tool.v1.tool) = {progress: true}; } }`)
	e, ok := h.show(newWorld().serves(zone, orders, digest).view()).Resolve(app, dialect.Canonical, hash(zone, orders, "Export"))
	if !ok || !e.Tool.Progress || !strings.Contains(string(e.Definition()), `"outputSchema":{"type":"object","properties":{"id":`) {
		t.Fatalf("got %+v, %t", e, ok)
	}
	plan, err := e.CallPlan(dialect.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	step, err := plan.ReadStep([]byte("\x0a\x09\x09\x00\x00\x00\x00\x00\x00\x00\x40"))
	if err != nil || step.Last || step.Sign.Progress != 2 {
		t.Errorf("got %+v, %v", step, err)
	}
	last := []byte("\x12\x06\x0a\x04A-17")
	if step, err := plan.ReadStep(last); err != nil || !step.Last {
		t.Errorf("got %+v, %v", step, err)
	}
	got, isError, err := plan.AppendResult([]byte("{"), last)
	if want := `{"structuredContent":{"id":"A-17"},"content":[{"type":"text","text":"{\"id\":\"A-17\"}"}]`; string(got) != want || isError || err != nil {
		t.Errorf("got  %s, %t, %v\nwant %s", got, isError, err, want)
	}
	for _, broken := range []string{"", "\x12\x06\x0a\x04", "\x12\x04\x0a\x04A-"} {
		if got, _, err := plan.AppendResult([]byte("{"), []byte(broken)); string(got) != "{" || err == nil {
			t.Errorf("%q gives %s, %v", broken, got, err)
		}
	}
}
