package soak

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// kind is something that callers do.
type kind struct {
	// weight is how often it is chosen, among all.
	weight int
	run    func(ctx context.Context, w *worker)
}

// kinds is the traffic. Of those that take long few are chosen, so that they are a good part of what is under way at any
// moment and not all of it.
var kinds = []kind{
	{60, listTools},
	{200, findOrder},
	{30, searchOrders},
	{10, placeOrder},
	{60, refusedArguments},
	{40, missingOrder},
	{20, slowCall},
	{1, pastDeadline},
	{6, largeCall},
	{12, progress},
	{8, progressUnheard},
	{30, unknownTool},
	{20, badJSON},
	{30, wrongVersion},
	{20, opening},
	{20, notification},
	{20, unknownMethod},
	{15, stranger},
	{30, refusedHead},
	{10, leftInHead},
	{20, leftInBody},
	{25, leftWaiting},
	{8, leftInProgress},
	{4, leftInResult},
}

// one runs one kind by chance.
func (w *worker) one(ctx context.Context) {
	all := 0
	for _, k := range kinds {
		all += k.weight
	}
	n := w.dice.IntN(all)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			k.run(ctx, w)
			return
		}
	}
}

// code judges an answer that is this error.
func code(want int) func(*answer) (string, error) {
	return func(a *answer) (string, error) {
		if a.message.Error == nil || a.message.Error.Code != want {
			return "", fmt.Errorf("no error %d", want)
		}
		return asMeant, nil
	}
}

func unknownTool(ctx context.Context, w *worker) {
	// A tool that nobody has, and one that this caller may not see, have the same answer.
	caller, name := w.system, "no_such_tool"
	if w.dice.IntN(2) == 0 {
		caller, name = w.application, "soak_wait"
	}
	w.ask(ctx, question{
		kind: "unknown tool", version: w.version(), machine: caller, method: "tools/call", tool: name,
		members: `"name":"` + name + `","arguments":{}`, judge: code(-32602),
	})
}

func badJSON(ctx context.Context, w *worker) {
	bodies := []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`, `{"jsonrpc":"2.0","id":1,"method":"tools/list",}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", `nothing`, `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`,
	}
	w.ask(ctx, question{
		kind: "bad JSON", version: w.version(), machine: w.system, status: 400, raw: bodies[w.dice.IntN(len(bodies))], judge: code(-32700),
	})
}

func wrongVersion(ctx context.Context, w *worker) {
	q := question{kind: "wrong version", machine: w.system, method: "tools/list", status: 400, judge: code(-32022)}
	switch w.dice.IntN(3) {
	case 0:
		q.version = "1999-12-31"
	case 1:
		q.version = "2099-01-01"
	default:
		// The header and the body disagree.
		q.version, q.meta, q.judge = modern, "2099-01-01", code(-32020)
	}
	w.ask(ctx, q)
}

// opening is how a conversation begins in each era.
func opening(ctx context.Context, w *worker) {
	q := question{kind: "opening", version: w.version(), machine: w.shopper()}
	wanted := `"supportedVersions":`
	if q.version >= modern {
		q.method = "server/discover"
	} else {
		q.method = "initialize"
		q.members = `"protocolVersion":"` + q.version + `","capabilities":{},"clientInfo":{"name":"soak","version":"1"}`
		wanted = `"protocolVersion":"` + q.version + `"`
	}
	q.judge = func(a *answer) (string, error) {
		if a.message.Result == nil || !strings.Contains(string(a.message.Result), wanted) {
			return "", fmt.Errorf("no %s", wanted)
		}
		return asMeant, nil
	}
	w.ask(ctx, q)
}

func notification(ctx context.Context, w *worker) {
	methods := []string{"notifications/initialized", "notifications/cancelled", "notifications/of/nobody"}
	w.ask(ctx, question{
		kind: "notification", version: w.version(), machine: w.system, method: methods[w.dice.IntN(len(methods))],
		notification: true, status: http.StatusAccepted,
	})
}

func unknownMethod(ctx context.Context, w *worker) {
	q := question{kind: "unknown method", version: w.version(), machine: w.system, method: "resources/list", judge: code(-32601)}
	if q.version >= modern {
		q.status = http.StatusNotFound
	}
	w.ask(ctx, q)
}

func stranger(ctx context.Context, w *worker) {
	q := question{
		kind: "without valid credentials", version: w.version(), method: "tools/list", status: http.StatusUnauthorized,
		raw: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, judge: code(http.StatusUnauthorized),
	}
	if q.anonymous = w.dice.IntN(2) == 0; !q.anonymous {
		// A new one from somewhere else each time: failed attempts are counted by id and by address.
		n := w.dice.Uint32()
		q.machine = machine{fmt.Sprintf("nobody-%d", n), "wrong"}
		q.from = fmt.Sprintf("10.%d.%d.%d", byte(n>>16), byte(n>>8), byte(n))
	}
	w.ask(ctx, q)
}

// refusedHead is what is refused before the body is read.
func refusedHead(ctx context.Context, w *worker) {
	q := question{kind: "head refused", version: oldest, machine: w.system, judge: code(-32600)}
	out := &wire{method: http.MethodPost, fields: append(w.system.fields(), field{"Content-Type", jsonType}), body: []byte("{}")}
	switch w.dice.IntN(4) {
	case 0:
		q.status, out.method, out.body = http.StatusMethodNotAllowed, http.MethodGet, nil
	case 1:
		q.status, out.fields[len(out.fields)-1].value = http.StatusUnsupportedMediaType, "text/plain"
	case 2:
		q.status, out.fields = http.StatusForbidden, append(out.fields, field{"Origin", "https://elsewhere.example"})
	default:
		if _, shared := w.transport.(*h2); shared {
			return // a body that never comes needs a connection of its own
		}
		q.status, out.body, out.declared = http.StatusRequestEntityTooLarge, nil, 64<<20
		defer w.transport.drop()
	}
	w.send(ctx, &q, out, "")
}

// small is a request for those who leave before it is whole. Padding makes it larger than what is sent at once.
func (w *worker) small(kind string, l leaving) question {
	return question{
		kind: kind, version: w.version(), machine: w.system, method: "tools/list", leaving: l, padding: 2 << w.dice.IntN(18),
	}
}

func leftInHead(ctx context.Context, w *worker) {
	if _, shared := w.transport.(*h2); !shared {
		w.ask(ctx, w.small("left in the head", leaving{when: inHead}))
	}
}

func leftInBody(ctx context.Context, w *worker) {
	w.ask(ctx, w.small("left in the body", leaving{when: inBody}))
}
