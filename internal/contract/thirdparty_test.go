package contract_test

import (
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/sallyport-dev/sallyport/comments"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
)

// Etcd's files are linked under other paths than those by which they import each other, and carry no comments: a
// service that nobody here wrote.
func TestCompile_etcdAsItIs(t *testing.T) {
	set := comments.Collect(etcdserverpb.File_rpc_proto)
	services := []string{"etcdserverpb.Maintenance", "etcdserverpb.Cluster", "etcdserverpb.KV"}
	s := contract.Source{Files: set, Services: services, Zone: "system-api", Overlays: []*registryv1.Overlay{
		{Function: "etcdserverpb.Maintenance/Status"}, {Function: "etcdserverpb.Cluster/MemberList"}, {Function: "etcdserverpb.KV/Range"},
	}}
	check := func(t *testing.T, s contract.Source) {
		all := tools(compile(t, s))
		for function, want := range map[string]struct {
			title, description string
			hints              contract.Hints
		}{
			"etcdserverpb.Maintenance/Status": {"Maintenance Status", "Status", contract.Hints{}},
			"etcdserverpb.Cluster/MemberList": {"Cluster Member List", "Member list", contract.Hints{ReadOnly: true}},
			"etcdserverpb.KV/Range":           {"KV Range", "Range", contract.Hints{}},
		} {
			tool := all[function]
			if tool == nil {
				t.Errorf("%s is no tool", function)
				continue
			}
			if tool.Title != want.title || tool.Description != want.description || tool.Hints != want.hints {
				t.Errorf("%s: title %q, description %q, hints %+v", function, tool.Title, tool.Description, tool.Hints)
			}
		}
		if len(all) != 3 {
			t.Errorf("%d tools, want 3", len(all))
		}
	}
	check(t, s)
	t.Run("as it is kept", func(t *testing.T) {
		out, digest := normalized(t, set, services...)
		if got := declarations(out); !slices.Contains(got, "mvccpb.KeyValue") {
			t.Errorf("kept %q, without what it imports by another path", got)
		}
		if _, again := normalized(t, out, services...); again != digest {
			t.Error("normalizing again gives another digest")
		}
		kept := s
		kept.Files = out
		check(t, kept)
	})
}
