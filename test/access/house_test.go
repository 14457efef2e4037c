// Package access_test holds an installation to who may see and call what (access.md), from outside: requests go over
// sockets into real edges that follow one real etcd, and what an edge lets through reaches a real gRPC server, the
// witness, which checks the edge's word about the caller and answers with it.
//
// In come contracts as .proto text, identities as they are stored, and requests; out come answers, log lines, and what
// the witness was told. The expected answers come from a model of access.md that shares no code with the product. The
// tests here know what a caller, a service and an operator can know, and reach into no room of the edge.
package access_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"golang.org/x/crypto/argon2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. Whoever reaches it has failed.
const patience = 60 * time.Second

// The served protocol versions: three of the legacy era, and the modern one.
const (
	version20251125 = "2025-11-25"
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
	version20260728 = "2026-07-28"
)

// served are the protocol versions that an edge serves, newest first.
var served = []string{version20260728, version20251125, version20250618, version20250326}

// What every edge of a yard calls itself, and what tokens are therefore good for.
const (
	issuer   = "https://tools.example.com"
	audience = issuer + "/mcp"
)

// yard is an etcd with identities and contracts in it, and the witness that serves every contract. Its edges are
// opened one by one.
type yard struct {
	t       testing.TB
	etcd    *etcdtest.Server
	store   *registry.Store
	witness *witness
	// signer is the key that signs access tokens.
	signer tokenKey
	client *http.Client
	// marked says which way the marker shows.
	marked bool
}

// newYard starts an etcd with the keys of an installation, and a witness. All of it is over when the test ends.
func newYard(t testing.TB) *yard {
	t.Helper()
	y := &yard{t: t, etcd: etcdtest.New(t)}
	y.store = registry.NewStore(y.etcd.Client(), "")
	if err := y.store.EnsureAssertionKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.witness = startWitness(t, y.assertionKeys())
	y.signer = newTokenKey("first")
	y.put(y.signer.stored(time.Now().Add(-time.Hour)))
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	y.client = &http.Client{Transport: transport, Timeout: patience}
	t.Cleanup(transport.CloseIdleConnections)
	return y
}

// door is one edge of a yard behind a listener of its own.
type door struct {
	*yard
	edge  *edge.Edge
	url   string
	host  string
	lines *syncBuffer
}

// open starts an edge whose configuration is changed by the given function, and waits until it serves.
func (y *yard) open(change func(*configv1.EdgeConfig)) *door {
	y.t.Helper()
	return y.openAt(y.etcd.NewClient(), change)
}

// openAt is open with a client of etcd that the test chose.
func (y *yard) openAt(etcd *clientv3.Client, change func(*configv1.EdgeConfig)) *door {
	y.t.Helper()
	cfg := &configv1.EdgeConfig{
		BaseUrl: issuer, AuthorizationServer: &configv1.AuthorizationServer{},
		// Failed attempts are counted by address, and tests make many: each caller says where it comes from.
		TrustedProxies: []string{"127.0.0.0/8"},
		Addresses: []*configv1.ZoneAddresses{{
			Zone: "*", Ranges: []string{"127.0.0.0/8"},
			Ports: []uint32{uint32(netip.MustParseAddrPort(y.witness.address).Port())},
		}},
	}
	if change != nil {
		change(cfg)
	}
	d := &door{yard: y, lines: new(syncBuffer)}
	e, err := edge.New(y.t.Context(), edge.WithConfig(cfg), edge.WithEtcd(etcd, ""), edge.WithVersion("1.2.3"),
		edge.WithLogger(slog.New(slog.NewJSONHandler(d.lines, &slog.HandlerOptions{Level: slog.LevelInfo}))))
	if err != nil {
		y.t.Fatal(err)
	}
	d.edge = e
	server := httptest.NewServer(e)
	d.url, d.host = server.URL, server.Listener.Addr().String()
	y.t.Cleanup(func() {
		y.client.CloseIdleConnections()
		server.Close()
		if err := e.Close(); err != nil {
			y.t.Errorf("close the edge: %v", err)
		}
	})
	select {
	case <-e.Ready():
	case <-time.After(patience):
		y.t.Fatalf("the edge is not ready after %s; log:\n%s", patience, d.lines)
	}
	return d
}

// prefix is where an installation keeps its data unless configured otherwise.
const prefix = "/sallyport/v1/"

// The secret of every machine and the password of every user that put stores, unless a test says otherwise.
const (
	theSecret   = "the-secret-of-every-machine-in-this-yard"
	thePassword = "the password of every user in this yard"
)

// hashOfPassword is what is stored of a password, as the registry would: argon2id as a PHC string. It is the cheapest that
// there is, since every edge checks every user's.
func hashOfPassword(password string) string {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	const time, memory, threads = 1, 7 << 10, 1
	hash := argon2.IDKey([]byte(password), salt, time, memory, threads, 32)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, time, threads, b64(salt), b64(hash))
}

// thePasswordHash is the hash of thePassword; all users may share it, as each of them is verified apart.
var thePasswordHash = sync.OnceValue(func() string { return hashOfPassword(thePassword) })

