package mcp

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// Defaults of the limits of [Options] (access.md, "Limits").
const (
	DefaultMaxRequests = 4096
	DefaultMaxCalls    = 64
)

// inFlight counts requests exactly: of those that come at the same time never more get in than there is room for, and
// never fewer. It takes no lock.
type inFlight struct {
	most  int64
	count atomic.Int64
}

// enter says whether there was room. Who got in leaves.
func (f *inFlight) enter() bool {
	for {
		n := f.count.Load()
		if n >= f.most {
			return false
		}
		if f.count.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *inFlight) leave() { f.count.Add(-1) }

// InFlight is how many requests are in flight: from when they came in to when their answers were written.
func (h *Handler) InFlight() int { return int(h.requests.count.Load()) }

// codeTooMany is ours, outside the range that JSON-RPC reserves, and mirrors the status.
const codeTooMany = http.StatusTooManyRequests

// crowded answers a request for which there is no room, before it is known whose it is.
func crowded() *answer {
	a := &answer{
		status: http.StatusTooManyRequests,
		body: errorBody(nil, &problem{
			code:    codeTooMany,
			message: "This edge has as many requests in hand as it takes at once: try again shortly.",
		}),
		outcome: lifecycle.Rejected,
		class:   lifecycle.Transport,
		limit:   lifecycle.LimitRequests,
	}
	a.header("Retry-After", "1")
	return a
}

// enterCall takes a place among the caller's running calls, and one of the calls that it may make now, or answers. It is
// asked once the tool is resolved: whether a name is a tool's is never told by a limit, and a name that is none costs
// its caller nothing of what it may call.
func (x *exchange) enterCall() *answer {
	caller, limit := x.h.callers.enter(x.participant)
	var text string
	switch limit {
	case lifecycle.LimitCalls:
		text = x.h.texts.tooManyCalls
	case lifecycle.LimitRate:
		text = x.h.texts.tooOften
	default:
		x.caller = caller
		return nil
	}
	a := x.toolError(text, metaExecuted, executedNo, lifecycle.Interceptor)
	a.limit = limit
	return a
}

// leave gives back the places that the request took. Its answer is written, or nobody takes it.
func (x *exchange) leave() {
	if x.caller != nil {
		x.caller.leave()
		x.caller = nil
	}
	if !x.crowded {
		x.h.requests.leave()
	}
}

// tooManyCallsText and tooOftenText say what the limits of a participant are: they are no secret, and who knows them can
// keep to them.
func tooManyCallsText(most int) string {
	return fmt.Sprintf("The caller has %s running, which is as many as it may have at once: wait until one has ended, then "+
		"repeat this one.", plural(most, "call")) + didNotRunText
}

func tooOftenText(r CallRate) string {
	if r.PerSecond == 0 {
		return ""
	}
	return fmt.Sprintf("The caller calls more often than it may, which is %s times a second and at most %s at once: wait %s, "+
		"then repeat this call.", strconv.FormatFloat(r.PerSecond, 'g', 6, 64), plural(r.Burst, "call"),
		plural(r.wait(), "second")) + didNotRunText
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
