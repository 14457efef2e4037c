package corpora_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect/dialecttest"
)

// TestCorpora_dialects holds what every unary RPC asks and answers to what each dialect promises. Of the two profiles
// that publish JSON names the first is tried.
func TestCorpora_dialects(t *testing.T) {
	profile, _ := schema.Builtin("protojson")
	all, rpcs := &dialecttest.Checker{}, 0
	for _, path := range sets(t) {
		t.Run(setName(path), func(t *testing.T) {
			seen := map[string]bool{}
			for _, method := range unaryMethods(t, load(t, path)) {
				in, _, inErr := schema.Input(method.Input(), profile)
				out, _, outErr := schema.Output(method.Output(), profile)
				if inErr != nil || outErr != nil {
					continue // as TestCorpora says
				}
				rpcs++
				check := func(what string, md protoreflect.MessageDescriptor, doc *schema.Document, input bool) {
					if what += string(md.FullName()); doc != nil && !seen[what] {
						seen[what] = true
						all.Check(t, what, doc, input)
					}
				}
				check("arguments ", method.Input(), in, true)
				check("results ", method.Output(), out, false)
			}
		})
	}
	if rpcs < 2000 {
		t.Errorf("%d RPCs", rpcs)
	}
	t.Logf("%d RPCs, %s", rpcs, all)
}
