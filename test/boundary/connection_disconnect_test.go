package boundary_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/encoding/protowire"
)

// journey is one request that a caller makes bit by bit, until the caller leaves. Where one of its steps cannot be gone
// the test ends.
type journey interface {
	// beginHead sends a part of the head, and beginBody the head and a part of the body.
	beginHead(s asked)
	beginBody(s asked)
	// whole sends the request.
	whole(s asked)
	// until reads the answer until it has this text, and no further than what comes with it.
	until(text string)
	leave()
}

// departures are the ways to leave.
var departures = []struct {
	name string
	// half says that the caller's side of the connection is closed and no more, so that an answer arrives still.
	half bool
	// reset says that the connection is left open.
	reset bool
	begin func(t *testing.T, f *front) journey
}{
	{"HTTP/1.1, closed", false, false, func(t *testing.T, f *front) journey {
		l := f.dial(t)
		return &lineJourney{line: l, f: f, away: func() { _ = l.conn.Close() }}
	}},
	{"HTTP/1.1, reset", false, false, func(t *testing.T, f *front) journey {
		l := f.dial(t)
		return &lineJourney{line: l, f: f, away: l.hangUp}
	}},
	{"HTTP/1.1, half-closed", true, false, func(t *testing.T, f *front) journey {
		l := f.dial(t)
		return &lineJourney{line: l, f: f, away: func() { _ = l.conn.(interface{ CloseWrite() error }).CloseWrite() }}
	}},
	{"HTTP/2, stream reset", false, true, func(t *testing.T, f *front) journey {
		c := f.dialFrames(t, 64<<10)
		return &streamJourney{frames: c, away: func() { c.check(c.framer.WriteRSTStream(1, http2.ErrCodeCancel)) }}
	}},
	{"HTTP/2, connection closed", false, false, func(t *testing.T, f *front) journey {
		c := f.dialFrames(t, 64<<10)
		return &streamJourney{frames: c, away: func() { _ = c.conn.Close() }}
	}},
}

type lineJourney struct {
	*line
	f    *front
	away func()
}

func (j *lineJourney) beginHead(s asked) {
	j.t.Helper()
	head, _, _ := strings.Cut(j.f.onTheWire(s, j.f.caller), "\r\n\r\n")
	j.write(head[:len(head)-5])
}

func (j *lineJourney) beginBody(s asked) {
	j.t.Helper()
	text := j.f.onTheWire(s, j.f.caller)
	j.write(text[:len(text)-10])
}

func (j *lineJourney) whole(s asked) {
	j.t.Helper()
	j.write(j.f.onTheWire(s, j.f.caller))
}

func (j *lineJourney) until(text string) {
	j.t.Helper()
	var got []byte
	for !bytes.Contains(got, []byte(text)) {
		b, err := j.in.ReadByte()
		if err != nil {
			j.t.Fatalf("the answer ends before %q: %v: %.500q", text, err, got)
		}
		got = append(got, b)
	}
}

func (j *lineJourney) leave() { j.away() }

type streamJourney struct {
	*frames
	away func()
}

func (j *streamJourney) beginHead(s asked) {
	j.t.Helper()
	block := j.encode(s.headers(j.f.caller))
	j.check(j.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:20]}))
}

func (j *streamJourney) beginBody(s asked) {
	j.t.Helper()
	headers := s.headers(j.f.caller)
	headers.Set("Content-Length", strconv.Itoa(len(s.body())))
	j.open(1, headers, false)
	j.send(1, s.body()[:len(s.body())-10], false)
}

func (j *streamJourney) whole(s asked) {
	j.t.Helper()
	j.call(1, s)
}

func (j *streamJourney) until(text string) {
	j.t.Helper()
	var got []byte
	for !bytes.Contains(got, []byte(text)) {
		frame, err := j.next()
		if err != nil {
			j.t.Fatalf("the answer ends before %q: %v: %.500q", text, err, got)
		}
		if data, ok := frame.(*http2.DataFrame); ok {
			got = append(got, data.Data()...)
		}
	}
}

func (j *streamJourney) leave() { j.away() }

