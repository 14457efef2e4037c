package edge_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// serveStreams serves the streaming service of the probe. A step is a number, for a sign of that progress, with a total
// behind a slash and a message behind a space; `=word` for the result; `nothing` for a message that is neither; `large N`
// for a result of that many bytes; `fail N` for a status; `wait` until the caller leaves or the test lets go; `flood` for large
// signs until the caller leaves.
func (p *probe) serveStreams(files *protoregistry.Files) {
	found, err := files.FindDescriptorByName(streamService)
	if err != nil {
		panic(err)
	}
	description := &grpc.ServiceDesc{ServiceName: streamService, HandlerType: (*any)(nil)}
	methods := found.(protoreflect.ServiceDescriptor).Methods()
	for i := range methods.Len() {
		md := methods.Get(i)
		description.Streams = append(description.Streams, grpc.StreamDesc{
			StreamName: string(md.Name()), ServerStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				in := dynamicpb.NewMessage(md.Input())
				if err := stream.RecvMsg(in); err != nil {
					return err
				}
				steps := in.Get(md.Input().Fields().ByName("steps")).List()
				for i := range steps.Len() {
					if err := p.step(stream, md.Output(), steps.Get(i).String()); err != nil {
						return err
					}
				}
				return nil
			},
		})
	}
	p.server.RegisterService(description, p)
}

func (p *probe) step(stream grpc.ServerStream, out protoreflect.MessageDescriptor, step string) error {
	message := dynamicpb.NewMessage(out)
	result := func(word string) error {
		fd := out.Fields().ByName("result")
		m := message.Mutable(fd).Message()
		m.Set(fd.Message().Fields().ByName("word"), protoreflect.ValueOfString(word))
		return stream.SendMsg(message)
	}
	verb, rest, _ := strings.Cut(step, " ")
	number, _ := strconv.Atoi(rest)
	switch verb {
	case "nothing":
		return stream.SendMsg(message)
	case "large":
		return result(strings.Repeat("x", number))
	case "fail":
		if code := codes.Code(number); code != codes.Internal {
			return status.Error(code, "the service says so")
		}
		return status.Error(codes.Internal, "canary")
	case "flood":
		for i := 0; stream.Context().Err() == nil; i++ {
			_ = p.step(stream, out, strconv.Itoa(i)+" "+strings.Repeat("m", 250<<10))
		}
		p.ended <- stream.Context().Err()
		return nil
	case "wait":
		p.running <- struct{}{}
		select {
		case <-stream.Context().Done():
			p.ended <- stream.Context().Err()
			return status.FromContextError(stream.Context().Err()).Err()
		case <-p.release:
			return nil
		}
	}
	if word, ok := strings.CutPrefix(step, "="); ok {
		return result(word)
	}
	sign := &toolv1.Progress{Message: rest}
	progress, total, hasTotal := strings.Cut(verb, "/")
	sign.Progress, _ = strconv.ParseFloat(progress, 64)
	if hasTotal {
		of, _ := strconv.ParseFloat(total, 64)
		sign.Total = &of
	}
	raw, err := proto.Marshal(sign)
	if err != nil {
		return err
	}
	fd := out.Fields().ByName("progress")
	m := dynamicpb.NewMessage(fd.Message())
	if err := proto.Unmarshal(raw, m); err != nil {
		return err
	}
	message.Set(fd, protoreflect.ValueOfMessage(m))
	return stream.SendMsg(message)
}

// streaming is a house with the probe's streaming service behind the edge.
type streaming struct {
	*house
	probe  *probe
	caller credentials
}

func newStreaming(t *testing.T, configure ...func(*configv1.EdgeConfig)) *streaming {
	t.Helper()
	h := newHouse(t, append([]func(*configv1.EdgeConfig){func(c *configv1.EdgeConfig) {
		c.ProgressInterval = durationpb.New(time.Nanosecond) // each sign at once
	}}, configure...)...)
	s := &streaming{house: h, probe: startProbe(t, "one")}
	h.registerService(s.probe, "system-api", streamService)
	s.caller = h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(s.caller), []string{"run", "run_soon"}) })
	return s
}

