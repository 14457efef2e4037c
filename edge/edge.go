// Package edge is the MCP edge as an http.Handler: it publishes the RPCs that teams annotated as tools and calls them
// over gRPC on behalf of whoever asks.
//
// In come HTTP requests, and the registry's data from etcd; out go answers, and calls to the instances that etcd names.
// The package joins the rooms and has no rules of its own: internal/registry watches etcd, internal/catalog knows which
// tools there are and who sees them, internal/mcp speaks the protocol, internal/dispatch reaches the services.
//
// An [Edge] keeps no state of its callers: any replica answers any request.
package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"buf.build/go/protovalidate"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/strict"
	"github.com/sallyport-dev/sallyport/participant"
)

// Edge serves POST /mcp, the metadata of OAuth, /healthz, /readyz and /metrics, and, where it is an authorization server,
// access tokens. It is safe for concurrent use.
type Edge struct {
	log        *slog.Logger
	paths      map[string]http.Handler
	metrics    *metrics
	client     *clientv3.Client // nil where the caller's is used
	watcher    *registry.Watcher
	catalog    *catalog.Catalog
	dispatcher *dispatch.Dispatcher
	audit      *lifecycle.Audit // nil where there is no audit log
	auditFile  *lifecycle.File  // nil where the audit log is not a file of ours
	// ready is closed at the first snapshot, unless it cannot be served: unusable is true then, and failed says why.
	ready    chan struct{}
	unusable atomic.Bool
	failed   chan error
}

// New starts an edge. It does not wait for etcd: until the registry's data was read once, /readyz and POST /mcp answer
// 503. The edge follows etcd until Close is called or ctx ends; requests are answered as long as it is open.
//
// The error names the option or the field of the configuration that is wrong.
func New(ctx context.Context, options ...Option) (*Edge, error) {
	s := settings{config: new(configv1.EdgeConfig), logger: slog.Default(), version: buildVersion(), moved: func() {}}
	for _, o := range options {
		o(&s)
	}
	e, err := open(ctx, &s)
	if err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	return e, nil
}

