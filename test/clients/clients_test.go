// Package clients_test connects real MCP clients to the running house: the official Go SDK, the TypeScript SDK in both
// its versions, and the Inspector's command line, each in every way in which it can be told to connect. ajv judges
// every schema and every structured result.
//
// The house is a process of its own. The demo's orders answer at once; what takes time goes to the workshop, a service
// that the test registers with package service, and which can tell how a call ended on its side.
//
// What each client does in each of its modes:
//
//		                        Go SDK   TypeScript 1   TypeScript 2   Inspector
//		list, page by page      yes      yes            yes            1
//		call                    yes      yes            yes            yes
//		tool error              yes      yes            yes            modes share this and the next
//		refused arguments       yes      yes            yes            yes
//		unknown tool            yes      yes            yes            2
//		progress                yes      yes            yes            3
//		three calls at once     yes      yes            yes            4
//		arguments in headers    modern   5              modern         6
//		abort of a call         yes      7              modern, 7      8
//		close amid a call       9        yes            yes            8
//
//	 1. It gathers the pages by itself, and shows them as one list.
//	 2. It looks the tool up in the list, and sends nothing.
//	 3. It sends a token when told to, and finds the result in the stream, but shows no notification.
//	 4. A process of it makes one call.
//	 5. It has no modern era, and only that one repeats arguments.
//	 6. Its library is TypeScript 2.
//	 7. In the legacy era it posts a notification, and leaves the request open: see below.
//	 8. It has no such command. Its process is killed instead, in one mode, since each start takes over a second.
//	 9. Its Close waits for the calls that run.
//
// In the legacy era the TypeScript SDKs cancel by posting `notifications/cancelled`, and leave the request open. A
// server without sessions cannot know whose request that is (mcp-protocol.md 3.2), so the edge takes the notification
// and the call runs on, until the client closes.
package clients_test

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

// The versions of the protocol that the edge speaks.
const (
	version20260728 = "2026-07-28"
	version20251125 = "2025-11-25"
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
)

// ordersTools are the titles of the demo that the application acme-org/orders-app sees.
var ordersTools = []string{
	"Orders Cancel Order", "Orders Find Order", "Orders List Products", "Orders Place Order", "Orders Search",
}

// pageSize makes several pages of the few tools that there are.
const pageSize = 2

// calls are what each client calls first, with what becomes of it.
var calls = []call{
	{Title: "Orders Find Order", Arguments: json.RawMessage(`{"orderId":"ORD-1042"}`)},
	{Title: "Orders Search", Arguments: json.RawMessage(`{"statuses":["ORDER_STATUS_SHIPPED"],"pageSize":5}`)},
	{Title: "Orders List Products", Arguments: json.RawMessage(`{}`)},
	{Title: "Orders Find Order", Arguments: json.RawMessage(`{"orderId":"ORD-9999999"}`), fails: true},
	{Title: "Orders Find Order", Arguments: json.RawMessage(`{"order":"ORD-1042"}`), fails: true, correctable: true},
}

type call struct {
	Title     string          `json:"title"`
	Arguments json.RawMessage `json:"arguments"`
	// fails says that the result is a tool error, and correctable that the edge says so of it.
	fails, correctable bool
}

type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

type result struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	Meta              map[string]any  `json:"_meta"`
	// Unfit is ajv's objection to the structured content, where ajv was asked.
	Unfit string `json:"unfit"`
}

// mode is one way in which a client is told to connect.
type mode struct {
	name string
	// ask is what the client is told: a version, an era, a way to negotiate.
	ask string
	// version is the one that client and edge are to agree on.
	version string
	// noAbort says that aborting a call does not close its request: the client posts a notification instead.
	noAbort bool
	// staysOpen says that closing the client waits for the calls that run.
	staysOpen bool
}

func (m mode) modern() bool { return m.version == version20260728 }

