package dispatch

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// Access judges the access rule of a function anew, from what is stored of it now. It must be safe for concurrent use
// and answer from memory.
type Access interface {
	// Permits gives nil if the participant may call the function, a full method of the service, with the arguments, which
	// are canonical JSON, and else the reason.
	Permits(p *participant.Participant, service registry.Key, fullMethod string, arguments []byte) error
	// Knows reports whether the rule that Permits judges by is also that of the instance's own contract.
	Knows(i *registryv1.StoredInstance) bool
}

// AddressPolicy says which addresses may be dialled. address.Policy is one.
type AddressPolicy interface {
	CheckDial(zone string, ip netip.Addr, host string, port uint16) error
}

// Options say how a dispatcher works.
type Options struct {
	// Rules are the zone rules of the second door.
	Rules participant.Rules
	// Access is the access rule of the second door. Required.
	Access Access
	// Addresses says which addresses may be dialled. Required.
	Addresses AddressPolicy
	// MaxResponseBytes is the largest response that is accepted; 0 means 64 MiB. A larger one is refused whole.
	MaxResponseBytes int
	// DefaultTimeout is the deadline of a call whose tool states none; 0 means 30 s. MaxTimeout bounds every deadline;
	// 0 means 5 min.
	DefaultTimeout, MaxTimeout time.Duration
	// TLS is the client's side of TLS to instances that register a server name: roots, and a certificate for mTLS. The
	// server name is set for each instance. Nil means the system's roots.
	TLS *tls.Config
	// Resolve resolves a host name; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// DialOptions are added to each connection, for traces and metrics.
	DialOptions []grpc.DialOption
	// Logger hears of ejected instances and refused addresses. Nil discards.
	Logger *slog.Logger
	// Now is the clock of ejection and signing; nil means time.Now.
	Now func() time.Time
}

// Dispatcher sends calls to instances. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	state   atomic.Pointer[state]
	// codec and largest are options of every call.
	codec, largest grpc.CallOption

	mu          sync.Mutex // guards what follows; never taken on a call's path
	connections map[endpoint]*connection
	closed      bool
	open        sync.WaitGroup // the connections that are not closed yet
}

// state is what calls read. It is immutable.
type state struct {
	pools  map[registry.Key]*pool
	signer *assertion.Signer // nil while there is no key
	seed   []byte
	closed bool
}

// New makes a dispatcher that knows no instances yet.
func New(o Options) *Dispatcher {
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = 64 << 20
	}
	if o.DefaultTimeout <= 0 {
		o.DefaultTimeout = 30 * time.Second
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 5 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	d := &Dispatcher{
		options: o, connections: map[endpoint]*connection{},
		codec: grpc.ForceCodecV2(passThrough{}), largest: grpc.MaxCallRecvMsgSize(o.MaxResponseBytes),
	}
	d.state.Store(&state{})
	return d
}

// Update takes over the instances and the signing key of a view. Connections to instances that are gone or draining
// take no new calls and close when the running ones have ended. It costs in proportion to the number of services, and
// little for those that did not change. It does no input or output.
func (d *Dispatcher) Update(v *registry.View) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || v == nil {
		return
	}
	old := d.state.Load()
	next := &state{pools: make(map[registry.Key]*pool, len(v.Instances))}
	next.signer, next.seed = d.signer(old, v.AssertionKeys)
	// New pools take their connections before old ones let go, so that what stays stays connected.
	for key, list := range v.Instances {
		if p := old.pools[key]; p != nil && sameList(p.source, list) {
			next.pools[key] = p
			continue
		}
		audience := assertion.Audience(key.Zone, key.Service)
		var members []*member
		for _, i := range list {
			if !i.GetDraining() && i.GetZone() == key.Zone && i.GetService() == key.Service && len(members) < longestSchedule {
				members = append(members, &member{stored: i, audience: audience, connection: d.take(i)})
			}
		}
		next.pools[key] = newPool(list, members)
	}
	d.state.Store(next)
	for key, p := range old.pools {
		if next.pools[key] != p {
			d.drop(p)
		}
	}
}

// sameList reports whether two lists of a view are one. Lists are never changed in place.
func sameList(a, b []*registryv1.StoredInstance) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// signer gives the signer for the newest key. A key that cannot sign is passed over.
func (d *Dispatcher) signer(old *state, keys []*registryv1.StoredAssertionKey) (*assertion.Signer, []byte) {
	for _, k := range keys {
		if old.signer != nil && old.signer.Kid() == k.GetKid() && bytes.Equal(old.seed, k.GetSeed()) {
			return old.signer, old.seed
		}
		s, err := assertion.NewSigner(k.GetKid(), k.GetSeed())
		if err == nil {
			return s, k.GetSeed()
		}
		d.options.Logger.Error("a stored assertion key cannot sign and is passed over", "error", err)
	}
	return nil, nil
}

// take gives the connection of an instance and counts one more holder.
func (d *Dispatcher) take(i *registryv1.StoredInstance) *connection {
	at := endpoint{zone: i.GetZone(), instance: i.GetInstanceId(), address: i.GetAddress(), serverName: i.GetTlsServerName()}
	c := d.connections[at]
	if c == nil {
		c = &connection{d: d, at: at}
		d.connections[at] = c
		d.open.Add(1)
	}
	c.refs++
	return c
}

// drop lets a pool's connections go; one that nobody holds is retired.
func (d *Dispatcher) drop(p *pool) {
	for _, m := range p.members {
		if m.refs--; m.refs == 0 {
			delete(d.connections, m.at)
			m.retire()
		}
	}
}

// Close takes no new calls, waits for the running ones, whose deadlines bound the wait, and closes every connection.
func (d *Dispatcher) Close() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		for _, p := range d.state.Swap(&state{closed: true}).pools {
			d.drop(p)
		}
	}
	d.mu.Unlock()
	d.open.Wait()
}