// open checks everything that can be wrong before it starts anything.
func open(ctx context.Context, s *settings) (_ *Edge, err error) {
	cfg := proto.CloneOf(s.config)
	if s.etcd != nil {
		// The rules demand an etcd, and here is one.
		cfg.Etcd = &configv1.EtcdClient{Endpoints: s.etcd.Endpoints(), Prefix: s.prefix}
	}
	if err := protovalidate.Validate(cfg); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	rules := participant.Rules{
		OrganizationsReachTheirApplications: cfg.GetOrganizationsReachTheirApplications(),
		AnonymousZones:                      cfg.GetAnonymousZones(),
	}
	if err := rules.Check(); err != nil {
		return nil, err
	}
	for _, zone := range cfg.GetServesZones() {
		if err := participant.CheckZone(zone); err != nil {
			return nil, fmt.Errorf("serves_zones: %w", err)
		}
	}
	profile := schema.Profile{}
	if id := cfg.GetJsonProfile(); id != "" {
		var known bool
		if profile, known = schema.Builtin(id); !known {
			return nil, fmt.Errorf("json_profile: there is no profile %q: want one of %q", id, schema.BuiltinIDs())
		}
	}
	dialects, err := clientDialects(cfg.GetClientDialects())
	if err != nil {
		return nil, err
	}
	addresses, err := address.New(cfg.GetAddresses(), cfg.GetEtcd().GetEndpoints()...)
	if err != nil {
		return nil, err
	}
	forwarding, err := dispatch.NewForwarding(cfg.GetForwardedHeaders())
	if err != nil {
		return nil, err
	}
	e := &Edge{log: s.logger, ready: make(chan struct{}), failed: make(chan error, 1)}
	e.metrics = newMetrics(e.Stale)
	if err := e.openAudit(s, cfg.GetAuditLog()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = e.closeAudit()
		}
	}()
	access, err := e.authentication(cfg, rules, s.now)
	if err != nil {
		return nil, err
	}
	protocol, err := mcp.New(mcp.Options{
		Catalog:          &tools{e: e},
		Authenticator:    access.authenticator,
		AccessTokens:     access.server != nil,
		Proxies:          access.proxies,
		Logger:           s.logger,
		Settled:          e.settled,
		Decided:          e.decided(),
		MaxBodyBytes:     cfg.GetMaxRequestBytes(),
		MaxJSONDepth:     int(cfg.GetMaxJsonDepth()),
		MaxJSONNumber:    int(cfg.GetMaxJsonNumberLength()),
		BodyTimeout:      cfg.GetBodyTimeout().AsDuration(),
		WriteTimeout:     cfg.GetWriteTimeout().AsDuration(),
		RequestTimeout:   cfg.GetRequestTimeout().AsDuration(),
		MaxAnswerBytes:   cfg.GetMaxAnswerBytes(),
		ProgressInterval: cfg.GetProgressInterval().AsDuration(),
		Dialects:         dialects,
		ListTTL:          listTTL(cfg),
		CORS:             cfg.GetCors(),
		MaxRequests:      int(cfg.GetMaxRequestsInFlight()),
		MaxCalls:         int(cfg.GetMaxCallsPerParticipant()),
		CallRate:         callRate(cfg.GetCallRate()),
		Now:              s.now,
		Forward:          forwarder(forwarding),
		PageSize:         int(cfg.GetPageSize()),
		BaseURL:          cfg.GetBaseUrl(),
		AllowedOrigins:   cfg.GetAllowedOrigins(),
		Version:          s.version,
	})
	if err != nil {
		return nil, err
	}
	e.metrics.inFlight(protocol.InFlight)
	e.paths = map[string]http.Handler{
		"/mcp":     protocol,
		"/healthz": readOnly(http.HandlerFunc(e.healthz)),
		"/readyz":  readOnly(http.HandlerFunc(e.readyz)),
		"/metrics": readOnly(e.metrics.handler()),
	}
	maps.Copy(e.paths, access.handlers())

	client := s.etcd
	if client == nil {
		if client, err = registry.Dial(cfg.GetEtcd()); err != nil {
			return nil, err
		}
		e.client = client
	}
	store := registry.NewStore(client, cfg.GetEtcd().GetPrefix())
	e.catalog = catalog.New(catalog.Options{
		Contracts:        store,
		Rules:            rules,
		ServesZones:      cfg.GetServesZones(),
		NoAuthentication: cfg.GetAnonymousOnly(),
		DefaultProfile:   profile,
		TextLimits:       textLimits(cfg),
		Logger:           s.logger,
		OnSnapshot: func(snapshot *catalog.Snapshot) {
			if e.metrics.snapshot.Swap(time.Now().UnixNano()) == 0 {
				e.begin(snapshot)
			}
			s.moved()
		},
	})
	e.dispatcher = dispatch.New(dispatch.Options{
		Rules:            rules,
		Access:           e.catalog,
		Addresses:        addresses,
		MaxResponseBytes: int(cfg.GetMaxResponseBytes()),
		DefaultTimeout:   cfg.GetDefaultTimeout().AsDuration(),
		MaxTimeout:       cfg.GetMaxTimeout().AsDuration(),
		Logger:           s.logger,
	})
	e.watcher = store.Watch(ctx, registry.WatchOptions{
		Logger: s.logger,
		OnChange: func(view *registry.View) {
			// Instances first: what the catalog then lists can be called.
			e.dispatcher.Update(view)
			e.catalog.Update(view)
			s.moved()
		},
		OnStale: func(stale bool) {
			if stale {
				e.log.Warn("etcd is silent: the edge serves its last snapshot, which is stale")
			} else {
				e.log.Info("etcd answers again: the snapshot is fresh")
			}
			s.moved()
		},
	})
	return e, nil
}

// ServeHTTP serves the edge's paths, spelled exactly: whoever stands before the edge and lets some of them through reads
// them as they are sent. An http.ServeMux would redirect other spellings, and so repeat what the caller sent.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Where a path has escapes that it does not need, it is RawPath that is spelled as it was sent.
	if h, ok := e.paths[r.URL.Path]; ok && r.URL.RawPath == "" {
		h.ServeHTTP(w, r)
		return
	}
	answer(w, http.StatusNotFound, "not found")
}

// begin serves the first snapshot, or says why it cannot be served: without authentication, nobody may call a tool that
// asks who calls, and whoever started the edge so should know at once. One that comes later is hidden.
func (e *Edge) begin(first *catalog.Snapshot) {
	var unauthenticated []string
	for h := range first.Hidden() {
		if h.Unauthenticated {
			unauthenticated = append(unauthenticated, h.Resource)
		}
	}
	if len(unauthenticated) == 0 {
		e.log.Info("edge is ready")
		close(e.ready)
		return
	}
	slices.Sort(unauthenticated)
	more := ""
	if n := len(unauthenticated); n > maxNamed {
		unauthenticated, more = unauthenticated[:maxNamed], fmt.Sprintf(" and %d more", n-maxNamed)
	}
	e.unusable.Store(true)
	e.failed <- fmt.Errorf("edge: the access rules of %s%s ask who calls, and anonymous_only is set: let callers "+
		"authenticate, or serve other zones", strings.Join(unauthenticated, ", "), more)
}

