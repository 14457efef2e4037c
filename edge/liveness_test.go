package edge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
)

func TestEdge_forgetsADeadProcess(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	i := h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })
	i.die()
	h.wait("the tools are gone", func() bool { return len(h.list(caller)) == 0 })

	// The tool is known but offline: who knows its name learns that, and that nothing ran.
	hash := contract.ToolName("system-api~"+probeService, "Say")
	for _, name := range []string{hash, "say"} {
		body := h.call(caller, name, `{"word":"x"}`)
		if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `"_meta":{"dev.sallyport/executed":"no"}`) {
			t.Errorf("an offline tool answers %s", body)
		}
	}
}

func TestEdge_keepsWhatASecondInstanceServes(t *testing.T) {
	h := newHouse(t)
	first, second := startProbe(t, "one"), startProbe(t, "two")
	i := h.register(first, "system-api")
	h.register(second, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })
	servedBy := func(name string) func() bool {
		return func() bool {
			return slices.ContainsFunc(make([]struct{}, 20), func(struct{}) bool {
				return strings.Contains(h.call(caller, "say", `{}`), `"servedBy":"`+name+`"`)
			})
		}
	}
	h.wait("the first instance serves", servedBy("one"))
	h.wait("the second instance serves", servedBy("two"))

	i.die()
	first.server.Stop()
	// Say declares that it only reads, so that no call is lost, not even one that the dead process had accepted.
	h.wait("the first instance's lease has lapsed", func() bool {
		if body := h.call(caller, "say", `{}`); !strings.Contains(body, `"servedBy":"two"`) {
			t.Fatalf("a call was lost: %s", body)
		}
		if names := h.list(caller); !slices.Equal(names, published) {
			t.Fatalf("listed %v", names)
		}
		v := h.view()
		return len(v.Instances[registry.Key{Zone: "system-api", Service: probeService}]) == 1
	})
}

func TestEdge_followsAFarewell(t *testing.T) {
	h := newHouse(t)
	i := h.register(startProbe(t, "one"), "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })
	i.leave()
	h.wait("the tools are gone", func() bool { return len(h.list(caller)) == 0 })
}

func TestEdge_becomesReadyWhenTheRegistryAppears(t *testing.T) {
	h := &house{t: t, etcd: etcdtest.New(t)}
	h.store = registry.NewStore(h.etcd.Client(), "")
	if err := h.store.EnsureAssertionKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.etcd.Stop()
	h.startEdge()
	if got := h.get("/readyz"); !strings.HasPrefix(got, "503 not ready") {
		t.Errorf("/readyz says %q", got)
	}
	if got := h.get("/healthz"); got != "200 ok\n" {
		t.Errorf("/healthz says %q", got)
	}
	if status, body := h.post(credentials{}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 503 {
		t.Errorf("POST /mcp: %d %s", status, body)
	}
	h.etcd.Restart()
	h.wait("the edge is ready", func() bool { return h.get("/readyz") == "200 fresh\n" })
	caller := h.system()
	h.register(startProbe(t, "one"), "system-api")
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })
}

func TestEdge_servesItsSnapshotWhileEtcdIsAway(t *testing.T) {
	h := newHouse(t)
	h.register(startProbe(t, "one"), "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })

	h.etcd.Stop()
	h.wait("the edge says stale", func() bool { return h.get("/readyz") == "200 stale\n" })
	if names := h.list(caller); !slices.Equal(names, published) {
		t.Errorf("listed %v", names)
	}
	if body := h.call(caller, "say", `{"word":"still here"}`); !strings.Contains(body, `"word":"still here"`) {
		t.Errorf("called: %s", body)
	}
	if got := h.get("/metrics"); !strings.Contains(got, "sallyport_edge_snapshot_stale 1") {
		t.Errorf("the metrics do not say stale: %s", got)
	}
	if !strings.Contains(h.log.String(), "stale") {
		t.Errorf("the log does not say stale: %s", h.log)
	}

	h.etcd.Restart()
	h.wait("the edge is fresh again", func() bool { return h.get("/readyz") == "200 fresh\n" })
}
