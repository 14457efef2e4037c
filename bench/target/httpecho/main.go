// Command httpecho is the floor of every comparison: net/http that reads a request's body and writes it back, filled up
// to the size of the edge's answer. For the lists it writes given bytes.
package main

import (
	"context"
	"flag"
	"net/http"
	"os"

	"github.com/sallyport-dev/sallyport/bench/target/kit"
)

func main() {
	small := flag.Int("small", 0, "how many bytes POST /small writes back at least")
	large := flag.Int("large", 0, "how many bytes POST /large writes back at least")
	list := flag.String("list", "", "file whose bytes POST /list writes")
	spelled := flag.String("spelled", "", "file whose bytes POST /list-openai_strict writes")
	flag.Parse()
	kit.Main("httpecho", func() error {
		listed, err := os.ReadFile(*list)
		if err != nil {
			return err
		}
		listedSpelled, err := os.ReadFile(*spelled)
		if err != nil {
			return err
		}
		return kit.Serve(kit.Paths{
			"/small": echo(*small), "/large": echo(*large), "/list": static(listed), "/list-openai_strict": static(listedSpelled),
		})
	})
}

func echo(size int) http.HandlerFunc {
	return kit.Handle(func(_ context.Context, body []byte) ([]byte, error) { return kit.Fill(body, size), nil })
}

func static(answer []byte) http.HandlerFunc {
	return kit.Handle(func(context.Context, []byte) ([]byte, error) { return answer, nil })
}