// open calls a tool as a client that takes a stream.
func (s *streaming) open(ctx context.Context, tool string, steps ...string) *http.Response {
	s.t.Helper()
	quoted := make([]string, len(steps))
	for i, step := range steps {
		quoted[i] = strconv.Quote(step)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"steps":[%s]},"_meta":{"progressToken":"t"}}}`,
		tool, strings.Join(quoted, ","))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Clientid": {s.caller.id}, "Clientsecret": {s.caller.secret},
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		response.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return response
}

// run calls a tool and gives the signs of its stream, shortened, and the last message.
func (s *streaming) run(tool string, steps ...string) (signs []string, last string) {
	s.t.Helper()
	response := s.open(s.t.Context(), tool, steps...)
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s, %v", response.StatusCode, body, err)
	}
	if response.Header.Get("Content-Type") != "text/event-stream" {
		return nil, string(body)
	}
	// On a machine that is very slow there may be comments between the events.
	events := strings.TrimSuffix(strings.ReplaceAll(string(body), "\n\n:\n\n", "\n\n"), "\n\n")
	frames := strings.Split(events, "\n\n")
	for i, frame := range frames {
		frame = strings.TrimPrefix(frame, "event: message\ndata: ")
		if i == len(frames)-1 {
			return signs, frame
		}
		frame = strings.TrimPrefix(frame, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":`)
		signs = append(signs, strings.TrimSuffix(frame, "}}"))
	}
	return signs, ""
}

