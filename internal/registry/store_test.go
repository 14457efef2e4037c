package registry

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

// contractBytes is a contract whose compressed size is about size, since random comments do not compress.
func contractBytes(t *testing.T, name string, size int) []byte {
	t.Helper()
	noise := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String(name + ".proto"), Package: proto.String(name),
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
			{LeadingComments: proto.String(fmt.Sprintf("%x", noise))},
		}},
	}}}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func put(t *testing.T, s *Store, name string) string {
	t.Helper()
	digest, err := s.PutContract(testContext(t), contractBytes(t, name, 10))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestContract(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	for _, test := range []struct {
		name string
		size int
	}{{"one chunk", 100}, {"several chunks", 3 << 20}} {
		t.Run(test.name, func(t *testing.T) {
			raw := contractBytes(t, "a", test.size)
			// Writers at the same time, as registries at the start of several instances are.
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if digest, err := s.PutContract(ctx, raw); err != nil || digest != Digest(raw) {
						t.Errorf("PutContract = %q, %v", digest, err)
					}
				})
			}
			wg.Wait()
			got, err := s.RawContract(ctx, Digest(raw))
			if err != nil || !bytes.Equal(got, raw) {
				t.Fatalf("RawContract: %d bytes, %v; want %d", len(got), err, len(raw))
			}
			set, err := s.Contract(ctx, Digest(raw))
			if err != nil || set.GetFile()[0].GetName() != "a.proto" {
				t.Fatalf("Contract = %v, %v", set.GetFile()[0].GetName(), err)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		if _, err := s.Contract(ctx, strings.Repeat("0", 64)); !errors.Is(err, ErrNotFound) {
			t.Errorf("err = %v, want ErrNotFound", err)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		raw := contractBytes(t, "b", 100)
		digest, err := s.PutContract(ctx, raw)
		if err != nil {
			t.Fatal(err)
		}
		other, _ := compress(contractBytes(t, "c", 100))
		if _, err := s.c.Put(ctx, s.l.chunk(digest, 0), string(other)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Contract(ctx, digest); err == nil {
			t.Error("other bytes pass for the contract")
		}
		if _, err := s.c.Delete(ctx, s.l.chunk(digest, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Contract(ctx, digest); err == nil || !strings.Contains(err.Error(), "chunk 0 of 1") {
			t.Errorf("err = %v, want the missing chunk named", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		if _, err := s.PutContract(ctx, make([]byte, MaxContractBytes+1)); err == nil {
			t.Error("no error")
		}
	})
}

func TestMachines(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	org := participant.Organization("acme-org", "ignored")
	secret, err := s.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_HOST, org, "acme-host")
	if err != nil || len(secret) < 43 {
		t.Fatalf("secret of %d characters, %v", len(secret), err)
	}
	m, err := s.Machine(ctx, "acme-host")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.GetSecretSha256(), HashSecret(secret)) || m.GetParticipant().GetId() != "acme-host" ||
		m.GetParticipant().GetOrganizationId() != "acme-org" || m.GetDisabled() || m.GetCreatedAt() == nil {
		t.Errorf("stored %v", m)
	}
	if org.GetId() != "ignored" {
		t.Error("the caller's participant was changed")
	}
	if raw, err := s.c.Get(ctx, s.l.machine("acme-host")); err != nil || bytes.Contains(raw.Kvs[0].Value, []byte(secret)) {
		t.Errorf("the secret itself is stored (%v)", err)
	}

	rotated, err := s.RotateMachine(ctx, "acme-host")
	if err != nil || rotated == secret {
		t.Fatalf("rotation: %v", err)
	}
	if m, _ = s.Machine(ctx, "acme-host"); !bytes.Equal(m.GetSecretSha256(), HashSecret(rotated)) {
		t.Error("the old secret is still stored")
	}
	if err := s.DisableMachine(ctx, "acme-host"); err != nil {
		t.Fatal(err)
	}
	if m, _ = s.Machine(ctx, "acme-host"); !m.GetDisabled() {
		t.Error("not disabled")
	}
	if all, err := s.Machines(ctx); err != nil || len(all) != 1 || all[0].GetId() != "acme-host" {
		t.Errorf("Machines = %v, %v", all, err)
	}

	const host, client = registryv1.MachineKind_MACHINE_KIND_HOST, registryv1.MachineKind_MACHINE_KIND_CLIENT
	refusals := []struct {
		name string
		kind registryv1.MachineKind
		p    *participant.Participant
		id   string
		want string
	}{
		{"taken", host, org, "acme-host", "exists already"},
		{"no kind", registryv1.MachineKind_MACHINE_KIND_UNSPECIFIED, org, "a", "neither CLIENT nor HOST"},
		{"empty id", client, org, "", "an id is"},
		{"an email", client, org, "a@b.example", "an id is"},
		{"a slash", client, org, "a/b", "an id is"},
		{"a line break", client, org, "a\n", "an id is"},
		{"anonymous", client, participant.Anonymous(), "a", "a machine is"},
		{"nobody", client, nil, "a", "a machine is"},
		{"disagrees with itself", client, &participant.Participant{Kind: participantv1.Kind_KIND_APPLICATION, OrganizationId: "acme-org"}, "a", "disagrees"},
		{"reserved organization", client, participant.Organization("system-api", ""), "a", "reserved"},
		{"organization with a dot", client, participant.Organization("a.b", ""), "a", "label"},
	}
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			if _, err := s.CreateMachine(ctx, test.kind, test.p, test.id); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want %q", err, test.want)
			}
		})
	}
	for _, id := range []string{"nobody", "", "a/b"} {
		if _, err := s.RotateMachine(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("rotate %q: %v", id, err)
		}
		if err := s.DisableMachine(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("disable %q: %v", id, err)
		}
		if _, err := s.Machine(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("read %q: %v", id, err)
		}
	}
}

func TestEnsureAssertionKey(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "/other/prefix")
	ctx := testContext(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.EnsureAssertionKey(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r, err := s.c.Get(ctx, "/other/prefix/keys/assertion/", clientv3.WithPrefix())
	if err != nil || len(r.Kvs) != 1 {
		t.Fatalf("%d keys, %v; want one", len(r.Kvs), err)
	}
	_, v := watch(t, s, WatchOptions{})
	keys := v.until("there is a key", func(v *View) bool { return true }).AssertionKeys
	if len(keys) != 1 || len(keys[0].GetSeed()) != 32 || !strings.HasSuffix(string(r.Kvs[0].Key), "/"+keys[0].GetKid()) {
		t.Errorf("keys in the view: %v", keys)
	}
}
