package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The limits of a connection. What a body may take is the handler's own limit, and what a call may take is the tool's.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// shutdownTimeout is how long running requests may take to end when the server stops.
	shutdownTimeout = 30 * time.Second
)

// Serve serves handler, usually an [Edge], on l until ctx ends. Then it takes no new requests, waits up to 30 seconds
// for the running ones, and cancels what still runs after that. It closes l.
//
// tlsConfig nil serves plain HTTP/1.1 and HTTP/2 with prior knowledge; otherwise TLS with HTTP/1.1 and HTTP/2. The
// error is nil after a stop in time.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, tlsConfig *tls.Config, logger *slog.Logger) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(tlsConfig != nil)
	protocols.SetUnencryptedHTTP2(tlsConfig == nil)
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         tlsConfig,
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// What net/http complains about may quote a request.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		if tlsConfig != nil {
			served <- server.ServeTLS(l, "", "")
		} else {
			served <- server.Serve(l)
		}
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop serving %s: requests still ran after %s: %w", l.Addr(), shutdownTimeout, err),
			server.Close())
	}
	<-served
	return err
}