// Whoever leaves takes the call along, in whatever phase it is: the service's context ends, the request is settled once,
// and nothing of it stays.
func TestDisconnect_endsWhatRuns(t *testing.T) {
	h := newConnectionHouse(t)
	const cancelled = "CANCELLED TRANSPORT"
	for _, phase := range []struct {
		name string
		// tool is what is called, and go on how far the request goes before the caller leaves. What it returns is closed
		// when the service has seen the end.
		tool string
		goOn func(t *testing.T, f *front, j journey, s asked) (ended <-chan struct{})
		// settled are the settlements that there must be.
		settled []string
	}{
		{"in the head", "wait", func(t *testing.T, _ *front, j journey, s asked) <-chan struct{} {
			t.Helper()
			j.beginHead(s)
			return nil
		}, nil},
		{"in the body", "wait", func(t *testing.T, f *front, j journey, s asked) <-chan struct{} {
			t.Helper()
			j.beginBody(s)
			receive(t, f.entered, "the request comes to the edge")
			return nil
		}, []string{cancelled}},
		{"while the service runs", "wait", func(t *testing.T, f *front, j journey, s asked) <-chan struct{} {
			t.Helper()
			calls := f.hold(waitMethod)
			j.whole(s)
			return receive(t, calls, "the call arrives").ended
		}, []string{cancelled}},
		{"before the first progress", "climb", func(t *testing.T, f *front, j journey, s asked) <-chan struct{} {
			t.Helper()
			climbs := f.climb(0)
			j.whole(s)
			return receive(t, climbs, "the call arrives")
		}, []string{cancelled}},
		{"in the middle of progress", "climb", func(t *testing.T, f *front, j journey, s asked) <-chan struct{} {
			t.Helper()
			climbs := f.climb(1)
			j.whole(s)
			ended := receive(t, climbs, "the call arrives")
			j.until(`"progress":1`)
			return ended
		}, []string{cancelled}},
		{"in the middle of the result", "say", func(t *testing.T, _ *front, j journey, s asked) <-chan struct{} {
			t.Helper()
			s.arguments = `{"word":"` + strings.Repeat("long ", 200_000) + `"}`
			j.whole(s)
			j.until(`long long`)
			return nil
		}, []string{cancelled}},
	} {
		for _, departure := range departures {
			for _, version := range []string{version20251125, version20260728} {
				if departure.half && phase.name == "in the middle of the result" || departure.reset && phase.settled == nil {
					continue // who is half gone still reads, and before the end of a head there is no stream to reset
				}
				t.Run(fmt.Sprintf("%s/%s/%s", phase.name, departure.name, version), func(t *testing.T) {
					f := h.in(t).serve(how{smallBuffers: true})
					h.forgetLog()
					j := departure.begin(t, f)
					ended := phase.goOn(t, f, j, asked{version: version, id: "1", tool: phase.tool, token: `"t"`})
					j.leave()
					if ended != nil {
						receive(t, ended, "the service's context ends")
					}
					if c, ok := j.(*streamJourney); ok && departure.reset {
						_ = c.conn.Close()
					}
					f.visitors.waitGone(t, 1)
					var got []string
					for _, s := range h.settled() {
						got = append(got, s.Outcome+" "+s.Class)
					}
					if !slices.Equal(got, phase.settled) {
						t.Errorf("settled as %q, want %q", got, phase.settled)
					}
				})
			}
		}
	}
}

// climb makes the tool climb report this many steps and then wait for the end of its call. Of each call there is told
// when it begins, by what is closed at its end.
func (h *house) climb(steps int) <-chan (<-chan struct{}) {
	calls := make(chan (<-chan struct{}), 1024)
	h.witness.stream(climbMethod, func(ctx context.Context, _ *seen, send func([]byte) error) error {
		ended := make(chan struct{})
		defer close(ended)
		calls <- ended
		for i := range steps {
			if err := send(step(float64(i+1), "")); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	})
	return calls
}

// step is a ClimbResponse that reports progress, and summit one with the result.
func step(progress float64, text string) []byte {
	message := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(progress))
	message = protowire.AppendString(protowire.AppendTag(message, 3, protowire.BytesType), text)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), message)
}

func summit(text string) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), word(text))
}
