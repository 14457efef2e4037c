package transcode_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode"
	"github.com/sallyport-dev/sallyport/internal/transcode/transcodetest"
)

func compileOracle(t testing.TB, md protoreflect.MessageDescriptor, id string) *transcodetest.Codec {
	t.Helper()
	o, err := transcodetest.Compile(md, md, profile(t, id))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agree demands of a wire what the oracle makes of it: the same bytes, or a refusal.
func agree(t failer, r *transcode.Results, o *transcodetest.Codec, wire []byte) (accepted bool) {
	t.Helper()
	const before = "before "
	given := bytes.Clone(wire)
	want, refused, fell := verdict(o, wire)
	got, err := r.AppendJSON([]byte(before), wire)
	if !bytes.Equal(wire, given) {
		t.Fatalf("the response was changed from %x to %x", given, wire)
	}
	switch {
	case fell:
	case refused != nil && err == nil:
		t.Fatalf("the oracle refuses %x: %v\nserved %s", wire, refused, got)
	case refused == nil && err != nil:
		t.Fatalf("refused %x: %v\nthe oracle serves %s", wire, err, want)
	case err != nil && string(got) != before:
		t.Fatalf("refused %x, but left %q", wire, got)
	case err == nil && string(got) != before+string(want):
		t.Fatalf("from %x\ngot  %s\nwant %s", wire, got[len(before):], want)
	}
	return err == nil
}

// verdict asks the oracle. It falls over at an entry of a map that holds its key and then the key's number under another
// wire type: protobuf-go's reflective parser forgets the key there. For a parser of generated types that is an unknown
// field, and so it is for us.
func verdict(o *transcodetest.Codec, wire []byte) (text []byte, err error, fell bool) {
	defer func() {
		if r := recover(); r != nil {
			if !strings.Contains(fmt.Sprint(r), "cannot convert nil to map key") {
				panic(r)
			}
			fell = true
		}
	}()
	text, err = o.JSON(wire)
	return text, err, false
}

// TestResults_agreeWithTheOracle draws wires of every construct, sound and not, and holds every profile to what
// protojson makes of them over dynamic messages, byte for byte.
func TestResults_agreeWithTheOracle(t *testing.T) {
	for name, text := range texts {
		md := schematest.Message(t, text)
		for _, id := range schema.BuiltinIDs() {
			t.Run(name+" "+id, func(t *testing.T) {
				r, o := compileResults(t, md, id), compileOracle(t, md, id)
				accepted, refused := 0, 0
				rapid.Check(t, func(rt *rapid.T) {
					if agree(rt, r, o, drawMessage(rt, md, false)) {
						accepted++
					} else {
						refused++
					}
				})
				if accepted == 0 || refused == 0 {
					t.Errorf("%d wires accepted and %d refused: the drawing is lopsided", accepted, refused)
				}
			})
		}
	}
}

// TestResults_parseBack draws sound wires and reads the JSON back into the message that they hold.
func TestResults_parseBack(t *testing.T) {
	for name, text := range texts {
		md := schematest.Message(t, plain.Replace(text))
		t.Run(name, func(t *testing.T) {
			r, err := transcode.CompileResults(md, schema.Profile{ID: "plain", OmitImplicit: true})
			if err != nil {
				t.Fatal(err)
			}
			carried := new(protoregistry.Types)
			for _, md := range schema.ContractMessages(md) {
				if err := carried.RegisterMessage(dynamicpb.NewMessageType(md)); err != nil {
					t.Fatal(err)
				}
			}
			accepted := 0
			rapid.Check(t, func(rt *rapid.T) {
				wire := drawMessage(rt, md, true)
				text, err := r.AppendJSON(nil, wire)
				if err != nil {
					return // a message in pieces may be unsound as a whole; the oracle judges that
				}
				accepted++
				want, got := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
				if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(wire, want); err != nil {
					rt.Fatalf("served %x: %v", wire, err)
				}
				if err := (protojson.UnmarshalOptions{AllowPartial: true, Resolver: carried}).Unmarshal(text, got); err != nil {
					rt.Fatalf("read %s: %v", text, err)
				}
				if !proto.Equal(got, want) {
					rt.Fatalf("from %x\nread %v\nfrom %s\nwant %v", wire, got, text, want)
				}
			})
			if accepted < 20 {
				t.Errorf("%d wires accepted", accepted)
			}
		})
	}
}

// TestResults_agreeOverRandomContracts draws the message too, responses of it as a serializer writes them, and wires as
// none does.
func TestResults_agreeOverRandomContracts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		md := schematest.RandomMessage(rt)
		for _, id := range schema.BuiltinIDs() {
			r, err := transcode.CompileResults(md, profile(t, id))
			if err != nil {
				rt.Fatalf("%v\n%s", err, schematest.Source(md))
			}
			o := compileOracle(t, md, id)
			agree(rt, r, o, drawMessage(rt, md, false))
			wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(schematest.Response(rt, md, 3))
			if err != nil {
				rt.Fatal(err)
			}
			if !agree(rt, r, o, wire) {
				rt.Fatalf("refused %x of\n%s", wire, schematest.Source(md))
			}
		}
	})
}
