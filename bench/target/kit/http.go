package kit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Paths is the cheapest router that there is.
type Paths map[string]http.HandlerFunc

// ServeHTTP implements http.Handler.
func (p Paths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := p[r.URL.Path]; ok {
		h(w, r)
		return
	}
	http.NotFound(w, r)
}

// buffers hold one body each: what a careful server does.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Handle reads a body of known length, hands it to answer, and writes what that gives. The body is answer's to change
// and to append to until the answer is written, and no longer.
func Handle(answer func(ctx context.Context, body []byte) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		body, err := read((*buffer)[:0], r)
		*buffer = body
		var response []byte
		if err == nil {
			response, err = answer(r.Context(), body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(response)))
		_, _ = w.Write(response)
	}
}

// read appends a request's body, whose length the client must have said. There is room for an answer behind it.
func read(into []byte, r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return nil, errors.New("no length")
	}
	n := int(r.ContentLength)
	if cap(into) < n {
		into = make([]byte, 0, n+32<<10)
	}
	into = into[:n]
	_, err := io.ReadFull(r.Body, into)
	return into, err
}

var blanks = bytes.Repeat([]byte{' '}, 64<<10)

// Fill appends blanks until there are size bytes.
func Fill(b []byte, size int) []byte {
	for missing := size - len(b); missing > 0; missing = size - len(b) {
		b = append(b, blanks[:min(missing, len(blanks))]...)
	}
	return b
}
