package mcp

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// deliver writes the one answer of a request: as it is, or as the last frame of a stream. Nothing is written afterwards.
// It decides the settlement too: what a caller who left was to get counts as cancelled.
func (x *exchange) deliver(a *answer) *answer {
	s := x.stream
	if s != nil {
		s.settle()
	}
	a = x.bounded(a)
	left := x.left()
	var err error
	if s != nil && s.started {
		a.status = http.StatusOK // which is what was sent
		err = s.finish(a.body)
	} else {
		err = x.write(a)
	}
	if !a.ended && (left || err != nil && !errors.Is(err, http.ErrBodyNotAllowed)) { // which is what an answer to HEAD meets
		a.outcome, a.class = lifecycle.Cancelled, lifecycle.Transport
	}
	return a
}

// left says that the caller is gone, or does not take what is written.
func (x *exchange) left() bool {
	return x.r.Context().Err() != nil || x.stream != nil && x.stream.isBroken()
}

// bounded refuses an answer of a tool that is larger than what is left of the budget.
func (x *exchange) bounded(a *answer) *answer {
	room := x.h.options.MaxAnswerBytes
	if room == 0 || x.tool == nil || a.status != http.StatusOK {
		return a
	}
	if s := x.stream; s != nil && s.started {
		room -= s.used + int64(len(frameOpening)+len(frameClosing))
	}
	if int64(len(a.body)) <= room {
		return a
	}
	return x.toolError(tooLargeText, "", nil, lifecycle.Service)
}

// write writes a JSON answer. The error means that the caller did not take all of it; net/http ends the connection then,
// and there is nobody left to tell. A short answer is taken when the connection's buffers have it.
func (x *exchange) write(a *answer) error {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	for _, extra := range a.headers {
		h.Set(extra.name, extra.value)
	}
	if len(a.body) > 0 {
		h["Content-Type"] = applicationJSON
	}
	// net/http counts a short body itself, and without allocating.
	length := len(a.body) + len(a.shared)
	if length > countedBody {
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	x.w.WriteHeader(a.status)
	parts := [...][]byte{a.body[:a.sharedAt], a.shared, a.body[a.sharedAt:]}
	if length <= smallBody && x.r.ProtoMajor < 2 {
		for _, part := range parts {
			if len(part) > 0 {
				if _, err := x.w.Write(part); err != nil {
					return err
				}
			}
		}
		return nil
	}
	w := x.paced()
	for _, part := range parts {
		if err := w.write(part); err != nil {
			return err
		}
	}
	return nil
}

const (
	// countedBody is a length up to which net/http holds a body back until it is whole, in HTTP/1 and in HTTP/2.
	countedBody = 2048
	// smallBody is a length that the buffers of a connection take without waiting for the caller. HTTP/2 has none of
	// them: there the caller opens the window of each answer.
	smallBody = 16 << 10
	// pieceSize is how much of a body is written under one deadline.
	pieceSize = 256 << 10
)

// pacedWriter writes to a caller who may be slow, or gone without a word: each piece must be accepted in time.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (x *exchange) paced() pacedWriter {
	return pacedWriter{x.w, http.NewResponseController(x.w), x.h.options.WriteTimeout}
}

// write writes bytes in pieces. The deadline of the last piece holds on, for what the connection still buffers, until it
// is lifted. A writer that knows no deadlines is not a network connection.
func (w *pacedWriter) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), pieceSize)]
		_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout))
		if _, err := w.Write(piece); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

// flush brings what was written on its way. A writer that cannot do that brings it when the answer ends.
func (w *pacedWriter) flush() error {
	if err := w.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// lift takes the deadline away: of HTTP/2 it would end the stream, even while nothing is to be written. net/http does it
// by itself at the end of an answer.
func (w *pacedWriter) lift() { _ = w.control.SetWriteDeadline(time.Time{}) }

// Header values that every answer shares; net/http reads them only.
var (
	noStore         = []string{"no-store"}
	noSniff         = []string{"nosniff"}
	applicationJSON = []string{"application/json"}
)
