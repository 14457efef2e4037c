package workload

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
)

// The tool's names.
const (
	// FullMethod is the RPC as gRPC calls it.
	FullMethod = benchv1.BenchService_GetItem_FullMethodName
	// Alias is the name under which the RPC is published as a tool.
	Alias = "get_item"
	// Zone is the service's zone.
	Zone = "app." + Organization + "." + Application
	// OpenAlias is the name of the same tool in OpenZone, where it has no access rule.
	OpenAlias = "get_open_item"
	// OpenZone is reached by callers without credentials, and by no application.
	OpenZone = "app." + Organization + ".open"
	// Organization and Application own the zone.
	Organization = "bench-org"
	Application  = "bench-app"
	// Role is the organization's role that every tool asks for, and Action what it grants.
	Role   = "reader"
	Action = "items.get"
)

// Workers is how many requests are under way at any time.
const Workers = 16

// A Size is one of the two calls.
type Size string

// The sizes.
const (
	// Small asks for one item.
	Small Size = "small"
	// Large asks for an item and twenty more.
	Large Size = "large"
)

// related is how many items the answer holds besides the one that was asked for.
func (s Size) related() int32 {
	if s == Large {
		return 20
	}
	return 0
}

// ID is the id that a worker asks for. All are of one length, and none is part of another.
func ID(worker int) string { return fmt.Sprintf("item-w%02d", worker) }

// Request is what a worker asks.
func Request(s Size, worker int) *benchv1.GetItemRequest {
	return &benchv1.GetItemRequest{
		Id: ID(worker),
		Filter: &benchv1.Filter{
			MinVersion:   9007199254740993, // one more than a double can hold
			Status:       benchv1.Status_STATUS_ACTIVE,
			Tags:         []string{"tea", "green"},
			Labels:       map[string]string{"region": "eu-west", "season": "spring"},
			UpdatedAfter: stamp(2026, time.January, 2),
		},
		Related: s.related(),
	}
}

// Arguments is what a worker asks, as the JSON that an MCP host would write.
func Arguments(s Size, worker int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"filter":{"minVersion":"9007199254740993","status":"STATUS_ACTIVE",`+
		`"tags":["tea","green"],"labels":{"region":"eu-west","season":"spring"},"updatedAfter":"2026-01-02T03:04:05Z"},"related":%d}`,
		ID(worker), s.related())
}

// Response is what a worker must get.
func Response(s Size, worker int) *benchv1.GetItemResponse { return answer(Request(s, worker)) }

// Wire is a message as it travels, the same bytes each time.
func Wire(m proto.Message) []byte {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("workload: %v", err)) // the messages are ours
	}
	return raw
}

// Check says what is wrong with an answer that was read from JSON.
func Check(s Size, worker int, answer []byte) error {
	got := new(benchv1.GetItemResponse)
	if err := protojson.Unmarshal(answer, got); err != nil {
		return fmt.Errorf("the answer is no %s: %w", got.ProtoReflect().Descriptor().FullName(), err)
	}
	if want := Response(s, worker); !proto.Equal(got, want) {
		return fmt.Errorf("the answer is not the item that was asked for: got %v, want %v", got, want)
	}
	return nil
}

func stamp(year int, month time.Month, day int) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(year, month, day, 3, 4, 5, 0, time.UTC))
}
