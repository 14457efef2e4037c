package dispatch

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// passThrough is a gRPC codec for messages that are serialised already. It calls itself `proto`, which is what the
// bytes are to the service.
type passThrough struct{}

// Name is the content subtype.
func (passThrough) Name() string { return "proto" }

// Marshal hands the bytes on without copying them.
func (passThrough) Marshal(v any) (mem.BufferSlice, error) {
	body, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("dispatch: a request is bytes, not %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(body)}, nil
}

// Unmarshal copies the bytes out of gRPC's buffers, once.
func (passThrough) Unmarshal(data mem.BufferSlice, v any) error {
	body, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("dispatch: a response is bytes, not %T", v)
	}
	*body = data.Materialize()
	return nil
}
