package gate_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/internal/gate"
)

const smallCall = `{"id":"item-000042","filter":{"minVersion":"9007199254740993","status":"STATUS_ACTIVE","tags":["fresh","local"],"labels":{"region":"eu","tier":"gold"},"updatedAfter":"2026-01-02T03:04:05.678Z"},"related":0}`

func BenchmarkGate(b *testing.B) {
	doc := derive(b, (&benchv1.GetItemRequest{}).ProtoReflect().Descriptor(), "protojson")
	g, err := gate.Compile(doc)
	if err != nil {
		b.Fatal(err)
	}
	call := []byte(smallCall)
	b.Run("gate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, refusal := g.Judge(call); refusal != nil {
				b.Fatal(refusal.Text())
			}
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m benchv1.GetItemRequest
			if err := protojson.Unmarshal([]byte(smallCall), &m); err != nil {
				b.Fatal(err)
			}
			if _, err := proto.Marshal(&m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gate.Compile(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