// maxNamed is how many tools an error names.
const maxNamed = 10

// Ready is closed when the edge has its first snapshot of the tools, if it can serve it.
func (e *Edge) Ready() <-chan struct{} { return e.ready }

// Failed gives one error if the first snapshot cannot be served, so that the edge will never be ready: it has a tool
// whose access rule asks who calls, and the configuration says anonymous_only. [Serve] stops then, with this error.
func (e *Edge) Failed() <-chan error { return e.failed }

// Stale reports whether etcd is silent, so that the edge serves what it last knew.
func (e *Edge) Stale() bool { return e.watcher.Stale() }

func (e *Edge) isReady() bool {
	select {
	case <-e.Ready():
		return true
	default:
		return false
	}
}

// Close stops following etcd, waits for running calls, whose deadlines bound the wait, and closes every connection.
// Stop serving requests before. What the audit log is still to say is written. The error is that of the audit log, and of
// closing the client of etcd, where it is the edge's own.
func (e *Edge) Close() error {
	e.watcher.Close()
	e.catalog.Close()
	e.dispatcher.Close()
	err := e.closeAudit()
	if e.client == nil {
		return err
	}
	if failure := e.client.Close(); failure != nil && !errors.Is(failure, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("edge: close the client of etcd: %w", failure))
	}
	return err
}

// settled logs and counts one request.
func (e *Edge) settled(ctx context.Context, s *lifecycle.Settlement) {
	lifecycle.Log(ctx, e.log, s)
	if e.audit != nil {
		e.audit.Settled(s)
	}
	e.metrics.settled(s)
}

func callRate(r *configv1.CallRate) mcp.CallRate {
	return mcp.CallRate{PerSecond: r.GetPerSecond(), Burst: int(r.GetBurst())}
}

// forwarder is nil where nothing is forwarded.
func forwarder(f *dispatch.Forwarding) mcp.Forwarder {
	if f == nil {
		return nil
	}
	return f
}

// clientDialects are the dialects of known and of configured clients by the name that they give themselves.
func clientDialects(configured []*configv1.ClientDialect) (map[string]dialect.Dialect, error) {
	all := make(map[string]dialect.Dialect)
	for _, c := range dialect.Clients() {
		all[c.Name] = c.Dialect
	}
	seen := make(map[string]bool)
	for i, c := range configured {
		if seen[c.GetClient()] {
			return nil, fmt.Errorf("client_dialects[%d].client: %q stands twice: give each client one dialect", i, c.GetClient())
		}
		seen[c.GetClient()] = true
		d, ok := dialect.Parse(c.GetDialect())
		if !ok {
			return nil, fmt.Errorf("client_dialects[%d].dialect: there is no dialect %q: want one of %s", i, c.GetDialect(),
				strings.Join(unchanging(), ", "))
		}
		if d.ChangesArguments() {
			return nil, fmt.Errorf("client_dialects[%d].dialect: %s changes how arguments are spelled, so that a request must "+
				"ask for it itself", i, d)
		}
		all[c.GetClient()] = d
	}
	return all, nil
}

// unchanging are the names of the dialects that leave arguments as they are.
func unchanging() (names []string) {
	for _, d := range dialect.All() {
		if !d.ChangesArguments() {
			names = append(names, d.String())
		}
	}
	return names
}

// textLimits hold JSON texts within arguments to what the arguments themselves are held to.
func textLimits(cfg *configv1.EdgeConfig) strict.Limits {
	return strict.Limits{
		Depth:  int(cmp.Or(cfg.GetMaxJsonDepth(), mcp.DefaultMaxJSONDepth)),
		Number: int(cmp.Or(cfg.GetMaxJsonNumberLength(), mcp.DefaultMaxJSONNumber)),
	}
}

// listTTL tells an absent setting from one of nothing.
func listTTL(cfg *configv1.EdgeConfig) time.Duration {
	if cfg.ListTtl != nil && cfg.GetListTtl().AsDuration() == 0 {
		return -1
	}
	return cfg.GetListTtl().AsDuration()
}

// buildVersion is the version of the main module, as far as the build knows it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
