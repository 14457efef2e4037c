package dispatch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sallyport-dev/sallyport/internal/registry/address"
)

// Times of connections.
const (
	// keepAlive is how long a connection may be silent before the machine at its other end is asked for a sign of life,
	// and keepAliveTimeout how long the sign may take (registry.md, "Liveness"). The kernels ask each other, and gRPC
	// does not: gRPC servers that nobody configured otherwise end a connection, and the calls on it, at the third ping
	// within five minutes, which would cut every call that is silent for half a minute.
	keepAlive        = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// connectTimeout bounds one attempt to connect, handshakes included, so that a call whose instance has become a
	// black hole still has time for another one.
	connectTimeout = 3 * time.Second
	// ejectFirst is how long an instance is left alone after its first connection error in a row; each further one
	// doubles it, up to ejectLongest.
	ejectFirst   = time.Second
	ejectLongest = 30 * time.Second
)

// Windows of connections: how much an instance may send before what it sent was read. gRPC would begin with less and
// widen them as it measures the line, to connectionWindow at most; the pings that it measures with cost the edge more
// than they bring, since every result is read at once.
const (
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
)

// endpoint is what tells connections apart. A process has one instance id over all its services, so that they share
// one connection; the zone is part of it since the address policy judges by zone.
type endpoint struct{ zone, instance, address, serverName string }

// connection is the one connection to an instance. It is made at the first call and closed when the last call after
// its retirement ends.
type connection struct {
	d    *Dispatcher
	at   endpoint
	refs int // how many pools hold it; guarded by Dispatcher.mu

	once   sync.Once
	client *grpc.ClientConn
	err    error

	// calls counts the running calls; with the retired bit set no new one begins.
	calls     atomic.Int64
	closeOnce sync.Once

	// failures and ejectedUntil (in Unix nanoseconds) are the local ejection.
	failures     atomic.Int32
	ejectedUntil atomic.Int64
}

const retired = int64(1) << 62

// acquire admits a call, unless the connection is retired. An admitted call must release.
func (c *connection) acquire() bool {
	if c.calls.Add(1)&retired == 0 {
		return true
	}
	c.release()
	return false
}

func (c *connection) release() {
	if c.calls.Add(-1) == retired {
		c.close()
	}
}

// retire lets no new call in; running ones finish.
func (c *connection) retire() {
	if c.calls.Or(retired) == 0 {
		c.close()
	}
}

func (c *connection) close() {
	c.closeOnce.Do(func() {
		c.once.Do(func() { c.err = errors.New("the connection is closed") })
		if c.client != nil {
			_ = c.client.Close()
		}
		c.d.open.Done()
	})
}

// dial gives the client connection; the first call makes it. Making it does no input or output.
func (c *connection) dial() (*grpc.ClientConn, error) {
	c.once.Do(func() { c.client, c.err = c.d.newClient(c.at) })
	return c.client, c.err
}

func (d *Dispatcher) newClient(at endpoint) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if at.serverName != "" {
		config := &tls.Config{}
		if d.options.TLS != nil {
			config = d.options.TLS.Clone()
		}
		config.ServerName = at.serverName
		config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
		transport = credentials.NewTLS(config)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return d.dial(ctx, at) }),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // what may be repeated is decided here, not by gRPC
		grpc.WithUserAgent("sallyport-edge"),
		grpc.WithStaticStreamWindowSize(streamWindow),
		grpc.WithStaticConnWindowSize(connectionWindow),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: ejectFirst / 2, Multiplier: 1.6, Jitter: 0.2, MaxDelay: ejectLongest / 3},
			MinConnectTimeout: connectTimeout,
		}),
	}
	client, err := grpc.NewClient("passthrough:///"+at.address, append(options, d.options.DialOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", at.address, err)
	}
	return client, nil
}

// dial connects to the instance. The name is resolved here and every address that it resolves to is judged before it
// is dialled, so that a name cannot lead elsewhere between the judgement and the dial (registry.md, "Addresses").
func (d *Dispatcher) dial(ctx context.Context, at endpoint) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	host, port, err := address.Split(at.address)
	if err != nil {
		return nil, err
	}
	ips, err := d.resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	var problems []error
	for _, ip := range ips {
		ip = ip.Unmap()
		if err := d.options.Addresses.CheckDial(at.zone, ip, host, port); err != nil {
			d.options.Logger.Warn("an instance's address is not allowed and is not dialled", "zone", at.zone,
				"instance", at.instance, "error", err)
			problems = append(problems, err)
			continue
		}
		dialer := net.Dialer{
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAliveTimeout, Count: 1},
			Control:         limitSilence,
		}
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(int(port))))
		if err == nil {
			return conn, nil
		}
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return nil, fmt.Errorf("resolve %s: it has no address", host)
	}
	return nil, errors.Join(problems...)
}

func (d *Dispatcher) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	return d.options.Resolve(ctx, host)
}

// healthy reports whether the instance is not ejected.
func (c *connection) healthy(now time.Time) bool { return c.ejectedUntil.Load() <= now.UnixNano() }

// eject leaves the instance alone for a while. Calls that fail together count as one failure.
func (c *connection) eject(now time.Time, why error) {
	until := c.ejectedUntil.Load()
	if until > now.UnixNano() {
		return
	}
	pause := ejectLongest
	if n := c.failures.Load(); n < 5 {
		pause = min(ejectFirst<<n, ejectLongest)
	}
	if c.ejectedUntil.CompareAndSwap(until, now.Add(pause).UnixNano()) {
		c.failures.Add(1)
		c.d.options.Logger.Warn("an instance does not answer and is left alone for a while", "zone", c.at.zone,
			"instance", c.at.instance, "address", c.at.address, "for", pause, "error", why)
	}
}

// succeeded forgets earlier failures.
func (c *connection) succeeded() {
	if c.failures.Load() != 0 {
		c.failures.Store(0)
		c.ejectedUntil.Store(0)
	}
}
