package mcp

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// keepAlive is how long a started stream may be silent before it gets a comment, so that whoever stands between the
// caller and us does not take it for dead (mcp-protocol.md 1.8, 3.4).
const keepAlive = 15 * time.Second

// finalRoom is what is reserved of the budget of a stream for the last frame: every error of ours fits, with an id of
// the longest kind.
const finalRoom = 2 << 10

// The parts of a server-sent event.
const (
	frameOpening = "event: message\ndata: "
	frameClosing = "\n\n"
	comment      = ":\n\n"
)

// stream is the progress of one call as server-sent events (mcp-protocol.md 3.1, 3.4). It starts with the first sign
// that there is to send: until then nothing is written, so that whatever ends the call keeps its HTTP status.
//
// Signs are sent as they come, but never faster than one in an interval: of those that come earlier the newest waits for
// its turn, and is sent when the turn has come, even though the service is silent, or with the result. A goroutine of
// the stream's own waits for that, and for the moment to send a comment. It ends with [stream.settle], after which only
// the handler writes.
type stream struct {
	x *exchange
	// ctx is the request's, whose end means that the caller left; cancel ends the call.
	ctx    context.Context
	cancel context.CancelFunc
	w      pacedWriter
	token  jsontext.Value

	mu sync.Mutex
	// started says that the head is out. What the budget allows is counted in used from there on.
	started bool
	used    int64
	// broken says that nothing can be written any more.
	broken bool
	// newest is the newest sign, waiting says that it was not sent yet.
	newest  Sign
	known   bool
	waiting bool
	// sent is when a sign was sent last, wrote when anything was.
	sent, wrote time.Time
	frame       []byte

	// wake tells the stream's goroutine that a sign waits, quit that it shall end; it closes tended when it has.
	wake, quit, tended chan struct{}
}

// newStream prepares the progress of a call. The context that it returns is the call's: it ends with ctx, or when the
// caller does not take what is written.
func (x *exchange) newStream(ctx context.Context) (*stream, context.Context) {
	s := &stream{x: x, ctx: x.r.Context(), token: x.message.params.meta.progressToken, w: x.paced()}
	ctx, s.cancel = context.WithCancel(ctx)
	return s, ctx
}

// report takes a sign of life. It is called by the handler's goroutine, and blocks while the caller does not read.
func (s *stream) report(sign Sign) {
	if !finite(sign.Progress) {
		return
	}
	sign.HasTotal = sign.HasTotal && finite(sign.Total)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken || s.known && sign.Progress <= s.newest.Progress {
		return
	}
	s.newest, s.known, s.waiting = sign, true, true
	if now := time.Now(); !s.started || now.Sub(s.sent) >= s.x.h.options.ProgressInterval {
		s.send(now)
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// send sends the newest sign, or drops it where the budget does not allow it. The caller holds mu.
func (s *stream) send(now time.Time) {
	s.waiting = false
	s.frame = s.appendSign(s.frame[:0])
	if s.write(s.frame) {
		s.sent = now
	}
}

// appendSign appends the frame of the newest sign.
func (s *stream) appendSign(b []byte) []byte {
	b = append(b, frameOpening+`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b = append(b, s.token...)
	b = appendNumber(append(b, `,"progress":`...), s.newest.Progress)
	if s.newest.HasTotal {
		b = appendNumber(append(b, `,"total":`...), s.newest.Total)
	}
	if s.newest.Message != "" {
		b = appendString(append(b, `,"message":`...), s.newest.Message)
	}
	return append(b, "}}"+frameClosing...)
}

// appendNumber appends a finite number as JavaScript writes it.
func appendNumber(b []byte, f float64) []byte { return append(b, jsontext.Float(f).String()...) }

// write writes one frame at once, the head before the first, if the budget allows it. The caller holds mu.
func (s *stream) write(frame []byte) (written bool) {
	limit := s.x.h.options.MaxAnswerBytes
	if s.broken || limit > 0 && s.used+int64(len(frame))+finalRoom > limit {
		return false
	}
	if s.ctx.Err() != nil {
		s.fail()
		return false
	}
	if !s.started {
		s.start()
	}
	err := s.w.write(frame)
	if err == nil {
		err = s.w.flush()
	}
	if err != nil {
		s.fail()
		return false
	}
	s.w.lift()
	s.used, s.wrote = s.used+int64(len(frame)), time.Now()
	return true
}

// start writes the head and lets the stream's goroutine go. The caller holds mu.
func (s *stream) start() {
	s.started = true
	h := s.w.Header()
	h["Content-Type"] = eventStreamType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
	h["X-Content-Type-Options"] = noSniff
	s.w.WriteHeader(http.StatusOK)
	s.wake, s.quit, s.tended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go s.tend()
}

var (
	eventStreamType = []string{eventStream}
	noCache         = []string{"no-cache, no-transform"}
	noBuffering     = []string{"no"}
)

// fail is for when the caller does not take what is written: nothing more is, and the call ends. The caller holds mu.
func (s *stream) fail() {
	s.broken, s.waiting = true, false
	s.cancel()
}

// tend does what is due between the signs, until the stream is settled or nothing can be written any more.
func (s *stream) tend() {
	defer close(s.tended)
	due := time.NewTimer(keepAlive)
	defer due.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
		case <-due.C:
		}
		next, ok := s.turn()
		if !ok {
			return
		}
		due.Reset(time.Until(next))
	}
}

// turn sends what is due now and says when something may be due again.
func (s *stream) turn() (next time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		// What panics here would end the process: net/http does not guard this goroutine.
		if fault := recover(); fault != nil {
			s.fail()
			s.x.h.log.Error("panic in a stream", "reference", s.x.reference, "stack", string(debug.Stack()))
			s.x.h.log.Debug("panic value", "reference", s.x.reference, "panic", fault)
			ok = false
		}
	}()
	now := time.Now()
	if s.waiting && now.Sub(s.sent) >= s.x.h.options.ProgressInterval {
		s.send(now)
	}
	if now.Sub(s.wrote) >= keepAlive && !s.write([]byte(comment)) {
		s.wrote = now // the budget has no room for it
	}
	next = s.wrote.Add(keepAlive)
	if turn := s.sent.Add(s.x.h.options.ProgressInterval); s.waiting && turn.Before(next) {
		next = turn
	}
	return next, !s.broken
}

// settle sends the sign that waits and ends the stream's goroutine. It returns when that has ended; whoever calls it is
// the only one who writes afterwards. No sign may be reported any more.
func (s *stream) settle() {
	s.mu.Lock()
	if s.waiting {
		s.send(time.Now())
	}
	s.mu.Unlock()
	if s.started {
		close(s.quit)
		<-s.tended
	}
	s.cancel()
}

// isBroken says that the caller did not take what was written.
func (s *stream) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// finish writes the response, which is the last frame. The error means that the caller did not take it.
func (s *stream) finish(body []byte) error {
	if s.broken {
		return errBroken
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	for _, part := range [...][]byte{[]byte(frameOpening), body, []byte(frameClosing)} {
		if err := s.w.write(part); err != nil {
			return err
		}
	}
	return s.w.flush()
}

var errBroken = errors.New("the caller does not take what is written")
