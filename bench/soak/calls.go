package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call asks a tool something. want judges a result that is none of an error.
func (w *worker) call(ctx context.Context, q question, tool, arguments string, want func(a *answer, r *result) error) *answer {
	q.method, q.tool = "tools/call", tool
	q.members = `"name":"` + tool + `","arguments":` + arguments
	if q.version == "" {
		q.version = w.version()
	}
	if q.machine.id == "" {
		q.machine = w.system
	}
	q.judge = func(a *answer) (string, error) {
		r, err := a.tool()
		if err != nil {
			return "", err
		}
		if err := belongs(q.version, r); err != nil {
			return "", err
		}
		if r.IsError {
			if name, ok := r.disturbance(); ok {
				return name, nil
			}
		}
		return asMeant, want(a, r)
	}
	return w.ask(ctx, q)
}

// belongs judges that a result is of the era of its version.
func belongs(version string, r *result) error {
	_, signed := r.Meta["io.modelcontextprotocol/serverInfo"]
	if version >= modern {
		if r.ResultType != "complete" || !signed {
			return errors.New("the result lacks what every modern one has")
		}
		return nil
	}
	if r.ResultType != "" || signed {
		return errors.New("the result has what only modern ones have")
	}
	return nil
}

// structured judges a result that is no error and decodes its structured content, which must stand in the text, too.
func structured(r *result, into any) error {
	switch {
	case r.IsError:
		return errors.New("an error result")
	case len(r.Content) != 1 || r.Content[0].Type != "text" || r.Content[0].Text != string(r.StructuredContent):
		return errors.New("text and structured content differ")
	}
	return json.Unmarshal(r.StructuredContent, into)
}

// refusal judges an error result that blames the arguments.
func refusal(correctable string) func(*answer, *result) error {
	return func(_ *answer, r *result) error {
		if !r.IsError || r.text() == "" || string(r.Meta["dev.sallyport/correctable"]) != correctable {
			return fmt.Errorf("no refusal with correctable %s", correctable)
		}
		return nil
	}
}

// firstOrder and orders are the ids of the orders that every shop begins with.
const (
	firstOrder = 1001
	orders     = 320
)

func (w *worker) order() string { return "ORD-" + strconv.Itoa(firstOrder+w.dice.IntN(orders)) }

// shopper is either machine.
func (w *worker) shopper() machine {
	if w.dice.IntN(2) == 0 {
		return w.system
	}
	return w.application
}

func findOrder(ctx context.Context, w *worker) {
	id := w.order()
	w.call(ctx, question{kind: "call, small", machine: w.shopper()}, w.tools[findTitle], `{"orderId":"`+id+`"}`,
		func(_ *answer, r *result) error {
			var found struct{ Order struct{ OrderID string } }
			if err := structured(r, &found); err != nil {
				return err
			}
			if found.Order.OrderID != id {
				return fmt.Errorf("order %q instead of %s", found.Order.OrderID, id)
			}
			return nil
		})
}

func searchOrders(ctx context.Context, w *worker) {
	w.call(ctx, question{kind: "call, a hundred orders", machine: w.shopper()}, "search_orders",
		`{"pageSize":100,"sort":"ORDER_SORT_OLDEST"}`, func(_ *answer, r *result) error {
			var found struct{ Orders []json.RawMessage }
			if err := structured(r, &found); err != nil {
				return err
			}
			if len(found.Orders) != 100 {
				return fmt.Errorf("%d orders instead of 100", len(found.Orders))
			}
			return nil
		})
}

// placeOrder changes something, so that the edge must not repeat it.
func placeOrder(ctx context.Context, w *worker) {
	name := "Soak " + w.next()
	w.call(ctx, question{kind: "call that changes", machine: w.shopper()}, w.tools[placeTitle],
		`{"customer":{"customerId":"CUS-9001","name":"`+name+`","email":"soak@example.com"},`+
			`"shipTo":{"street":"Mill Lane 1","city":"Cork","postalCode":"T12","country":"IE"},`+
			`"lines":[{"sku":"TEA-ASSAM-200","quantity":2}],"invoice":{"reference":"PO-1"}}`,
		func(_ *answer, r *result) error {
			var placed struct {
				Order struct{ Customer struct{ Name string } }
			}
			if err := structured(r, &placed); err != nil {
				return err
			}
			if placed.Order.Customer.Name != name {
				return fmt.Errorf("the order of %q instead of %s", placed.Order.Customer.Name, name)
			}
			return nil
		})
}