func TestProgress_reachesWhoListens(t *testing.T) {
	s := newStreaming(t)
	result := func(word string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"word":"` + word + `","servedBy":"","participantId":""},` +
			`"content":[{"type":"text","text":"{\"word\":\"` + word + `\",\"servedBy\":\"\",\"participantId\":\"\"}"}],"_meta":{"dev.sallyport/type":"probe.v1.SayResponse"}}}`
	}
	for _, row := range []struct {
		name  string
		steps []string
		signs []string
		last  string
	}{
		{"only a result", []string{"=a"}, nil, result("a")},
		{"signs and a result", []string{"1/4 begun", "2.5/4", "4/4", "=b"}, []string{`1,"total":4,"message":"begun"`, `2.5,"total":4`, `4,"total":4`}, result("b")},
		{"signs that do not grow", []string{"5", "5", "3", "NaN", "6/Inf", "=c"}, []string{"5", "6"}, result("c")},
		{"an empty result", []string{"1", "="}, []string{"1"}, result("")},
	} {
		t.Run(row.name, func(t *testing.T) {
			signs, last := s.run("run", row.steps...)
			if !slices.Equal(signs, row.signs) || last != row.last {
				t.Errorf("got %q\n%s\nwant\n%s", signs, last, row.last)
			}
		})
	}
	t.Run("a client without a token", func(t *testing.T) {
		if got := s.call(s.caller, "run", `{"steps":["1","2","=a"]}`); got != result("a") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("the list", func(t *testing.T) {
		_, body := s.post(s.caller, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if !strings.Contains(body, `"outputSchema":{"type":"object","properties":{"word":`) {
			t.Errorf("got %s", body)
		}
	})
}

// The service answers with what its contract does not allow, fails, or is gone: the caller learns no more than of any
// other call, and whoever runs the edge learns what was wrong.
func TestProgress_failures(t *testing.T) {
	s := newStreaming(t)
	const internal = "An internal error occurred. Whoever runs this platform finds it in the log by the reference "
	for _, row := range []struct {
		name, tool string
		steps      []string
		signs      int
		want       string
		logged     string
	}{
		{"no message", "run", nil, 0, internal, "the stream ended without a result"},
		{"no result", "run", []string{"1", "2"}, 2, internal, "the stream ended without a result"},
		{"two results", "run", []string{"1", "=a", "=b"}, 1, internal, "the stream goes on after its result"},
		{"a sign after the result", "run", []string{"1", "=a", "2"}, 1, internal, "the stream goes on after its result"},
		{"neither sign nor result", "run", []string{"1", "nothing", "=a"}, 1, internal, "a message of the stream cannot be read"},
		{"a status", "run", []string{"1", "fail 5"}, 1, `"_meta":{"dev.sallyport/correctable":`, ""},
		{"a status after the result", "run", []string{"1", "=a", "fail 9"}, 1, `"_meta":{"dev.sallyport/correctable":`, ""},
		{"an internal status", "run", []string{"1", "fail 13"}, 1, internal, `"code":"Internal"`},
		{"unavailable after a sign, although it is safe to repeat", "run", []string{"1", "fail 14"}, 1, `"_meta":{"dev.sallyport/executed":"unknown"}`, ""},
		{"the call's deadline", "run_soon", []string{"1", "wait"}, 1, `The service did not answer in time. The call may have run: check before you repeat it."}],"isError":true,"_meta":{"dev.sallyport/executed":"unknown"}`, ""},
		{"the call's deadline after the result", "run_soon", []string{"=a", "wait"}, 0, `The service did not answer in time. The call may have run`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := len(s.log.String())
			signs, last := s.run(row.tool, row.steps...)
			if len(signs) != row.signs || !strings.Contains(last, row.want) || !strings.Contains(last, `"isError":true`) {
				t.Errorf("got %q\n%s", signs, last)
			}
			if log := s.log.String()[before:]; !strings.Contains(log, row.logged) || strings.Contains(log+last, "canary") {
				t.Errorf("log: %s", log)
			}
			if slices.Contains(row.steps, "wait") {
				receive(t, s.probe.running)
				receive(t, s.probe.ended)
			}
		})
	}
}

// begin calls a tool, and returns when two signs have arrived and the service waits.
func (s *streaming) begin(ctx context.Context) *bufio.Reader {
	s.t.Helper()
	lines := bufio.NewReader(s.open(ctx, "run", "1", "2", "wait").Body)
	for line := ""; !strings.Contains(line, `"progress":2`); {
		var err error
		if line, err = lines.ReadString('\n'); err != nil {
			s.t.Fatal(err)
		}
	}
	receive(s.t, s.probe.running)
	return lines
}

// A client that leaves in the middle of progress ends the call at the service.
func TestProgress_endsAtTheServiceWhenTheClientLeaves(t *testing.T) {
	s := newStreaming(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s.begin(ctx)
	leave()
	if err := receive(t, s.probe.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the service's context ended with %v", err)
	}
	s.settle(func() bool { return strings.Contains(s.log.String(), `"outcome":"CANCELLED","class":"TRANSPORT"`) })
	if log := s.log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("log: %s", log)
	}
}

// A service that is killed in the middle of progress may have done its work: nothing is repeated.
func TestProgress_endsWithTheService(t *testing.T) {
	s := newStreaming(t)
	lines := s.begin(t.Context())
	s.probe.server.Stop()
	last, err := io.ReadAll(lines)
	if want := `The service is not available. The call may have run: check before you repeat it."}],"isError":true,"_meta":{"dev.sallyport/executed":"unknown"}}}`; err != nil || !strings.Contains(string(last), want) {
		t.Errorf("got %s, %v", last, err)
	}
	receive(t, s.probe.ended)
}

// So does a client that reads nothing, and so does the deadline of the request, which answers in the form that is open.
func TestProgress_limitsOfTheEdge(t *testing.T) {
	t.Run("the request's deadline", func(t *testing.T) {
		s := newStreaming(t, func(c *configv1.EdgeConfig) { c.RequestTimeout = durationpb.New(time.Second) })
		for _, steps := range [][]string{{"wait"}, {"1", "wait"}} {
			response := s.open(t.Context(), "run", steps...)
			body, err := io.ReadAll(response.Body)
			wantStatus := http.StatusGatewayTimeout
			if len(steps) > 1 {
				wantStatus = http.StatusOK
			}
			if err != nil || response.StatusCode != wantStatus ||
				!strings.Contains(string(body), `{"jsonrpc":"2.0","id":1,"error":{"code":504,"message":"The request took longer than this edge allows. The call may have run: check before you repeat it."}}`) {
				t.Errorf("got %d %s, %v", response.StatusCode, body, err)
			}
			receive(t, s.probe.running)
			receive(t, s.probe.ended)
		}
		s.settle(func() bool {
			return strings.Count(s.log.String(), `"outcome":"FAILED","class":"DEADLINE"`) == 2
		})
	})
	t.Run("the largest answer", func(t *testing.T) {
		s := newStreaming(t, func(c *configv1.EdgeConfig) { c.MaxAnswerBytes = 64 << 10 })
		const refused = "The service's response is larger than this edge accepts: ask for less at once."
		if signs, last := s.run("run", "1", "2", "large 30000"); len(signs) != 2 || strings.Contains(last, refused) {
			t.Errorf("got %q, %.200s", signs, last)
		}
		if signs, last := s.run("run", "1", "2", "large 40000"); len(signs) != 2 || !strings.Contains(last, refused) {
			t.Errorf("got %q, %.200s", signs, last)
		}
		if _, last := s.run("run", "large 40000"); !strings.Contains(last, refused) {
			t.Errorf("got %.200s", last)
		}
	})
	t.Run("the largest message of the service", func(t *testing.T) {
		s := newStreaming(t, func(c *configv1.EdgeConfig) { c.MaxResponseBytes = 64 << 10 })
		if signs, last := s.run("run", "1", "large 70000"); len(signs) != 1 || !strings.Contains(last, "larger than this edge accepts") {
			t.Errorf("got %q, %.200s", signs, last)
		}
	})
	t.Run("the time of a write", func(t *testing.T) {
		s := newStreaming(t, func(c *configv1.EdgeConfig) { c.WriteTimeout = durationpb.New(200 * time.Millisecond) })
		s.open(t.Context(), "run", "flood") // and read nothing
		receive(t, s.probe.ended)
		s.settle(func() bool { return strings.Contains(s.log.String(), `"outcome":"CANCELLED","class":"TRANSPORT"`) })
	})
}
