// Package rawgrpc lets a test's gRPC server or client deal in the bytes of messages, whatever their types are.
//
// In go and out come serialised messages, as []byte to send and *[]byte to receive. It knows no service and no
// descriptor.
package rawgrpc

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// Codec is a gRPC codec that leaves messages as the bytes they are. It calls itself `proto`, which is what they are to
// the other end.
type Codec struct{}

// Name is the content subtype.
func (Codec) Name() string { return "proto" }

// Marshal sends a []byte without copying it.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("a message is bytes, not %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal receives into a *[]byte, in memory that is the receiver's.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("a message is bytes, not %T", v)
	}
	*b = data.Materialize()
	return nil
}
