package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// The limits of connections where nobody sets others.
const (
	defaultHeadTimeout     = 10 * time.Second
	defaultBodyTimeout     = mcp.DefaultBodyTimeout
	defaultIdleTimeout     = 2 * time.Minute
	defaultWriteTimeout    = mcp.DefaultWriteTimeout
	defaultMaxHeadBytes    = 64 << 10
	defaultShutdownTimeout = 30 * time.Second
)

// Limits bound what connections may cost a server. A field that is 0 stands for its default. What a body may weigh is
// the handler's own limit, and what a call may take is the tool's.
type Limits struct {
	// HeadTimeout is how long the head of a request may take to arrive, and the handshake of TLS; 10 s by default.
	HeadTimeout time.Duration
	// BodyTimeout is how long a body may take after that, whether the handler reads it or net/http discards it after a
	// refusal; 30 s by default. POST /mcp has the same limit of its own, and answers 408.
	BodyTimeout time.Duration
	// IdleTimeout is how long a connection may stay open without a request; 2 min by default.
	IdleTimeout time.Duration
	// WriteTimeout is how long a caller may take to accept what is written to the connection at once; 30 s by default, and
	// half of it at least. The handler sets deadlines of its own for the pieces of large answers and of HTTP/2's streams.
	WriteTimeout time.Duration
	// MaxHeadBytes is how large a request's head may be, give or take a few KiB; 64 KiB by default. A larger one is
	// answered with 431.
	MaxHeadBytes int
	// ShutdownTimeout is how long running requests may take to end when the server stops; 30 s by default.
	ShutdownTimeout time.Duration
}

// ConfiguredLimits are the limits that a configuration states.
func ConfiguredLimits(cfg *configv1.EdgeConfig) Limits {
	return Limits{
		BodyTimeout:  cfg.GetBodyTimeout().AsDuration(),
		IdleTimeout:  cfg.GetIdleTimeout().AsDuration(),
		WriteTimeout: cfg.GetWriteTimeout().AsDuration(),
	}
}

// ServeOption sets something about [Serve].
type ServeOption func(*Limits)

// WithLimits sets the limits of connections, all of them.
func WithLimits(l Limits) ServeOption {
	return func(limits *Limits) { *limits = l }
}

// Serve serves handler, usually an [Edge], on l until ctx ends. Then it takes no new requests, waits for the running
// ones, 30 seconds where no limit says otherwise, and cancels what still runs after that. It closes l.
//
// Where handler is an Edge that cannot serve its first snapshot, Serve stops as well, and gives that error.
//
// tlsConfig nil serves plain HTTP/1.1 and HTTP/2 with prior knowledge; otherwise TLS with HTTP/1.1 and HTTP/2. The
// error is nil after a stop in time.
func Serve(
	ctx context.Context, l net.Listener, handler http.Handler, tlsConfig *tls.Config, logger *slog.Logger, options ...ServeOption,
) error {
	var limits Limits
	for _, o := range options {
		o(&limits)
	}
	server := newServer(handler, tlsConfig, logger, &limits)
	l = &patientListener{Listener: l, timeout: cmp.Or(limits.WriteTimeout, defaultWriteTimeout)}
	served := make(chan error, 1)
	go func() {
		if tlsConfig != nil {
			served <- server.ServeTLS(l, "", "")
		} else {
			served <- server.Serve(l)
		}
	}()
	var failed <-chan error
	if e, ok := handler.(interface{ Failed() <-chan error }); ok {
		failed = e.Failed()
	}
	var failure error
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case failure = <-failed:
	case <-ctx.Done():
	}
	patience := cmp.Or(limits.ShutdownTimeout, defaultShutdownTimeout)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := server.Shutdown(stop)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop serving %s: requests still ran after %s: %w", l.Addr(), patience, err),
			server.Close())
	}
	<-served
	return errors.Join(failure, err)
}

// newServer holds connections to the limits.
func newServer(handler http.Handler, tlsConfig *tls.Config, logger *slog.Logger, limits *Limits) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(tlsConfig != nil)
	protocols.SetUnencryptedHTTP2(tlsConfig == nil)
	head := cmp.Or(limits.HeadTimeout, defaultHeadTimeout)
	return &http.Server{
		Handler:           handler,
		TLSConfig:         tlsConfig,
		Protocols:         protocols,
		ReadHeaderTimeout: head,
		// Of HTTP/1.1, net/http answers a refused request after it has discarded the body, and that waits for ever without
		// this. A handler that reads the body lifts it.
		ReadTimeout:    head + cmp.Or(limits.BodyTimeout, defaultBodyTimeout),
		IdleTimeout:    cmp.Or(limits.IdleTimeout, defaultIdleTimeout),
		MaxHeaderBytes: cmp.Or(limits.MaxHeadBytes, defaultMaxHeadBytes),
		// What net/http complains about may quote a request.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
