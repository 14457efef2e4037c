package edge

import (
	"io"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// Option sets one thing about an [Edge].
type Option func(*settings)

// settings are the options of one edge.
type settings struct {
	config  *configv1.EdgeConfig
	etcd    *clientv3.Client
	prefix  string
	logger  *slog.Logger
	version string
	audit   io.Writer
	// now is the clock of limits; nil is time.Now.
	now func() time.Time
	// moved is told of each new snapshot and each change of freshness; tests wait for it.
	moved func()
}

// WithConfig sets the configuration. The edge keeps no reference to it. Its listener is not read: whoever serves the
// handler listens.
func WithConfig(config *configv1.EdgeConfig) Option {
	return func(s *settings) { s.config = config }
}

// WithEtcd gives the edge a client of the etcd that holds the registry's data under prefix, empty for the default one,
// instead of the configuration's. The caller closes the client, after the edge.
func WithEtcd(client *clientv3.Client, prefix string) Option {
	return func(s *settings) { s.etcd, s.prefix = client, prefix }
}

// WithLogger sets where the edge logs. The default is slog's.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) { s.logger = logger }
}

// WithVersion sets the version that MCP clients are told. The default is the main module's, from the build.
func WithVersion(version string) Option {
	return func(s *settings) { s.version = version }
}

// WithAuditLog sets where the audit log goes, instead of the configuration's file: JSON lines, as docs/platform-teams.md
// describes them. Each write has whole lines, and no two are made at once. What cannot be written is logged and counted,
// and lost. The caller closes the writer, after the edge.
func WithAuditLog(out io.Writer) Option {
	return func(s *settings) { s.audit = out }
}
