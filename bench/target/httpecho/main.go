// Command httpecho is the floor of every comparison: net/http that reads a request's body and writes it back, filled up
// to the size of the edge's answer. For the list it writes given bytes.
package main

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/sallyport-dev/sallyport/bench/target/kit"
)

func main() {
	small := flag.Int("small", 0, "how many bytes POST /small writes back at least")
	large := flag.Int("large", 0, "how many bytes POST /large writes back at least")
	list := flag.String("list", "", "file whose bytes POST /list writes")
	flag.Parse()
	kit.Main("httpecho", func() error {
		listed, err := os.ReadFile(*list)
		if err != nil {
			return err
		}
		return kit.Serve(paths{"/small": echo(*small), "/large": echo(*large), "/list": static(listed)})
	})
}

// paths is the cheapest router that there is.
type paths map[string]http.HandlerFunc

func (p paths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := p[r.URL.Path]; ok {
		h(w, r)
		return
	}
	http.NotFound(w, r)
}

// buffers hold one body each: what a careful server does.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func echo(size int) http.HandlerFunc {
	blanks := make([]byte, size)
	for i := range blanks {
		blanks[i] = ' '
	}
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		body, err := read((*buffer)[:0], r)
		if err != nil {
			http.Error(w, "cannot read the body", http.StatusBadRequest)
			return
		}
		if missing := size - len(body); missing > 0 {
			body = append(body, blanks[:missing]...)
		}
		*buffer = body
		write(w, body)
	}
}

func static(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		read, err := read((*buffer)[:0], r)
		if err != nil {
			http.Error(w, "cannot read the body", http.StatusBadRequest)
			return
		}
		*buffer = read
		write(w, body)
	}
}

// read appends a request's body, whose length the client must have said.
func read(into []byte, r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return nil, errors.New("no length")
	}
	n := int(r.ContentLength)
	if cap(into) < n {
		into = make([]byte, 0, 2*n)
	}
	into = into[:n]
	_, err := io.ReadFull(r.Body, into)
	return into, err
}

func write(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
