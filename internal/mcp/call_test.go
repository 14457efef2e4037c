package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const callA = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":"canary"}}}`

// failing is a catalog of one tool whose dispatch ends in err.
func failing(err error) catalog {
	return catalog{{name: "a", call: func(context.Context, []byte) ([]byte, error) { return nil, err }}}
}

// The rows are boundary.md, "What a refusal says", as far as it speaks of gRPC codes.
func TestCall_answersEveryCode(t *testing.T) {
	t.Parallel()
	const internal = "INTERNAL"
	tests := []struct {
		code  codes.Code
		text  string
		facts string
		class lifecycle.Class
	}{
		{codes.OK, internal, "", lifecycle.Internal},
		{codes.Canceled, "The call was cancelled before it was answered. The call may have run: check before you repeat it.", `"dev.sallyport/executed":"unknown"`, lifecycle.Transport},
		{codes.Unknown, internal, "", lifecycle.Service},
		{codes.InvalidArgument, "said with InvalidArgument", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.DeadlineExceeded, "The service did not answer in time. The call may have run: check before you repeat it.", `"dev.sallyport/executed":"unknown"`, lifecycle.Deadline},
		{codes.NotFound, "said with NotFound", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.AlreadyExists, "said with AlreadyExists", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.PermissionDenied, "said with PermissionDenied", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.ResourceExhausted, "said with ResourceExhausted", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.FailedPrecondition, "said with FailedPrecondition", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.Aborted, "said with Aborted", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.OutOfRange, "said with OutOfRange", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.Unimplemented, "said with Unimplemented", `"dev.sallyport/correctable":false`, lifecycle.Service},
		{codes.Internal, internal, "", lifecycle.Service},
		{codes.Unavailable, "The service is not available. The call may have run: check before you repeat it.", `"dev.sallyport/executed":"unknown"`, lifecycle.ServiceUnavailable},
		{codes.DataLoss, internal, "", lifecycle.Service},
		{codes.Unauthenticated, internal, "", lifecycle.Service},
		{codes.Code(99), internal, "", lifecycle.Service},
	}
	for _, test := range tests {
		t.Run(test.code.String(), func(t *testing.T) {
			t.Parallel()
			failure := &mcp.Failure{Code: test.code, Err: errors.New("canary of the service")}
			s := start(t, failing(fmt.Errorf("call: %w", failure)))
			got := s.do(t, call{body: callA})
			settled := <-s.settlements.tell
			text := test.text
			if text == internal {
				text = "An internal error occurred. Whoever runs this platform finds it in the log by the reference " +
					settled.Reference + "."
				if !strings.Contains(s.log.String(), settled.Reference) {
					t.Errorf("the reference is not in the log: %s", s.log)
				}
			}
			facts := ""
			if test.facts != "" {
				facts = `,"_meta":{` + test.facts + `}`
			}
			expectBody(t, got.body, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+text+
				`"}],"isError":true`+facts+`}}`)
			if settled.Outcome != lifecycle.ToolError || settled.Class != test.class {
				t.Errorf("settled as %s %s", settled.Outcome, settled.Class)
			}
			if strings.Contains(got.body+s.log.String(), "canary") {
				t.Errorf("a canary got out: %s\n%s", got.body, s.log)
			}
		})
	}
}

func TestCall_saysThatACallNeverLeft(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable} {
		s := start(t, failing(&mcp.Failure{Code: code, NotExecuted: true}))
		expectBody(t, s.do(t, call{body: callA}).body, `… The call did not run."}],"isError":true,"_meta":{"dev.sallyport/executed":"no"}}}`)
	}
}

func TestCall_saysThatAResponseIsTooLarge(t *testing.T) {
	t.Parallel()
	s := start(t, failing(&mcp.Failure{Code: codes.ResourceExhausted, TooLarge: true}))
	expectBody(t, s.do(t, call{body: callA}).body, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text",`+
		`"text":"The service's response is larger than this edge accepts: ask for less at once."}],"isError":true}}`)
}

func TestCall_answersADisagreementOfTheDoorsLikeAnUnknownTool(t *testing.T) {
	t.Parallel()
	s := start(t, failing(&mcp.Failure{Code: codes.PermissionDenied, Disagreement: true}))
	got := s.do(t, call{body: callA})
	unknown := s.do(t, call{body: strings.Replace(callA, `"a"`, `"nobody"`, 1)})
	if got.body != unknown.body || got.status != unknown.status {
		t.Errorf("got %d %s\nwant %d %s", got.status, got.body, unknown.status, unknown.body)
	}
	if !strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Errorf("no fault in the log: %s", s.log)
	}
}

