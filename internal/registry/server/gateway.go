package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// restMarshaler is for requests and answers. A misspelled field is an error and not silence.
var restMarshaler = &runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{EmitUnpopulated: true}}

// Gateway serves RegistryService, IdentityService and OrganizationService as REST over a connection to them. Of the request's headers it passes the machine's
// credentials on, and nothing else: a header never becomes metadata by the way.
func Gateway(ctx context.Context, conn grpc.ClientConnInterface) (http.Handler, error) {
	hearing()
	mux := runtime.NewServeMux(
		runtime.WithIncomingHeaderMatcher(func(header string) (string, bool) {
			switch name := strings.ToLower(header); name {
			case ClientIDKey, ClientSecretKey:
				return name, true
			default:
				return "", false
			}
		}),
		runtime.WithMarshalerOption(runtime.MIMEWildcard, restMarshaler),
		runtime.WithMiddlewares(hear),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
	)
	err := errors.Join(
		registryv1.RegisterRegistryServiceHandlerClient(ctx, mux, registryv1.NewRegistryServiceClient(conn)),
		identityv1.RegisterIdentityServiceHandlerClient(ctx, mux, identityv1.NewIdentityServiceClient(conn)),
		identityv1.RegisterOrganizationServiceHandlerClient(ctx, mux, identityv1.NewOrganizationServiceClient(conn)),
	)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, maxMessageBytes)
		mux.ServeHTTP(w, r)
	}), nil
}

// restServer serves REST on a listener. It reaches the service, through the same interceptors, over a pipe inside the
// process, and so needs no certificate to trust itself.
type restServer struct {
	listener net.Listener
	web      *http.Server
	pipe     *bufconn.Listener
	inner    *grpc.Server
	conn     *grpc.ClientConn
}

// newREST makes a REST server; inner has the service and is served by nobody else.
func newREST(listener net.Listener, inner *grpc.Server, tls *tls.Config, logger *slog.Logger) (*restServer, error) {
	pipe := bufconn.Listen(1 << 20)
	conn, err := grpc.NewClient("passthrough:///registry",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)))
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	handler, err := Gateway(context.Background(), conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &restServer{listener: listener, pipe: pipe, inner: inner, conn: conn, web: &http.Server{
		Handler: handler, TLSConfig: tls, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}}, nil
}

func (r *restServer) serveGRPC() error { return r.inner.Serve(r.pipe) }

func (r *restServer) serveHTTP() error {
	var err error
	if r.web.TLSConfig != nil {
		err = r.web.ServeTLS(r.listener, "", "")
	} else {
		err = r.web.Serve(r.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("rest: %w", err)
}

// stop lets running requests end, within reason.
func (r *restServer) stop() {
	bounded, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if r.web.Shutdown(bounded) != nil {
		_ = r.web.Close()
	}
	_ = r.conn.Close()
	r.inner.Stop()
}
