package dispatch

import (
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// exchange is one attempt as gRPC sees it: the message that it sends and the one that it receives. It is not used
// again, since gRPC may hold the request after a failure.
type exchange struct {
	request []byte
	// left says that a stream was open and the request was handed to it.
	left bool
	// response is nil until one has arrived.
	response mem.Buffer
	trailer  metadata.MD
	options  [3]grpc.CallOption
}

// passThrough is a gRPC codec for messages that are serialised already. It calls itself `proto`, which is what the
// bytes are to the service.
type passThrough struct{}

// Name is the content subtype.
func (passThrough) Name() string { return "proto" }

// Marshal hands the bytes on without copying them. gRPC asks for them when the stream is open, and not before.
func (passThrough) Marshal(v any) (mem.BufferSlice, error) {
	e, ok := v.(*exchange)
	if !ok {
		return nil, errNotOurs
	}
	e.left = true
	return mem.BufferSlice{mem.SliceBuffer(e.request)}, nil
}

// Unmarshal takes the bytes over in gRPC's own buffer, where they arrived in one.
func (passThrough) Unmarshal(data mem.BufferSlice, v any) error {
	e, ok := v.(*exchange)
	if !ok {
		return errNotOurs
	}
	e.response = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

var errNotOurs = errors.New("dispatch: the codec carries exchanges only")

// answered reports whether the status of a call that left is the service's word. A service that refuses at once sends
// its status as trailers with a content type, which gRPC makes up for nobody. One that had begun to answer may send a
// bare status; what gRPC makes up for a stream that ends without one can then be told by its text alone. Taking one
// for the other costs little: an instance that was lost is ejected a call later, or one that answered for a second.
func (e *exchange) answered(s *status.Status) bool {
	if len(e.trailer) > 0 {
		return true
	}
	for _, prefix := range ownTexts {
		if strings.HasPrefix(s.Message(), prefix) {
			return false
		}
	}
	return true
}

// ownTexts begin the messages of the statuses that gRPC makes up for a stream that was opened and ended without one.
// The tests meet the common ones over real connections, so that another wording in another release shows.
var ownTexts = []string{
	"connection error: ", "closing transport due to: ", "error reading from server: ", "keepalive ping failed",
	"closing connection since the server is not reading", "received goaway", "no active streams left",
	"the stream is rejected because server is draining the connection", "stream terminated by RST_STREAM",
	"unexpected HTTP status code received from server", "malformed header: ", "transport: ", "grpc: ",
	"a HEADERS frame cannot appear in the middle of a stream", "peer header list size exceeded limit",
	"cardinality violation: ", "context canceled", "context deadline exceeded", "unexpected EOF", "http2: ",
}

// isTooLarge reports whether gRPC refused a message for its size, here a response that had begun to arrive: a service
// whose gRPC refused the request says the same without beginning one, and so with trailers. gRPC gives no other sign
// of it than its text.
func isTooLarge(message string) bool {
	return strings.HasPrefix(message, "grpc: received message") && strings.Contains(message, "larger than max") ||
		strings.HasPrefix(message, "grpc: message after decompression larger than max")
}