// keyOf says where a message is stored.
func keyOf(m proto.Message) string {
	owner := func(organization string) string {
		if organization == "" {
			return "_"
		}
		return organization
	}
	switch m := m.(type) {
	case *identityv1.StoredOrganization:
		return prefix + "identities/organizations/" + m.GetId()
	case *identityv1.StoredApplication:
		return prefix + "identities/applications/" + owner(m.GetOrganizationId()) + "/" + m.GetId()
	case *identityv1.StoredUser:
		return prefix + "identities/users/" + owner(m.GetOrganizationId()) + "/" + m.GetEmail()
	case *identityv1.StoredRole:
		return prefix + "identities/roles/" + owner(m.GetOrganizationId()) + "/" + m.GetName()
	case *identityv1.StoredDelegate:
		return prefix + "identities/delegates/" + m.GetId()
	case *identityv1.StoredTokenKey:
		return prefix + "keys/token/" + m.GetKid()
	case *registryv1.StoredMachine:
		return prefix + "identities/machines/" + m.GetId()
	default:
		panic(fmt.Sprintf("nothing says where a %T is stored", m))
	}
}

// put writes what is stored of identities past every check that the registry's services make: what they would refuse
// may be there all the same.
func (y *yard) put(messages ...proto.Message) {
	y.t.Helper()
	ops := make([]clientv3.Op, len(messages))
	for i, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			y.t.Fatal(err)
		}
		ops[i] = clientv3.OpPut(keyOf(m), string(b))
	}
	y.commit(ops)
}

// remove takes away what is stored of identities.
func (y *yard) remove(messages ...proto.Message) {
	y.t.Helper()
	ops := make([]clientv3.Op, len(messages))
	for i, m := range messages {
		ops[i] = clientv3.OpDelete(keyOf(m))
	}
	y.commit(ops)
}

func (y *yard) commit(ops []clientv3.Op) {
	y.t.Helper()
	const most = 100 // of etcd's 128 operations in a transaction
	for len(ops) > 0 {
		n := min(most, len(ops))
		if _, err := y.etcd.Client().Txn(context.Background()).Then(ops[:n]...).Commit(); err != nil {
			y.t.Fatal(err)
		}
		ops = ops[n:]
	}
}

// organization and application are stored records, switched on.
func organization(id string) *identityv1.StoredOrganization {
	return &identityv1.StoredOrganization{Id: id, CreatedAt: timestamppb.Now()}
}

func application(organization, id string) *identityv1.StoredApplication {
	return &identityv1.StoredApplication{OrganizationId: organization, Id: id, CreatedAt: timestamppb.Now()}
}

// role is a stored role, of the platform where the organization is empty.
func role(organization, name string, actions ...string) *identityv1.StoredRole {
	return &identityv1.StoredRole{OrganizationId: organization, Name: name, Actions: actions, CreatedAt: timestamppb.Now()}
}

// machine is a stored client machine with theSecret.
func machine(id string, p *participant.Participant) *registryv1.StoredMachine {
	p = proto.CloneOf(p)
	p.Id = id
	hash := sha256.Sum256([]byte(theSecret))
	return &registryv1.StoredMachine{
		Id: id, Kind: registryv1.MachineKind_MACHINE_KIND_CLIENT, Participant: p, SecretSha256: hash[:],
	}
}

// The marker is how a test knows that an edge knows what was written: a tool that the marker's role opens and closes.
// Edges follow etcd in the order of its revisions, so that who sees the newest state of the role has seen all before it.
const (
	markerZone   = "app.acme.orders"
	markerAction = "marker.now"
	markerAlias  = "marker"
)

// mark registers the marker's tool, and the machine that looks at it.
func (y *yard) mark() *tool {
	y.t.Helper()
	p := participant.System("marker")
	p.Roles = []string{"marker"}
	y.put(machine("marker", p), role("", "marker", "marker.other"))
	return y.register(&blueprint{t: y.t, services: []*serviceDraft{{
		name: "MarkerService", methods: []methodDraft{{name: "Mark", alias: markerAlias, own: &rule{action: markerAction}}},
	}}}, place{zone: markerZone})[0]
}

// settle waits until the edges know everything that was written so far.
func (y *yard) settle(doors ...*door) {
	y.t.Helper()
	y.marked = !y.marked
	action := "marker.other"
	if y.marked {
		action = markerAction
	}
	y.put(role("", "marker", action))
	for i, d := range doors {
		y.until(fmt.Sprintf("edge %d knows what was written", i), func() bool {
			s := sender{version: version20251125, lines: bySecret("marker", theSecret), from: addressOf(1 << 23)}
			names, refusal := d.list(y.t, s)
			if refusal != nil {
				y.t.Fatalf("the marker is refused: %d %s", refusal.status, refusal.body)
			}
			return slices.Contains(names, markerAlias) == y.marked
		})
	}
}

// assertionKeys are the public keys with which services of the installation check assertions.
func (y *yard) assertionKeys() map[string]ed25519.PublicKey {
	y.t.Helper()
	r, err := y.etcd.Client().Get(context.Background(), prefix+"keys/assertion/", clientv3.WithPrefix())
	if err != nil {
		y.t.Fatal(err)
	}
	keys := make(map[string]ed25519.PublicKey)
	for _, kv := range r.Kvs {
		m := new(registryv1.StoredAssertionKey)
		if err := proto.Unmarshal(kv.Value, m); err != nil {
			y.t.Fatal(err)
		}
		keys[m.GetKid()] = ed25519.NewKeyFromSeed(m.GetSeed()).Public().(ed25519.PublicKey)
	}
	return keys
}

// until asks again and again until the answer is yes, and gives how long it took.
func (y *yard) until(what string, ask func() bool) time.Duration {
	y.t.Helper()
	from := time.Now()
	for !ask() {
		if time.Since(from) > patience {
			y.t.Fatalf("after %s it is not so: %s", patience, what)
		}
	}
	return time.Since(from)
}

// syncBuffer is a log that a test may read while an edge writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *syncBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

// readAll reads a body that must not fail.
func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