func TestCall_hidesFaultsOfOurOwn(t *testing.T) {
	t.Parallel()
	canary := errors.New("canary")
	for _, test := range []struct {
		name  string
		tool  tool
		class lifecycle.Class
	}{
		{"gate", tool{judge: func([]byte) ([]byte, error) { return nil, canary }}, lifecycle.InputProcessing},
		{"dispatcher", tool{call: func(context.Context, []byte) ([]byte, error) { return nil, canary }}, lifecycle.Internal},
		{"result", tool{result: func(dst []byte) ([]byte, bool, error) {
			return append(dst, "canary"...), false, canary
		}}, lifecycle.Serialization},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.tool.name = "a"
			s := start(t, catalog{&test.tool})
			got := s.do(t, call{body: callA})
			settled := <-s.settlements.tell
			expectBody(t, got.body, "…"+settled.Reference+`."}],"isError":true}}`)
			if settled.Class != test.class || settled.Outcome != lifecycle.ToolError {
				t.Errorf("settled as %s %s", settled.Outcome, settled.Class)
			}
			if strings.Contains(got.body+s.log.String(), "canary") || !strings.Contains(s.log.String(), settled.Reference) {
				t.Errorf("log: %s", s.log)
			}
		})
	}
}

func TestCall_survivesAPanic(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a", call: func(context.Context, []byte) ([]byte, error) { panic("canary") }}})
	got := s.do(t, call{body: callA})
	settled := <-s.settlements.tell
	expectBody(t, got.body, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"…`)
	if settled.Outcome != lifecycle.Failed || settled.Class != lifecycle.Internal || got.status != http.StatusOK {
		t.Errorf("settled as %+v", settled)
	}
	if strings.Contains(got.body+s.log.String(), "canary") || !strings.Contains(s.log.String(), settled.Reference) {
		t.Errorf("log: %s", s.log)
	}
}

func TestCall_rendersARefusalOfTheGate(t *testing.T) {
	t.Parallel()
	for _, correctable := range []bool{true, false} {
		s := start(t, catalog{{name: "a", refusal: &mcp.Refusal{Text: "items[].quantity: \"at most\" 5", Correctable: correctable}}})
		got := s.do(t, call{body: callA})
		expectBody(t, got.body, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":`+
			`"items[].quantity: \"at most\" 5"}],"isError":true,"_meta":{"dev.sallyport/correctable":%v}}}`, correctable))
		if settled := <-s.settlements.tell; settled.Class != lifecycle.InputValidation {
			t.Errorf("settled as %s", settled.Class)
		}
	}
}

func TestCall_rendersResults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		members string
		isError bool
		outcome lifecycle.Outcome
	}{
		{"text only", `"content":[{"type":"text","text":"x"}]`, false, lifecycle.Success},
		{"structured", `"structuredContent":{"a":1},"content":[]`, false, lifecycle.Success},
		{"error of the service's own", `"content":[],"isError":true`, true, lifecycle.ToolError},
		{"longer than net/http holds back", `"content":[` + strings.Repeat("1,", 8<<10) + `1]`, false, lifecycle.Success},
		{"larger than any buffer that is kept", `"content":[` + strings.Repeat("1,", 1<<20) + `1]`, false, lifecycle.Success},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, catalog{{name: "a", result: func(dst []byte) ([]byte, bool, error) {
				return append(dst, test.members...), test.isError, nil
			}}})
			got := s.do(t, call{body: callA})
			expectBody(t, got.body, `{"jsonrpc":"2.0","id":1,"result":{`+test.members+`,"_meta":{"dev.sallyport/type":"test.v1.Response"}}}`)
			if length := got.header.Get("Content-Length"); length != strconv.Itoa(len(got.body)) {
				t.Errorf("Content-Length %q for %d bytes", length, len(got.body))
			}
			if settled := <-s.settlements.tell; settled.Outcome != test.outcome {
				t.Errorf("settled as %s", settled.Outcome)
			}
		})
	}
}

// What an earlier request left in a reused buffer shows in no later answer, and answers of requests that run at the
// same time do not mix.
func TestCall_sharesNoBufferBetweenRequests(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}})
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for j := range 50 {
				arguments := fmt.Sprintf(`{"x":"%d-%s"}`, i, strings.Repeat("y", (i*j*37)%3000))
				got := s.do(t, call{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":` + arguments + `}}`})
				if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":%s,"content":[{"type":"text","text":%q}],`+
					`"_meta":{"dev.sallyport/type":"test.v1.Response"}}}`, arguments, arguments); got.body != want {
					t.Errorf("got  %s\nwant %s", got.body, want)
				}
			}
		})
	}
	clients.Wait()
}

