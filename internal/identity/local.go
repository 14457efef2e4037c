package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// Local serves both services inside this process to whoever has the connection, as the platform and with every action:
// for who works on the store itself, where no credentials need exist. The built-in roles are made, where no registry has
// done so yet. Close the connection by calling close, which waits for what runs.
func Local(ctx context.Context, store *registry.Store) (conn *grpc.ClientConn, close func() error, err error) {
	if err := store.EnsureBuiltInRoles(ctx); err != nil {
		return nil, nil, err
	}
	pipe := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(
		rpc.Recover(slog.New(slog.DiscardHandler)), rpc.Bound,
		rpc.As(rpc.Caller{Participant: participant.System("local"), Everything: true}), rpc.Validate,
	))
	New(Options{Store: store}).Attach(server)
	conn, err = grpc.NewClient("passthrough:///identity",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	if err != nil {
		return nil, nil, fmt.Errorf("serve identities inside the process: %w", err)
	}
	var serving sync.WaitGroup
	var served error
	serving.Go(func() { served = server.Serve(pipe) })
	return conn, func() error {
		err := conn.Close()
		server.GracefulStop()
		serving.Wait()
		return errors.Join(err, served)
	}, nil
}
