package transcode_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate/gatetest"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestRooms_agree draws documents from the schema itself: the gate, a neutral validator and the codec accept each of
// them, its result keeps to the output schema, and what is near it the gate and the validator refuse alike.
func TestRooms_agree(t *testing.T) {
	for _, id := range schema.BuiltinIDs() {
		t.Run(id, func(t *testing.T) {
			md := schematest.Message(t, everything)
			in, _, err := schema.Input(md, profile(t, id))
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := schema.Output(md, profile(t, id))
			if err != nil {
				t.Fatal(err)
			}
			g, err := gatetest.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			c := compile(t, md, md, id)
			inputs, outputs := schematest.Validator(t, in.JSON()), schematest.Validator(t, out.JSON())
			rapid.Check(t, func(rt *rapid.T) {
				arguments := []byte(schematest.Arguments(rt, in.Root(), 4))
				if r := g.Judge(arguments); r != nil {
					rt.Fatalf("the gate refuses %s: %s", arguments, r.Text())
				}
				if !schematest.Accepts(t, inputs, arguments) {
					rt.Fatalf("the validator refuses %s", arguments)
				}
				wire, err := c.Encode(arguments)
				if err != nil {
					rt.Fatalf("encode %s: %v", arguments, err)
				}
				result, err := c.Decode(wire)
				if err != nil {
					rt.Fatalf("decode the bytes of %s: %v", arguments, err)
				}
				again, err := c.Decode(wire)
				if err != nil || !bytes.Equal(again.Structured, result.Structured) || !bytes.Equal(again.Content, result.Content) {
					rt.Fatalf("a second decoding differs: %v", err)
				}
				if !schematest.Accepts(t, outputs, result.Structured) {
					rt.Fatalf("the output schema refuses %s", result.Structured)
				}
				if mutant, ok := schematest.Mutant(rt, in.Root(), string(arguments)); ok {
					if g.Judge([]byte(mutant)) == nil {
						rt.Fatalf("the gate accepts %s", mutant)
					}
					if schematest.Accepts(t, inputs, []byte(mutant)) {
						rt.Fatalf("the validator accepts %s", mutant)
					}
				}
			})
		})
	}
}

// FuzzEncode looks for arguments that the gate accepts and the codec does not, or that lose their meaning on the way.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"str":"x","i32":1e2,"u32":0.0,"i64":"-5","boxed":"7"}`,
		`{"items":[{"skuCode":"x","the.name":"y","parts":[{"quantity":"3"}]}],"byName":{"k":{}},"byNumber":{"-5":"x"},"byFlag":{"true":"y"}}`,
		`{"detail":{"skuCode":"x","@type":"type.googleapis.com/t.v1.Item"}}`,
		`{"detail":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}}}`,
		`{"at":"2024-01-01T00:00:00.5+01:00","took":"-0.5s","mask":"aB.c","anyJson":[1,null],"object":{"a":1},"list":[1],"null":null,"nothing":{}}`,
		`{"num":1e-400,"small":3.4028234663852886e38,"raw":"YQ==","state":"OPEN","a":"","maybe":""}`,
	} {
		f.Add([]byte(seed))
	}
	md := schematest.Message(f, everything)
	in, _, err := schema.Input(md, profile(f, "protojson"))
	if err != nil {
		f.Fatal(err)
	}
	g, err := gatetest.Compile(in)
	if err != nil {
		f.Fatal(err)
	}
	c := compile(f, md, md, "protojson")
	f.Fuzz(func(t *testing.T, arguments []byte) {
		wire, err := c.Encode(arguments)
		if g.Judge(arguments) != nil {
			return // an ill-judged document may fail in any orderly way
		}
		if err != nil {
			t.Fatalf("the gate accepts %s, the codec does not: %v", arguments, err)
		}
		again, err := c.Encode(arguments)
		if err != nil || !bytes.Equal(again, wire) {
			t.Fatalf("a second encoding differs: %v", err)
		}
	})
}

// FuzzDecode looks for bytes that crash the codec, and for results that leave the output schema.
func FuzzDecode(f *testing.F) {
	md := schematest.Message(f, everything)
	f.Add([]byte{})
	f.Add([]byte{0xFF})
	f.Add([]byte{0x50, 0x63})             // an unknown enum number
	f.Add([]byte{0x5A, 0x02, 0x08, 0x01}) // a timestamp
	f.Add(wireOf(f, md, `{"str":"x","num":"NaN","items":[{"skuCode":"x"}],"byNumber":{"-5":"x"},"anyJson":{"a":[1]},"took":"1.5s"}`))
	out, _, err := schema.Output(md, profile(f, "protojson"))
	if err != nil {
		f.Fatal(err)
	}
	validator := schematest.Validator(f, out.JSON())
	c := compile(f, md, md, "protojson")
	f.Fuzz(func(t *testing.T, wire []byte) {
		result, err := c.Decode(wire)
		if err != nil {
			return
		}
		if err := proto.Unmarshal(wire, dynamicpb.NewMessage(md)); err != nil {
			t.Fatalf("decoded what is no message: %v", err)
		}
		if !schematest.Accepts(t, validator, result.Structured) {
			t.Errorf("the output schema refuses %s", result.Structured)
		}
	})
}