// What the service said is shown as the other room words it; the codes that have one text for all stay as they are.
func TestCall_showsWhatTheServiceSaid(t *testing.T) {
	t.Parallel()
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			tools := failing(&mcp.Failure{Code: code})
			tools[0].explain = func(arguments []byte, f *mcp.Failure) (string, bool) {
				if string(arguments) != `{"x":"canary"}` || f.Code != code {
					t.Errorf("explain %s, %v", arguments, f)
				}
				return "no \"{x}\"", code == codes.InvalidArgument
			}
			got := start(t, tools).do(t, call{body: callA})
			said := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no \"{x}\""}],"isError":true,` +
				`"_meta":{"dev.sallyport/correctable":` + strconv.FormatBool(code == codes.InvalidArgument) + `}}}`
			switch code {
			case codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.Internal, codes.Unavailable, codes.DataLoss, codes.Unauthenticated:
				if strings.Contains(got.body, "{x}") {
					t.Errorf("got %s", got.body)
				}
			default:
				expectBody(t, got.body, said)
			}
		})
	}
}

func TestCall_isCancelledWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	running, ended := make(chan struct{}), make(chan error, 1)
	s := start(t, catalog{{name: "a", call: func(ctx context.Context, _ []byte) ([]byte, error) {
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, &mcp.Failure{Code: codes.Canceled}
	}}})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(callA))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Clientid": {"m-1"}, "Clientsecret": {"secret"}}
	go func() {
		<-running
		cancel()
	}()
	if response, err := s.Client().Do(r); err == nil {
		response.Body.Close()
		t.Error("the client got an answer")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if settled := <-s.settlements.tell; settled.Outcome != lifecycle.Cancelled {
		t.Errorf("settled as %s", settled.Outcome)
	}
}

func TestHandler_settlesEveryRequestOnce(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}})
	tests := []struct {
		name string
		call call
		want lifecycle.Settlement
	}{
		{"served", call{body: callA}, lifecycle.Settlement{Outcome: lifecycle.Success, Class: lifecycle.None, Method: "tools/call",
			Tool: "srv://system-api~test.v1.Service/a", ProtocolVersion: "2025-03-26", Status: 200}},
		{"initialize", call{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`},
			lifecycle.Settlement{Outcome: lifecycle.Success, Class: lifecycle.None, Method: "initialize", ProtocolVersion: "2025-06-18", Status: 200}},
		{"unknown tool", call{body: strings.Replace(callA, `"a"`, `"canary"`, 1)}, lifecycle.Settlement{Outcome: lifecycle.Rejected,
			Class: lifecycle.Authorization, Method: "tools/call", ProtocolVersion: "2025-03-26", Status: 200}},
		{"unknown method", call{body: `{"jsonrpc":"2.0","id":1,"method":"canary"}`}, lifecycle.Settlement{Outcome: lifecycle.Rejected,
			Class: lifecycle.Envelope, Method: "OTHER", ProtocolVersion: "2025-03-26", Status: 200}},
		{"notification", call{body: `{"jsonrpc":"2.0","method":"canary"}`}, lifecycle.Settlement{Outcome: lifecycle.Success,
			Class: lifecycle.None, Method: "OTHER", ProtocolVersion: "2025-03-26", Status: 202}},
		{"bad JSON", call{body: `{`}, lifecycle.Settlement{Outcome: lifecycle.Rejected, Class: lifecycle.Decode, Status: 400}},
		{"bad envelope", call{body: `{}`}, lifecycle.Settlement{Outcome: lifecycle.Rejected, Class: lifecycle.Envelope, Status: 400}},
		{"bad version", call{body: ping, headers: map[string]string{"MCP-Protocol-Version": "canary"}},
			lifecycle.Settlement{Outcome: lifecycle.Rejected, Class: lifecycle.Negotiation, Method: "ping", Status: 400}},
		{"no credentials", call{body: ping, headers: map[string]string{"clientSecret": "canary"}},
			lifecycle.Settlement{Outcome: lifecycle.Rejected, Class: lifecycle.Authentication, Status: 401,
				Credential: lifecycle.CredentialSecret, Address: "127.0.0.1"}},
		{"not admitted", call{method: "GET"}, lifecycle.Settlement{Outcome: lifecycle.Rejected, Class: lifecycle.Transport, Status: 405}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.do(t, test.call)
			got := <-s.settlements.tell
			if got.Reference == "" || got.Duration <= 0 || time.Since(got.At) > time.Hour {
				t.Errorf("reference %q, duration %v", got.Reference, got.Duration)
			}
			authenticated := got.Participant.GetId() == "m-1"
			if authenticated != (got.Status != 401 && got.Status != 405) {
				t.Errorf("participant %v", got.Participant)
			}
			got.Reference, got.At, got.Duration, got.Participant = "", time.Time{}, 0, nil
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
	if n := len(s.settlements.all); n != len(tests) {
		t.Errorf("%d settlements for %d requests", n, len(tests))
	}
}
