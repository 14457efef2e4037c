// Command gateway is grpc-gateway in front of the benchmark service: REST to gRPC with generated types, as its own
// documentation sets it up.
package main

import (
	"context"
	"flag"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/target/kit"
)

func main() {
	backend := flag.String("backend", "", "address of the service")
	flag.Parse()
	kit.Main("gateway", func() error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		mux := runtime.NewServeMux()
		options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
		if err := benchv1.RegisterBenchServiceHandlerFromEndpoint(ctx, mux, *backend, options); err != nil {
			return err
		}
		return kit.Serve(mux)
	})
}
