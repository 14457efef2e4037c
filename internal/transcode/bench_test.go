package transcode_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/workload"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// BenchmarkResults measures a response of each size on its way to JSON: by the compiled tables into a warm buffer, with
// the text block besides, and by protojson with generated types. The ratio is protojson's time to that of the tables.
func BenchmarkResults(b *testing.B) {
	r := compileResults(b, new(benchv1.GetItemResponse).ProtoReflect().Descriptor(), "protojson")
	for _, size := range []workload.Size{workload.Small, workload.Large} {
		wire := workload.Wire(workload.Response(size, 3))
		var perOp float64
		b.Run(string(size)+"/json", func(b *testing.B) {
			dst, err := r.AppendJSON(nil, wire)
			b.ReportAllocs()
			b.ReportMetric(float64(len(wire)), "B-wire")
			b.ReportMetric(float64(len(dst)), "B-json")
			for b.Loop() {
				dst, err = r.AppendJSON(dst[:0], wire)
			}
			if err != nil {
				b.Fatal(err)
			}
			perOp = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		})
		b.Run(string(size)+"/result", func(b *testing.B) {
			dst, _, err := r.AppendResult(nil, wire)
			b.ReportAllocs()
			for b.Loop() {
				dst, _, err = r.AppendResult(dst[:0], wire)
			}
			if err != nil {
				b.Fatal(err)
			}
		})
		b.Run(string(size)+"/generated", func(b *testing.B) {
			var dst []byte
			var err error
			options := protojson.MarshalOptions{EmitDefaultValues: true}
			b.ReportAllocs()
			for b.Loop() {
				m := new(benchv1.GetItemResponse)
				if err = proto.Unmarshal(wire, m); err == nil {
					dst, err = options.MarshalAppend(dst[:0], m)
				}
			}
			if err != nil {
				b.Fatal(err)
			}
			if perOp > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perOp, "x-json")
			}
		})
	}
}

// BenchmarkCompileResults measures what a tool's first response costs: compiling, and the tables of the types in it.
func BenchmarkCompileResults(b *testing.B) {
	md := new(benchv1.GetItemResponse).ProtoReflect().Descriptor()
	wire := workload.Wire(workload.Response(workload.Small, 3))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		r, err := transcode.CompileResults(md, schema.Profile{})
		if err == nil {
			dst, err = r.AppendJSON(dst[:0], wire)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
