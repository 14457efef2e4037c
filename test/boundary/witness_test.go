package boundary_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/test/rawgrpc"
)

// witness is a gRPC server that serves every method there is: it records the request's bytes, and answers what a test
// told it to, else an empty message. It is safe for concurrent use.
type witness struct {
	address string
	server  *grpc.Server

	mu      sync.Mutex
	calls   int
	newest  *seen
	answers map[string]answerFunc
	streams map[string]streamFunc
	// connections is how many connections were made to the witness.
	connections atomic.Int64
}

// answerFunc answers one call with the response's bytes or with an error, as a rule from package status.
type answerFunc func(ctx context.Context, call *seen) ([]byte, error)

// streamFunc answers one call of a server-streaming method with as many responses as it sends.
type streamFunc func(ctx context.Context, call *seen, send func(response []byte) error) error

// seen is one request that reached the witness.
type seen struct {
	// method is /package.Service/Method.
	method   string
	wire     []byte
	metadata metadata.MD
}

// startWitness serves on loopback until the test ends.
func startWitness(t testing.TB) *witness {
	t.Helper()
	w := &witness{answers: make(map[string]answerFunc), streams: make(map[string]streamFunc)}
	w.server = grpc.NewServer(grpc.UnknownServiceHandler(w.serve), grpc.ForceServerCodecV2(rawgrpc.Codec{}), grpc.MaxRecvMsgSize(64<<20))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- w.server.Serve(counted{l, &w.connections}) }()
	t.Cleanup(func() {
		w.server.Stop()
		<-done
	})
	return w
}

// counted counts the connections that a listener takes.
type counted struct {
	net.Listener
	taken *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.taken.Add(1)
	}
	return conn, err
}

func (w *witness) serve(_ any, stream grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(stream)
	if !ok {
		return status.Error(codes.Internal, "a call without a method")
	}
	call := &seen{method: method}
	if err := stream.RecvMsg(&call.wire); err != nil {
		return err
	}
	call.metadata, _ = metadata.FromIncomingContext(stream.Context())
	w.mu.Lock()
	w.calls++
	w.newest = call
	answer, streamed := w.answers[method], w.streams[method]
	w.mu.Unlock()
	if streamed != nil {
		return streamed(stream.Context(), call, func(response []byte) error { return stream.SendMsg(response) })
	}
	var body []byte
	if answer != nil {
		var err error
		if body, err = answer(stream.Context(), call); err != nil {
			return err
		}
	}
	return stream.SendMsg(body)
}

// answer sets what a method answers from now on, by its full name `/package.Service/Method`.
func (w *witness) answer(method string, f answerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[method] = f
}

// stream sets what a server-streaming method answers from now on.
func (w *witness) stream(method string, f streamFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams[method] = f
}

// count is how many calls arrived.
func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// last is the newest call that arrived, nil before the first.
func (w *witness) last() *seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// as parses the request as a message of the type.
func (s *seen) as(t testing.TB, md protoreflect.MessageDescriptor) *dynamicpb.Message {
	t.Helper()
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(s.wire, m); err != nil {
		t.Fatalf("%s got bytes that are no %s: %v", s.method, md.FullName(), err)
	}
	return m
}

// participant is who the edge says is calling.
func (s *seen) participant(t testing.TB) *participant.Participant {
	t.Helper()
	p := new(participant.Participant)
	if raw := s.metadata.Get(assertion.ParticipantKey); len(raw) != 1 || proto.Unmarshal([]byte(raw[0]), p) != nil {
		t.Fatalf("%s got the participants %q", s.method, raw)
	}
	return p
}
