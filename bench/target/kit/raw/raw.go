// Package raw calls gRPC with serialised bytes and takes bytes back: the least that a call can cost whoever stands before
// a service. It knows no message and no JSON.
package raw

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
)

// Dial makes the connection. It does not wait for the service.
func Dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{})))
}

// Call makes one unary call. The request must stay as it is until the connection is closed or the call has succeeded.
func Call(ctx context.Context, conn *grpc.ClientConn, method string, request []byte) (response []byte, err error) {
	err = conn.Invoke(ctx, method, request, &response)
	return response, err
}

// codec serialises nothing.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
