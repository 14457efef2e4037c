package dispatch_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
)

func TestNewForwarding_refusesWhatNobodyMaySay(t *testing.T) {
	t.Parallel()
	const (
		who        = "this is how the edge says who calls, which nobody else may"
		grpc       = "it means something to gRPC"
		mcp        = "it is of the protocol between the caller and the edge, and repeats the body"
		proxy      = "it is for the next proxy alone"
		body       = "it describes the body that the edge has read, not the one that it sends"
		binary     = "gRPC reads base64 there"
		secret     = "it carries the caller's credentials, which never go to a service"
		learn      = "services learn from the assertion alone who calls"
		agent      = "gRPC sets its own"
		connection = "it is of the connection to the edge"
		result     = "it is about the answer of the edge"
		letters    = "the names of metadata are of letters, digits, dash, underscore and dot"
	)
	for name, why := range map[string]string{
		"sallyport-participant-bin": who, "sallyport-assertion": who, "Sallyport-Anything": who, "sallyport_assertion": who,
		"grpc-timeout": grpc, "Grpc-Metadata-Sallyport-Assertion": grpc, "grpc-trace-bin": grpc, "grpc_status": grpc,
		"Mcp-Session-Id": mcp, "Mcp-Param-Region": mcp, "mcp-protocol-version": mcp,
		"Proxy-Authorization": proxy, "proxy-connection": proxy,
		"Content-Type": body, "content-length": body, "Content-Encoding": body,
		"x-thing-bin": binary, "X-Thing_Bin": binary,
		"Authorization": secret, "cookie": secret, "clientId": secret, "ClientSecret": secret,
		"organizationId": learn, "applicationid": learn,
		"User-Agent": agent, "Host": "it is the edge's own name",
		"te": connection, "Trailer": connection, "Transfer-Encoding": connection, "Connection": connection,
		"Keep-Alive": connection, "Upgrade": connection, "HTTP2-Settings": connection, "Expect": connection,
		"Accept": result, "accept-encoding": result,
		"": letters, ":authority": letters, "x y": letters, "x\n": letters, "ж": letters, "\u212a": letters,
	} {
		_, err := dispatch.NewForwarding([]string{"x-fine", name})
		if want := fmt.Sprintf("forwarded_headers[1]: %q cannot be forwarded: %s", name, why); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := dispatch.NewForwarding([]string{"x-one", "X-One"}); err == nil ||
		err.Error() != `forwarded_headers[1]: "X-One" stands twice: upper and lower case are one` {
		t.Errorf("twice: %v", err)
	}
}

func TestForwarding_givesWhatIsOnTheList(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", dispatch.MaxForwardedBytes-len("x-one"))
	for _, row := range []struct {
		name   string
		list   []string
		header http.Header
		want   []string
		bad    string
	}{
		{"nothing is listed", nil, http.Header{"X-One": {"1"}}, nil, ""},
		{"nothing is there", []string{"x-one"}, http.Header{"X-Two": {"2"}}, nil, ""},
		{"in any case", []string{"X-ONE"}, http.Header{"X-One": {"1"}}, []string{"x-one", "1"}, ""},
		{"in the list's order", []string{"b", "a"}, http.Header{"A": {"1"}, "B": {"2"}}, []string{"b", "2", "a", "1"}, ""},
		{"every value", []string{"x-one"}, http.Header{"X-One": {"1", "", "2"}}, []string{"x-one", "1", "x-one", "", "x-one", "2"}, ""},
		{"with underscores and dots", []string{"x_one.a"}, http.Header{"X_one.a": {"1"}}, []string{"x_one.a", "1"}, ""},
		{"traces", []string{"traceparent"}, http.Header{"Traceparent": {"00-1"}}, []string{"traceparent", "00-1"}, ""},
		{"all of ASCII that prints", []string{"x-one"}, http.Header{"X-One": {" ~"}}, []string{"x-one", " ~"}, ""},
		{"a tab", []string{"x-one"}, http.Header{"X-One": {"a\tb"}}, nil, "x-one"},
		{"a control", []string{"x-one"}, http.Header{"X-One": {"\x7f"}}, nil, "x-one"},
		{"not ASCII", []string{"x-one"}, http.Header{"X-One": {"ü"}}, nil, "x-one"},
		{"one of several", []string{"x-one", "X-Two"}, http.Header{"X-One": {"1"}, "X-Two": {"2", "\xff"}}, nil, "x-two"},
		{"as much as there may be", []string{"x-one"}, http.Header{"X-One": {full}}, []string{"x-one", full}, ""},
		{"more than that", []string{"x-one"}, http.Header{"X-One": {full + "x"}}, nil, "x-one"},
		{"more than that together", []string{"x-one", "y"}, http.Header{"X-One": {full}, "Y": {""}}, nil, "y"},
	} {
		f, err := dispatch.NewForwarding(row.list)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if got, bad := f.Forward(row.header); !slices.Equal(got, row.want) || bad != row.bad {
			t.Errorf("%s: got %q, %q", row.name, got, bad)
		}
	}
}

// What is forwarded arrives byte for byte, in calls and in streams, at each attempt, and in no other call.
func TestForwarding_arrives(t *testing.T) {
	heard := make(chan metadata.MD, 1)
	unary := serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		heard <- md
		return nil, nil
	})
	streams := serveStream(t, func(ctx context.Context, _ []byte, send func(string)) error {
		md, _ := metadata.FromIncomingContext(ctx)
		heard <- md
		send("=")
		return nil
	})
	list := []string{"X-One", "x_two", "traceparent", "3.d"}
	f, err := dispatch.NewForwarding(list)
	if err != nil {
		t.Fatal(err)
	}
	// An instance where nobody listens makes a second attempt of some calls.
	calls := start(t, nil, stored("nobody", unused(t)), unary.instance())
	streaming := start(t, nil, streams.instance())
	rapid.Check(t, func(rt *rapid.T) {
		header := http.Header{"Sallyport-Assertion": {"forged"}, "Sallyport-Participant-Bin": {"Zm9yZ2Vk"}, "Authorization": {"Bearer x"}}
		for _, name := range list {
			for _, value := range rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,20}`), 0, 3).Draw(rt, name) {
				header.Add(name, value)
			}
		}
		forwarded, bad := f.Forward(header)
		if bad != "" {
			rt.Fatalf("%s cannot go", bad)
		}
		r := request("")
		r.Forwarded = forwarded
		if rapid.Bool().Draw(rt, "stream") {
			if _, _, failure := stream(t.Context(), streaming, r); failure != nil {
				rt.Fatal(failure)
			}
		} else if _, failure := call(calls, r); failure != nil {
			rt.Fatal(failure)
		}
		md := wait(t, heard, "the call")
		for _, name := range list {
			if got, want := md.Get(name), header.Values(name); !slices.Equal(got, want) {
				rt.Fatalf("%s: %q, want %q", name, got, want)
			}
		}
		for name, values := range md {
			switch name {
			case ":authority", "content-type", "user-agent", "grpc-accept-encoding", "x-one", "x_two", "traceparent", "3.d":
			case assertion.ParticipantKey, assertion.AssertionKey:
				if len(values) != 1 || strings.Contains(values[0], "forged") {
					rt.Fatalf("%s: %q", name, values)
				}
			default:
				rt.Fatalf("%s: %q goes along", name, values)
			}
		}
	})
}
