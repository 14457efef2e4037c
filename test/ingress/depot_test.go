package ingress_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/test/rawgrpc"
)

// depot is the service behind the edges. It counts the calls that reach each RPC and does in them what the test said.
// It is safe for concurrent use.
type depot struct {
	address string

	mu      sync.Mutex
	calls   map[string]int
	answers map[string]func(*call) error
}

// call is one call that reached the depot.
type call struct {
	ctx    context.Context
	stream grpc.ServerStream
	// text is the first field of the request, size the second.
	text string
	size int
}

func startDepot(t testing.TB) *depot {
	t.Helper()
	d := &depot{calls: make(map[string]int), answers: make(map[string]func(*call) error)}
	server := grpc.NewServer(grpc.UnknownServiceHandler(d.serve), grpc.ForceServerCodecV2(rawgrpc.Codec{}),
		grpc.MaxRecvMsgSize(64<<20),
		// As package service has it: edges ask every ten seconds of silence whether the connection is alive.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.address = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return d
}

// on says what is done in a call of the RPC from now on. It may be called while requests are running.
func (d *depot) on(rpc string, do func(*call) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers["/acme.depot.v1.Depot/"+rpc] = do
}

// count is how many calls of the RPC have arrived.
func (d *depot) count(rpc string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls["/acme.depot.v1.Depot/"+rpc]
}

func (d *depot) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	c := &call{ctx: stream.Context(), stream: stream}
	if err := c.parse(request); err != nil {
		return err
	}
	d.mu.Lock()
	d.calls[method]++
	do := d.answers[method]
	d.mu.Unlock()
	if do == nil {
		return status.Error(codes.Unimplemented, "the test expects no call")
	}
	return do(c)
}

func (c *call) parse(request []byte) error {
	for len(request) > 0 {
		number, kind, n := protowire.ConsumeTag(request)
		if n < 0 {
			return protowire.ParseError(n)
		}
		request = request[n:]
		switch {
		case number == 1 && kind == protowire.BytesType:
			var text []byte
			text, n = protowire.ConsumeBytes(request)
			c.text = string(text)
		case number == 2 && kind == protowire.VarintType:
			var size uint64
			size, n = protowire.ConsumeVarint(request)
			c.size = int(size)
		default:
			n = protowire.ConsumeFieldValue(number, kind, request)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		request = request[n:]
	}
	return nil
}

// answer sends an Answer, which is the end of a unary call.
func (c *call) answer(text string) error { return c.stream.SendMsg(answerOf(text)) }

// result sends a Step with the Answer, which is the end of a call with progress.
func (c *call) result(text string) error {
	return c.stream.SendMsg(protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), answerOf(text)))
}

// progress sends a Step with a sign of life.
func (c *call) progress(p *toolv1.Progress) error {
	raw, err := proto.Marshal(p)
	if err != nil {
		return err
	}
	return c.stream.SendMsg(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), raw))
}

func answerOf(text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
}
