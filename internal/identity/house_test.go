package identity_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/identity"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// house is both services over real gRPC on an etcd of its own, with two organizations and machines to call as.
type house struct {
	t             *testing.T
	store         *registry.Store
	watcher       *registry.Watcher
	conn          *grpc.ClientConn
	identities    identityv1.IdentityServiceClient
	organizations identityv1.OrganizationServiceClient
	secrets       map[string]string
	people        map[string]*participant.Participant
	delegates     map[string]string // by organization
	views         chan *registry.View
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{
		t: t, store: registry.NewStore(etcdtest.Start(t), ""), secrets: map[string]string{},
		people: map[string]*participant.Participant{}, delegates: map[string]string{}, views: make(chan *registry.View, 1000),
	}
	ctx := h.ctx()
	h.must(h.store.EnsureSigningKeys(ctx))
	h.must(h.store.EnsureBuiltInRoles(ctx))
	for _, role := range []*identityv1.StoredRole{
		{Name: "user-manager", Actions: []string{"identity.users.*", "identity.machines.*", "identity.delegates.*", "identity.roles.*"}},
		{Name: "payer", Actions: []string{"payments.pay"}, Assignable: true},
	} {
		_, err := h.store.CreateRole(ctx, role)
		h.must(err)
	}
	for _, organization := range []string{"acme", "other"} {
		_, err := h.store.CreateOrganization(ctx, organization, "")
		h.must(err)
		_, err = h.store.CreateApplication(ctx, organization, "orders", "")
		h.must(err)
		_, err = h.store.CreateRole(ctx, &identityv1.StoredRole{OrganizationId: organization, Name: "refunder", Actions: []string{"orders.refund"}})
		h.must(err)
		_, err = h.store.CreateUser(ctx, &identityv1.StoredUser{
			OrganizationId: organization, Email: "ada@" + organization + ".example", Grants: []*identityv1.StoredGrant{{}, {ApplicationId: "orders"}},
		})
		h.must(err)
		d, err := h.store.CreateDelegate(ctx, &identityv1.StoredDelegate{
			OrganizationId: organization, OwnerEmail: "ada@" + organization + ".example", ClientId: "https://client.example",
		})
		h.must(err)
		h.delegates[organization] = d.GetId()
	}
	h.machine("system.admin", participant.System(""), "platform-admin")
	h.machine("system.plain", participant.System(""))
	h.machine("system.manager", participant.System(""), "user-manager")
	h.machine("acme.admin", participant.Organization("acme", ""), "organization-admin")
	h.machine("acme.viewer", participant.Organization("acme", ""), "organization-viewer")
	h.machine("acme.plain", participant.Organization("acme", ""), "acme/refunder")
	h.machine("other.admin", participant.Organization("other", ""), "organization-admin")
	h.machine("acme.app", participant.Application("acme", "orders", ""), "organization-admin", "platform-admin")

	h.watcher = h.store.Watch(context.Background(), registry.WatchOptions{OnChange: func(v *registry.View) { h.views <- v }})
	t.Cleanup(h.watcher.Close)
	<-h.watcher.Ready()
	door := rpc.NewDoor(rpc.Options{Watcher: h.watcher})
	server := grpc.NewServer(door.Interceptors())
	identity.New(identity.Options{Store: h.store}).Attach(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	h.conn, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	h.must(err)
	t.Cleanup(func() { _ = h.conn.Close() })
	h.identities, h.organizations = identityv1.NewIdentityServiceClient(h.conn), identityv1.NewOrganizationServiceClient(h.conn)
	return h
}

func (h *house) ctx() context.Context {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) machine(id string, p *participant.Participant, roles ...string) {
	h.t.Helper()
	p.Roles, p.Id = roles, id
	_, secret, err := h.store.AddMachine(h.ctx(), registryv1.MachineKind_MACHINE_KIND_CLIENT, p, id)
	h.must(err)
	h.secrets[id], h.people[id] = secret, p
}

// as is a context with a machine's credentials.
func (h *house) as(machine string) context.Context {
	h.t.Helper()
	return metadata.AppendToOutgoingContext(h.ctx(), rpc.ClientIDKey, machine, rpc.ClientSecretKey, h.secrets[machine])
}

// vouched is a context with the edge's assertion of a participant.
func (h *house) vouched(p *participant.Participant, method, audience string, now time.Time) context.Context {
	h.t.Helper()
	k := h.watcher.View().AssertionKeys[0]
	return h.signed(k.GetKid(), k.GetSeed(), p, method, audience, now)
}

func (h *house) signed(kid string, seed []byte, p *participant.Participant, method, audience string, now time.Time) context.Context {
	h.t.Helper()
	signer, err := assertion.NewSigner(kid, seed)
	h.must(err)
	token, err := signer.Sign(p, method, audience, now)
	h.must(err)
	return metadata.AppendToOutgoingContext(h.ctx(), assertion.AssertionKey, token)
}

// forged is signed with a key of the caller's own, under the id of the right one.
func (h *house) forged(p *participant.Participant, method, audience string) context.Context {
	return h.signed(h.watcher.View().AssertionKeys[0].GetKid(), make([]byte, ed25519.SeedSize), p, method, audience, time.Now())
}

// until waits for a view, as edges have it.
func (h *house) until(what string, satisfies func(*registry.View) bool) {
	h.t.Helper()
	give := time.After(patience)
	for {
		select {
		case v := <-h.views:
			if satisfies(v) {
				return
			}
		case <-give:
			h.t.Fatalf("no view in which %s", what)
		}
	}
}

// rpcs are all RPCs of both services.
func rpcs(t *testing.T) []protoreflect.MethodDescriptor {
	t.Helper()
	var all []protoreflect.MethodDescriptor
	for _, name := range []protoreflect.FullName{"sallyport.identity.v1.IdentityService", "sallyport.identity.v1.OrganizationService"} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			t.Fatal(err)
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			all = append(all, methods.Get(i))
		}
	}
	return all
}