func refusedArguments(ctx context.Context, w *worker) {
	arguments := []string{
		`{}`, `{"orderId":17}`, `{"orderId":"nope"}`, `{"orderId":"ORD-1042","more":true}`, `{"order_id":null}`,
	}
	w.call(ctx, question{kind: "arguments refused", machine: w.shopper()}, w.tools[findTitle],
		arguments[w.dice.IntN(len(arguments))], refusal("true"))
}

func missingOrder(ctx context.Context, w *worker) {
	w.call(ctx, question{kind: "refused by the service", machine: w.shopper()}, w.tools[findTitle],
		`{"orderId":"ORD-99999999"}`, func(_ *answer, r *result) error {
			if !r.IsError || r.text() == "" || r.Meta["dev.sallyport/correctable"] == nil {
				return errors.New("no refusal of the service")
			}
			return nil
		})
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// tagged judges a result of the benchmarks' service.
func tagged(tag string) func(*answer, *result) error {
	return func(_ *answer, r *result) error {
		var said struct{ Tag string }
		if err := structured(r, &said); err != nil {
			return err
		}
		if said.Tag != tag {
			return fmt.Errorf("tag %q instead of %s", said.Tag, tag)
		}
		return nil
	}
}

// between gives a duration in whole milliseconds.
func (w *worker) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.dice.Int64N(int64((most-least)/time.Millisecond)))*time.Millisecond
}

func (w *worker) wait(ctx context.Context, kind string, d time.Duration, l leaving) {
	tag := w.next()
	w.call(ctx, question{kind: kind, leaving: l}, "soak_wait", `{"tag":"`+tag+`","duration":"`+seconds(d)+`"}`, tagged(tag))
}

func slowCall(ctx context.Context, w *worker) {
	w.wait(ctx, "call, slow", w.between(20*time.Millisecond, 400*time.Millisecond), leaving{})
}

func leftWaiting(ctx context.Context, w *worker) {
	l := leaving{when: waiting, after: w.between(0, 200*time.Millisecond)}
	w.wait(ctx, "left while waiting", w.between(50*time.Millisecond, time.Second), l)
}

// pastDeadline asks for more time than the tool has, which are two seconds.
func pastDeadline(ctx context.Context, w *worker) {
	w.call(ctx, question{kind: "call past its deadline"}, "soak_wait", `{"tag":"late","duration":"9s"}`,
		func(*answer, *result) error { return errors.New("a call outlived its deadline") })
}

func (w *worker) fill(ctx context.Context, kind string, times int, l leaving) {
	tag := w.next() + " "
	w.call(ctx, question{kind: kind, leaving: l}, "soak_fill", `{"tag":"`+tag+`","times":`+strconv.Itoa(times)+`}`,
		func(_ *answer, r *result) error {
			var said struct{ Text string }
			if err := structured(r, &said); err != nil {
				return err
			}
			if said.Text != strings.Repeat(tag, times) {
				return errors.New("another text than the expected one")
			}
			return nil
		})
}

func largeCall(ctx context.Context, w *worker) {
	w.fill(ctx, "call, large", 1+w.dice.IntN(40_000), leaving{})
}

func leftInResult(ctx context.Context, w *worker) {
	w.fill(ctx, "left in a large result", 100_000+w.dice.IntN(100_000), leaving{when: inResult, count: 1 + w.dice.IntN(256<<10)})
}

