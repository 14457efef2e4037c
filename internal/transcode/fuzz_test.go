package transcode_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode"
	"github.com/sallyport-dev/sallyport/internal/transcode/transcodetest"
)

// FuzzJSON looks for wires of which the tables make anything else than the oracle does: one accepted and the other
// refused, or other JSON. The first argument chooses message and profile.
func FuzzJSON(f *testing.F) {
	type subject struct {
		results *transcode.Results
		oracle  *transcodetest.Codec
	}
	var subjects []subject
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		md := schematest.Message(f, texts[name])
		for _, id := range schema.BuiltinIDs() {
			subjects = append(subjects, subject{compileResults(f, md, id), compileOracle(f, md, id)})
		}
	}
	f.Add(uint8(0), []byte{})
	for i := range subjects {
		f.Add(uint8(i), []byte{0xff})
	}
	f.Fuzz(func(t *testing.T, which uint8, wire []byte) {
		s := subjects[int(which)%len(subjects)]
		agree(t, s.results, s.oracle, wire)
	})
}