func fullMethod(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

func audienceOf(m protoreflect.MethodDescriptor) string {
	if m.Parent().Name() == "OrganizationService" {
		return "system-api~" + string(m.Parent().FullName())
	}
	return "management-api~" + string(m.Parent().FullName())
}

// request makes a valid request of an RPC about things of an organization, which are called name where they have a name.
func request(t *testing.T, m protoreflect.MethodDescriptor, organization, name, delegate string) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	req := kind.New()
	fields := req.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch f.Name() {
		case "organization_id":
			if m.Parent().Name() == "OrganizationService" {
				organization = name
			}
			req.Set(f, protoreflect.ValueOfString(organization))
		case "application_id", "name":
			if f.Name() == "application_id" && m.Name() == "CreateMachine" || m.Name() == "CreateUser" {
				continue
			}
			req.Set(f, protoreflect.ValueOfString(name))
		case "email":
			req.Set(f, protoreflect.ValueOfString(name+"@"+organization+".example"))
		case "machine_id":
			req.Set(f, protoreflect.ValueOfString(organization+"."+name))
		case "delegate_id":
			req.Set(f, protoreflect.ValueOfString(delegate))
		case "password":
			req.Set(f, protoreflect.ValueOfString("correct horse battery"))
		case "kind", "use":
			req.Set(f, protoreflect.ValueOfEnum(1))
		case "actions":
			list := req.Mutable(f).List()
			list.Append(protoreflect.ValueOfString("orders.refund"))
		case "grants":
			list := req.Mutable(f).List()
			list.Append(list.NewElement())
		case "roles", "title", "description", "assignable", "page_size", "page_token", "revoke_others", "etag":
		default:
			t.Fatalf("%s: how is %s filled?", m.FullName(), f.Name())
		}
	}
	return req.Interface()
}

// call calls an RPC.
func (h *house) call(ctx context.Context, m protoreflect.MethodDescriptor, req proto.Message) (proto.Message, error) {
	h.t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	h.must(err)
	answer := kind.New().Interface()
	return answer, h.conn.Invoke(ctx, fullMethod(m), req, answer)
}

// wantError checks an error's code and that its text has every part.
func wantError(t *testing.T, err error, code codes.Code, parts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("err = %v, want code %v", err, code)
		return
	}
	if err == nil {
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

// everything is all that is stored of identities, as text.
func (h *house) everything() string {
	h.t.Helper()
	var b strings.Builder
	for _, organization := range []string{"", "acme", "other"} {
		applications, _, err := h.store.Applications(h.ctx(), organization, "", 100)
		h.must(err)
		users, _, err := h.store.Users(h.ctx(), organization, "", 100)
		h.must(err)
		machines, _, err := h.store.MachinesOf(h.ctx(), organization, "", 100)
		h.must(err)
		delegates, _, err := h.store.Delegates(h.ctx(), organization, "", 100)
		h.must(err)
		roles, _, err := h.store.Roles(h.ctx(), organization, "", 100)
		h.must(err)
		add(&b, applications)
		add(&b, users)
		add(&b, machines)
		add(&b, delegates)
		add(&b, roles)
	}
	return b.String()
}

func add[M proto.Message](b *strings.Builder, all []M) {
	for _, m := range all {
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		fmt.Fprintf(b, "%s %x\n", m.ProtoReflect().Descriptor().Name(), raw)
	}
}