// count counts to steps. heard says that the caller asks for progress and understands a stream.
func (w *worker) count(ctx context.Context, kind string, steps int, each time.Duration, heard bool, l leaving) {
	tag := w.next()
	q := question{kind: kind, leaving: l, token: strconv.Itoa(w.requests)}
	if w.dice.IntN(2) == 0 {
		q.token = `"\u00fc` + tag + `"`
	}
	if !heard {
		if w.dice.IntN(2) == 0 {
			q.token = ""
		} else {
			q.jsonOnly = true
		}
	}
	w.call(ctx, q, "soak_count", `{"tag":"`+tag+`","steps":`+strconv.Itoa(steps)+`,"each":"`+seconds(each)+`"}`,
		func(a *answer, r *result) error {
			if err := tagged(tag)(a, r); err != nil {
				return err
			}
			if heard != a.stream {
				return fmt.Errorf("a stream of events: %t, want %t", a.stream, heard)
			}
			return a.grew(q.token, float64(steps))
		})
}

// grew judges the signs of a call that was answered.
func (a *answer) grew(token string, steps float64) error {
	if !a.stream {
		return nil
	}
	if len(a.signs) == 0 {
		return fmt.Errorf("%w: no progress", errStream)
	}
	last := 0.0
	for _, s := range a.signs {
		if string(s.ProgressToken) != token || s.Total != steps || s.Progress <= last || s.Message != "counting" {
			return fmt.Errorf("%w: %+v with token %s after %v", errStream, s, s.ProgressToken, last)
		}
		last = s.Progress
	}
	if last != steps {
		return fmt.Errorf("%w: progress ends at %v of %v", errStream, last, steps)
	}
	return nil
}

func progress(ctx context.Context, w *worker) {
	w.count(ctx, "progress", 1+w.dice.IntN(10), w.between(time.Millisecond, 60*time.Millisecond), true, leaving{})
}

func progressUnheard(ctx context.Context, w *worker) {
	w.count(ctx, "progress, nobody listens", w.dice.IntN(10), w.between(0, 20*time.Millisecond), false, leaving{})
}

func leftInProgress(ctx context.Context, w *worker) {
	w.count(ctx, "left in progress", 50, 40*time.Millisecond, true, leaving{when: inProgress, count: 1 + w.dice.IntN(3)})
}

// listTools follows the cursors to the end of the list and compares it with the one of the beginning.
func listTools(ctx context.Context, w *worker) {
	caller, want := w.system, w.tools
	if w.dice.IntN(2) == 0 {
		caller, want = w.application, w.shop
	}
	version := w.version()
	found, ok := w.list(ctx, "list", version, caller)
	if ok && !slices.Equal(sortedNames(found), sortedNames(want)) {
		w.ledger.mu.Lock()
		defer w.ledger.mu.Unlock()
		w.ledger.complain("list", fmt.Sprintf("the pages list %q, want %q", sortedNames(found), sortedNames(want)))
	}
}

func sortedNames(tools map[string]string) []string {
	var names []string
	for _, name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mostPages ends a list that has no end.
const mostPages = 100

// list gives the tools by their titles.
func (w *worker) list(ctx context.Context, kind, version string, caller machine) (map[string]string, bool) {
	tools, cursor := map[string]string{}, ""
	for range mostPages {
		q := question{kind: kind, version: version, machine: caller, method: "tools/list"}
		if cursor != "" {
			q.members = `"cursor":` + cursor
		}
		var page struct {
			Tools      []struct{ Name, Title string }
			NextCursor json.RawMessage
			CacheScope string
			TTLMs      *int
		}
		q.judge = func(a *answer) (string, error) {
			if a.message.Result == nil {
				return "", errors.New("no list")
			}
			if err := json.Unmarshal(a.message.Result, &page); err != nil {
				return "", err
			}
			if modernList := page.CacheScope == "private" && page.TTLMs != nil; modernList != (version >= modern) {
				return "", errors.New("the list is not one of its version")
			}
			for _, t := range page.Tools {
				if _, twice := tools[t.Title]; twice {
					return "", fmt.Errorf("%q is listed twice", t.Title)
				}
				tools[t.Title] = t.Name
			}
			return asMeant, nil
		}
		if w.ask(ctx, q) == nil {
			return nil, false
		}
		if page.NextCursor == nil {
			return tools, true
		}
		cursor = string(page.NextCursor)
	}
	return tools, true
}
