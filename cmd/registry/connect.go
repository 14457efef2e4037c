package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
)

// maxAnswer is the largest answer that is read: a contract of the largest size, with room.
const maxAnswer = registry.MaxContractBytes + 1<<20

// reconnect tries a lost connection again soon: what is registered must be renewed within seconds.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 3 * time.Second,
}

// connection is how commands reach a running registry. Flags win over the environment.
type connection struct {
	address, clientID, clientSecret, caFile string
	tls                                     bool
}

// connectionFlags are the names of the flags.
var connectionFlags = []string{"addr", "client-id", "client-secret", "ca-file", "tls"}

func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.address, "addr", "", "the registry's gRPC address (env SALLYPORT_REGISTRY; default 127.0.0.1:7071)")
	f.StringVar(&c.clientID, "client-id", "", "the machine's id (env SALLYPORT_CLIENT_ID)")
	f.StringVar(&c.clientSecret, "client-secret", "", "the machine's secret; other users of this computer can see flags, so prefer the environment (env SALLYPORT_CLIENT_SECRET)")
	f.StringVar(&c.caFile, "ca-file", "", "PEM file of the authorities that the registry's certificate is from; turns TLS on (env SALLYPORT_REGISTRY_CA)")
	f.BoolVar(&c.tls, "tls", false, "connect with TLS and trust the system's authorities")
}

func or(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// registry is a client of the registry that is connected to.
func (c *connection) registry() (registryv1.RegistryServiceClient, func(), error) {
	conn, err := c.dial()
	if err != nil {
		return nil, nil, err
	}
	return registryv1.NewRegistryServiceClient(conn), func() { _ = conn.Close() }, nil
}

// dial connects. Every call carries the caller's credentials. The connection is made at the first call.
func (c *connection) dial() (*grpc.ClientConn, error) {
	id, secret := or(c.clientID, os.Getenv("SALLYPORT_CLIENT_ID")), or(c.clientSecret, os.Getenv("SALLYPORT_CLIENT_SECRET"))
	security := insecure.NewCredentials()
	if ca := or(c.caFile, os.Getenv("SALLYPORT_REGISTRY_CA")); ca != "" || c.tls {
		t, err := clientTLS(ca, "")
		if err != nil {
			return nil, err
		}
		security = credentials.NewTLS(t)
	}
	address := or(c.address, os.Getenv("SALLYPORT_REGISTRY"), "127.0.0.1:7071")
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(security),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if id != "" || secret != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, server.ClientIDKey, id, server.ClientSecretKey, secret)
			}
			return next(ctx, method, req, reply, cc, opts...)
		}))
	if err != nil {
		return nil, fmt.Errorf("registry at %s: %w", address, err)
	}
	return conn, nil
}

func clientTLS(caFile, serverName string) (*tls.Config, error) {
	return registry.ClientTLS(&configv1.ClientTls{CaFile: caFile, ServerName: serverName})
}

// plain turns a call's error into what a person at a terminal wants to read.
func plain(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	switch st.Code() {
	case codes.Unauthenticated:
		return fmt.Errorf("%s (flags --client-id and --client-secret, or SALLYPORT_CLIENT_ID and SALLYPORT_CLIENT_SECRET)", st.Message())
	case codes.Unavailable:
		return fmt.Errorf("the registry cannot be reached: %s", st.Message())
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.PermissionDenied, codes.Aborted:
		return errors.New(st.Message()) // which is the registry's own, and says what the code does
	}
	return fmt.Errorf("%s: %s", inWords(st.Code()), st.Message())
}

// inWords spells a code as people write it: "permission denied" for PermissionDenied.
func inWords(code codes.Code) string {
	var b strings.Builder
	for i, r := range code.String() {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// unlessThere drops the error of making what is there already.
func unlessThere(err error) error {
	if status.Code(err) == codes.AlreadyExists {
		return nil
	}
	return err
}