// exchange is one HTTP request of a client and what was answered.
type exchange struct {
	Verb    string `json:"verb"`
	Method  string `json:"method"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Token   bool   `json:"token"`
	// Params are the headers that repeat arguments, by their names in lower case.
	Params map[string]string `json:"params"`
	Status int               `json:"status"`
	Type   string            `json:"type"`
}

// report is what came out of a client's whole conversation.
type report struct {
	// Version is the one that the client says was negotiated.
	Version      string
	Server       struct{ Name, Version string }
	Instructions string
	Pages        int
	Tools        []tool
	Results      []result
	// UnknownCode is the code of the error that calling an unknown tool gave.
	UnknownCode int
	// Signs are the progress notifications of one call, and Counted is its result.
	Signs   []sign
	Counted result
	// Silent is the result of the same tool without a progress token.
	Silent result
	// Met are the names that three calls at once brought back, in the order of the calls.
	Met   []string
	Shown result
	// Aborted are the errors with which aborted calls ended at the client.
	Aborted struct{ Waiting, Counting string }
	// Still says that the session works after the aborts.
	Still     result
	Exchanges []exchange
}

type sign struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

// keys names the calls that last, one of a kind for each mode of each client.
func keys(client string, m mode) map[string]string {
	out := map[string]string{}
	for _, what := range []string{"count", "silent", "meet", "waiting", "counting", "closing"} {
		out[what] = client + "/" + m.name + "/" + what
	}
	return out
}

// house is what the clients connect to.
type house struct {
	*stack.House
	*workshop
}

func newHouse(t *testing.T) *house {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dev := stack.Dev(t, "--page-size", fmt.Sprint(pageSize), "--allow-port", port)
	return &house{dev, startWorkshop(t, dev, listener)}
}

// The clients share one house, and each mode has keys of its own, so that nothing here depends on the order.
func TestClients(t *testing.T) {
	h := newHouse(t)
	t.Run("Go SDK", func(t *testing.T) { testGoSDK(t, h) })
	t.Run("TypeScript SDK 1", func(t *testing.T) { testTypeScript(t, h, "sdk-v1.mjs", typeScript1) })
	t.Run("TypeScript SDK 2", func(t *testing.T) { testTypeScript(t, h, "sdk-v2.mjs", typeScript2) })
	t.Run("Inspector", func(t *testing.T) { testInspector(t, h) })
}

// check judges a whole conversation.
func (h *house) check(t *testing.T, m mode, client string, r *report) {
	t.Helper()
	if r.Version != m.version {
		t.Errorf("negotiated %q, want %q", r.Version, m.version)
	}
	if r.Server.Name != "sallyport" || r.Server.Version == "" || r.Instructions == "" {
		t.Errorf("the server introduces itself as %+v with instructions %q", r.Server, r.Instructions)
	}
	total := len(ordersTools) + len(workshopTools)
	if want := (total + pageSize - 1) / pageSize; r.Pages != want {
		t.Errorf("%d pages, want %d (%d tools, %d a page)", r.Pages, want, total, pageSize)
	}
	checkTitles(t, r.Tools)
	checkCalls(t, r.Results)
	if r.UnknownCode != -32602 {
		t.Errorf("an unknown tool gives code %d, want -32602", r.UnknownCode)
	}
	checkSigns(t, r.Signs)
	k := keys(client, m)
	for what, got := range map[string]result{"count": r.Counted, "silent": r.Silent} {
		var counted struct {
			Key  string
			Told bool
		}
		if err := json.Unmarshal(got.StructuredContent, &counted); err != nil || got.IsError || counted.Key != k[what] || !counted.Told {
			t.Errorf("%s gave %s (%+v)", k[what], got.StructuredContent, got.Content)
		}
		h.wantEnd(t, k[what], endedTold)
	}
	if !slices.Equal(r.Met, attendees) {
		t.Errorf("three calls at once brought back %q, want %q", r.Met, attendees)
	}
	checkShown(t, r.Shown)
	if r.Aborted.Waiting == "" || r.Aborted.Counting == "" {
		t.Errorf("aborted calls ended with %+v", r.Aborted)
	}
	if r.Still.IsError || r.Still.StructuredContent == nil {
		t.Errorf("after the aborts the session gives %+v", r.Still)
	}
	how := endedCanceled
	if m.noAbort {
		// The client told the calls to finish, since the abort left them running.
		how = endedTold
	}
	h.wantEnd(t, k["waiting"], how)
	h.wantEnd(t, k["counting"], how)
	if !m.staysOpen {
		h.wantEnd(t, k["closing"], endedCanceled)
	}
	checkExchanges(t, m, r)
}

// attendees are the names of three calls at once. Clients of the modern era repeat them in headers, where the second
// and the third need base64.
var attendees = []string{"first", "zweite Große", " third "}

// checkCalls checks the results of `calls`, in their order.
func checkCalls(t *testing.T, results []result) {
	t.Helper()
	if len(results) != len(calls) {
		t.Fatalf("%d results for %d calls", len(results), len(calls))
	}
	for i, r := range results {
		checkCall(t, calls[i], r)
	}
}

func checkCall(t *testing.T, c call, r result) {
	t.Helper()
	if r.IsError != c.fails {
		t.Errorf("%s %s: isError is %v, want %v: %v", c.Title, c.Arguments, r.IsError, c.fails, r.Content)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" || r.Content[0].Text == "" {
		t.Fatalf("%s %s: content is %v, want one text block", c.Title, c.Arguments, r.Content)
	}
	if r.Unfit != "" {
		t.Errorf("%s %s: the result does not fit the output schema: %s", c.Title, c.Arguments, r.Unfit)
	}
	if got, _ := r.Meta["dev.sallyport/correctable"].(bool); c.correctable && !got {
		t.Errorf("%s %s: _meta is %v, want it correctable", c.Title, c.Arguments, r.Meta)
	}
	if c.fails {
		if r.StructuredContent != nil {
			t.Errorf("%s %s: an error result carries structured content", c.Title, c.Arguments)
		}
		if strings.Contains(r.Content[0].Text, "ORD-1042") {
			t.Errorf("%s %s: the refusal repeats what was sent: %s", c.Title, c.Arguments, r.Content[0].Text)
		}
		return
	}
	if c.Title != "Orders Find Order" {
		return
	}
	var found struct {
		Order struct{ OrderID string }
	}
	if err := json.Unmarshal(r.StructuredContent, &found); err != nil || found.Order.OrderID != "ORD-1042" {
		t.Errorf("Find Order: structured content is %s (%v), want order ORD-1042", r.StructuredContent, err)
	}
}

func checkTitles(t *testing.T, tools []tool) {
	t.Helper()
	var titles []string
	for _, tool := range tools {
		titles = append(titles, tool.Title)
	}
	slices.Sort(titles)
	if want := slices.Concat(ordersTools, workshopTools); !slices.Equal(titles, want) {
		t.Errorf("listed titles are %q, want %q", titles, want)
	}
}

// checkSigns checks that the notifications grow. The client told the call to finish after the third.
func checkSigns(t *testing.T, signs []sign) {
	t.Helper()
	if len(signs) < 3 {
		t.Errorf("%d progress notifications, want at least 3", len(signs))
	}
	for i, s := range signs {
		if s.Total != 1e6 || s.Message != fmt.Sprintf("counted to %g", s.Progress) || s.Progress < 1 {
			t.Errorf("progress notification %d is %+v", i, s)
		}
		if i > 0 && s.Progress <= signs[i-1].Progress {
			t.Errorf("progress %g comes after %g", s.Progress, signs[i-1].Progress)
		}
	}
}

func checkShown(t *testing.T, r result) {
	t.Helper()
	var kinds []string
	for _, block := range r.Content {
		kinds = append(kinds, block.Type)
	}
	if r.IsError || !slices.Equal(kinds, shown) || r.Unfit != "" {
		t.Errorf("Show gave the blocks %q, want %q (%s)", kinds, shown, r.Unfit)
	}
	if string(r.StructuredContent) != `{"caption":"five blocks"}` {
		t.Errorf("Show gave %s beside the blocks", r.StructuredContent)
	}
}

// checkExchanges checks what went over the wire: the version on each request, and the status and media type of each
// answer.
func checkExchanges(t *testing.T, m mode, r *report) {
	t.Helper()
	count := ""
	for _, tool := range r.Tools {
		if tool.Title == "Workshop Count" {
			count = tool.Name
		}
	}
	streams, repeated := 0, 0
	for _, e := range r.Exchanges {
		handshake := e.Method == "initialize" || e.Method == "server/discover"
		wantStatus, wantType := 200, "application/json"
		switch {
		case e.Verb != "POST":
			wantStatus = 405
		case strings.HasPrefix(e.Method, "notifications/"):
			wantStatus, wantType = 202, ""
		case e.Name == count && e.Token:
			wantType = "text/event-stream"
			streams++
		}
		// An aborted request has no answer, or only the beginning of one.
		if e.Status != 0 && (e.Status != wantStatus || e.Type != wantType) {
			t.Errorf("%+v: want status %d and type %q", e, wantStatus, wantType)
		}
		if e.Verb == "POST" && !handshake && e.Version != m.version {
			t.Errorf("%+v: want version %s", e, m.version)
		}
		if len(e.Params) > 0 {
			repeated++
			if !m.modern() || e.Params["mcp-param-expected"] != fmt.Sprint(len(attendees)) || e.Params["mcp-param-attendee"] == "" {
				t.Errorf("%+v: unexpected headers", e)
			}
		}
		if m.modern() && (e.Verb != "POST" || e.Method == "initialize" || e.Method == "notifications/initialized") {
			t.Errorf("%+v belongs to the legacy era", e)
		}
	}
	if streams == 0 {
		t.Error("no call with a progress token was answered with a stream")
	}
	if want := len(r.Met); m.modern() && repeated != want {
		t.Errorf("%d requests repeat arguments in headers, want %d", repeated, want)
	}
}
