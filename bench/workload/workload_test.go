package workload_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

// The figures can be compared with others only as long as the sizes are these.
func TestSizes(t *testing.T) {
	tests := []struct {
		size                      workload.Size
		arguments, wire, jsonSize [2]int
	}{
		{workload.Small, [2]int{190, 215}, [2]int{315, 345}, [2]int{590, 635}},
		{workload.Large, [2]int{190, 215}, [2]int{6600, 7200}, [2]int{12200, 13200}},
	}
	for _, test := range tests {
		t.Run(string(test.size), func(t *testing.T) {
			check := func(what string, got int, want [2]int) {
				t.Logf("%s: %d bytes", what, got)
				if got < want[0] || got > want[1] {
					t.Errorf("%s has %d bytes, want %d to %d", what, got, want[0], want[1])
				}
			}
			check("arguments", len(workload.Arguments(test.size, 7)), test.arguments)
			response := workload.Response(test.size, 7)
			check("response on the wire", len(workload.Wire(response)), test.wire)
			text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(response)
			if err != nil {
				t.Fatal(err)
			}
			compact := jsontext.Value(text) // protojson puts in a blank here and there
			if err := compact.Compact(); err != nil {
				t.Fatal(err)
			}
			check("response as JSON", len(compact), test.jsonSize)
		})
	}
}

func TestArguments_areTheRequest(t *testing.T) {
	for _, size := range []workload.Size{workload.Small, workload.Large} {
		got := new(benchv1.GetItemRequest)
		if err := protojson.Unmarshal(workload.Arguments(size, 3), got); err != nil {
			t.Fatal(err)
		}
		if want := workload.Request(size, 3); !proto.Equal(got, want) {
			t.Errorf("%s: arguments mean %v, want %v", size, got, want)
		}
	}
}
