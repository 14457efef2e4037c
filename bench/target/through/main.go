// Command through is the least that can stand before a gRPC service: net/http that hands a body on as a request and
// writes the response back, filled up to the size of the edge's answer. It knows no JSON, no tool and no caller.
package main

import (
	"bytes"
	"context"
	"flag"
	"net/http"

	"github.com/sallyport-dev/sallyport/bench/target/kit"
	"github.com/sallyport-dev/sallyport/bench/target/kit/raw"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

func main() {
	backend := flag.String("backend", "", "address of the service")
	small := flag.Int("small", 0, "how many bytes POST /small writes back at least")
	large := flag.Int("large", 0, "how many bytes POST /large writes back at least")
	flag.Parse()
	kit.Main("through", func() error {
		conn, err := raw.Dial(*backend)
		if err != nil {
			return err
		}
		defer conn.Close()
		through := func(size int) http.HandlerFunc {
			return kit.Handle(func(ctx context.Context, body []byte) ([]byte, error) {
				// gRPC keeps what it sends, and the body's buffer is used again.
				response, err := raw.Call(ctx, conn, workload.FullMethod, bytes.Clone(body))
				return kit.Fill(append(body[:0], response...), size), err
			})
		}
		return kit.Serve(kit.Paths{"/small": through(*small), "/large": through(*large)})
	})
}
