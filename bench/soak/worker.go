package soak

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// worker makes one request after the other.
type worker struct {
	number    int
	transport transport
	dice      *rand.Rand
	ledger    *ledger
	// system sees every tool, application those of the shop.
	system, application machine
	// tools are the names of the tools by their titles, and shop those that the application sees.
	tools, shop map[string]string
	requests    int
}

// The protocol versions. The oldest one is what a request without a header speaks.
const (
	modern = "2026-07-28"
	oldest = "2025-03-26"
)

var versions = []string{modern, modern, "2025-11-25", "2025-06-18", oldest}

func (w *worker) version() string { return versions[w.dice.IntN(len(versions))] }

// next makes something that no other request has.
func (w *worker) next() string {
	w.requests++
	return strconv.Itoa(w.number) + "-" + strconv.Itoa(w.requests)
}

// id makes the id of a request, of every kind that there is: what is escaped in it must come back escaped.
func (w *worker) id() string {
	switch w.dice.IntN(4) {
	case 0:
		return `"id ` + w.next() + `"`
	case 1:
		return `"\u00e9\/` + w.next() + `"`
	case 2:
		w.requests++
		return "-" + strconv.Itoa(w.requests)
	default:
		w.requests++
		return strconv.Itoa(w.number*1_000_000_000 + w.requests)
	}
}

// question is a JSON-RPC request, and what must be true of its answer.
type question struct {
	kind    string
	version string
	machine machine
	method  string
	// members are those of params beside _meta, as JSON; tool is the name that they call.
	members, tool string
	// token is the progress token as JSON; empty sends none.
	token string
	// jsonOnly accepts no stream of events.
	jsonOnly bool
	// padding is how many blanks stand around the body.
	padding int
	leaving leaving
	// notification sends no id and gets no answer.
	notification bool
	// raw is the body, instead of what would be made of the members; its answer has no id.
	raw string
	// meta is the version that the body of a modern request names, where it is not that of the header.
	meta string
	// anonymous sends no credentials.
	anonymous bool
	// from is the address that the request seems to come from; empty is that of all.
	from   string
	status int
	judge  func(a *answer) (verdict string, err error)
}

// wire renders the question and gives the id that the answer must have.
func (w *worker) wire(q *question) (*wire, string) {
	accept := "application/json, text/event-stream"
	if q.jsonOnly {
		accept = jsonType
	}
	out := &wire{method: "POST", fields: []field{{"Content-Type", jsonType}, {"Accept", accept}}}
	if !q.anonymous {
		out.fields = append(out.fields, q.machine.fields()...)
	}
	if q.from != "" {
		out.fields = append(out.fields, field{"X-Forwarded-For", q.from})
	}
	if q.version != oldest {
		out.fields = append(out.fields, field{"MCP-Protocol-Version", q.version})
	}
	if q.raw != "" {
		out.body = []byte(q.raw)
		return out, ""
	}
	var meta []string
	if q.version >= modern {
		out.fields = append(out.fields, field{"Mcp-Method", q.method})
		if q.tool != "" {
			name := q.tool
			if w.dice.IntN(4) == 0 {
				name = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
			}
			out.fields = append(out.fields, field{"Mcp-Name", name})
		}
		if q.meta == "" {
			q.meta = q.version
		}
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"`+q.meta+`"`, `"io.modelcontextprotocol/clientCapabilities":{}`)
	}
	if q.token != "" {
		meta = append(meta, `"progressToken":`+q.token)
	}
	members := q.members
	if len(meta) > 0 {
		if members != "" {
			members += ","
		}
		members += `"_meta":{` + strings.Join(meta, ",") + "}"
	}
	id, head := "", ""
	if !q.notification {
		id = w.id()
		head = `"id":` + id + `,`
	}
	out.body = fmt.Appendf(nil, `%s{"jsonrpc":"2.0",%s"method":"%s","params":{%s}}%s`,
		strings.Repeat(" ", q.padding/2), head, q.method, members, strings.Repeat(" ", q.padding/2))
	return out, id
}

// ask asks a question, judges the answer and enters both in the books. It gives the answer where it was right.
func (w *worker) ask(ctx context.Context, q question) *answer {
	if q.status == 0 {
		q.status = 200
	}
	out, id := w.wire(&q)
	return w.send(ctx, &q, out, id)
}

func (w *worker) send(ctx context.Context, q *question, out *wire, id string) *answer {
	about := func(a *answer, err error) string {
		text := fmt.Sprintf("%s, %s, request %.300s: %v", w.transport.name(), q.version, out.body, err)
		if a != nil {
			text += fmt.Sprintf("; status %d, answer %.600s", a.status, a.body)
		}
		return text
	}
	response, f, err := w.transport.begin(ctx, out, q.leaving)
	if err != nil {
		w.transport.drop()
		w.ledger.lost(q.kind, f, about(nil, err))
		return nil
	}
	if f.left {
		w.ledger.gone(q.kind, f)
		return nil
	}
	a, gone, err := read(w.transport, response, q.leaving)
	if err != nil {
		w.ledger.lost(q.kind, f, about(a, err))
		return nil
	}
	if gone {
		w.ledger.gone(q.kind, fate{sent: true, left: true})
		return nil
	}
	verdict, err := w.judge(q, a, id)
	if err != nil {
		w.ledger.finished(q.kind, a.outcome(), "", about(a, err))
		return nil
	}
	w.ledger.finished(q.kind, a.outcome(), verdict, "")
	return a
}

func (w *worker) judge(q *question, a *answer, id string) (string, error) {
	if a.status != q.status {
		return "", fmt.Errorf("the status is not %d", q.status)
	}
	if q.status == 202 {
		if len(a.body) != 0 {
			return "", fmt.Errorf("an answer to a notification")
		}
		return asMeant, nil
	}
	if err := a.shape(id); err != nil {
		return "", err
	}
	if q.judge == nil {
		return asMeant, nil
	}
	return q.judge(a)
}
