package gate_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/gate/gatetest"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode/transcodetest"
)

// pair is the compiled gate and its oracles for one document.
type pair struct {
	doc    *schema.Document
	gate   *gate.Gate
	judge  *gatetest.Gate
	encode *transcodetest.Codec
}

type fataler interface{ Fatalf(string, ...any) }

func newPair(t fataler, doc *schema.Document) *pair {
	p := &pair{doc: doc}
	var err error
	if p.gate, err = gate.Compile(doc); err != nil {
		t.Fatalf("compile: %v", err)
	}
	if p.judge, err = gatetest.Compile(doc); err != nil {
		t.Fatalf("compile the oracle: %v", err)
	}
	if p.encode, err = transcodetest.Compile(doc.Message(), doc.Message(), doc.Profile()); err != nil {
		t.Fatalf("compile the codec: %v", err)
	}
	return p
}

// check holds the gate to the oracle: the same verdict, the same problems, and the same message.
func (p *pair) check(t fataler, arguments []byte) (accepted bool) {
	got, refusal := p.gate.Judge(arguments)
	want := p.judge.Judge(arguments)
	switch {
	case refusal == nil && want == nil:
	case refusal == nil:
		t.Fatalf("accepted, where the oracle refuses:\n%s\n%s", arguments, want.Text())
	case want == nil:
		t.Fatalf("refused, where the oracle accepts:\n%s\n%s", arguments, refusal.Text())
	default:
		if len(refusal.Problems)+refusal.More != len(want.Problems)+want.More {
			t.Fatalf("%s\n%s\nthe oracle: %s", arguments, refusal.Text(), want.Text())
		}
		if want.More > 0 {
			return false // the ten shown are the first ones of the schema, and the oracle's of the document
		}
		for _, problem := range want.Problems {
			if !slices.Contains(refusal.Problems, gate.Problem(problem)) {
				t.Fatalf("%s\n%s\nthe oracle: %s", arguments, refusal.Text(), want.Text())
			}
		}
		return false
	}
	raw, err := p.encode.Encode(arguments)
	if err != nil {
		t.Fatalf("the oracle does not encode %s: %v", arguments, err)
	}
	ours, theirs := dynamicpb.NewMessage(p.doc.Message()), dynamicpb.NewMessage(p.doc.Message())
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(got.Wire, ours); err != nil {
		t.Fatalf("%s\nits wire %x: %v", arguments, got.Wire, err)
	}
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(raw, theirs); err != nil {
		t.Fatalf("%s\nthe oracle's wire %x: %v", arguments, raw, err)
	}
	if !p.equal(ours, theirs) {
		t.Fatalf("%s\nours   %v\ntheirs %v", arguments, ours, theirs)
	}
	return true
}

// equal is proto.Equal of two messages, with what an Any holds compared as a message, too.
func (p *pair) equal(a, b protoreflect.ProtoMessage) bool {
	return proto.Equal(a, b) || proto.Equal(p.normal(a.ProtoReflect()), p.normal(b.ProtoReflect()))
}

// normal writes what every Any in a message holds in the one deterministic form.
func (p *pair) normal(m protoreflect.Message) protoreflect.ProtoMessage {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { p.normal(v.Message()); return true })
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				p.normal(v.List().Get(i).Message())
			}
		case fd.Message() != nil && !fd.IsMap():
			p.normal(v.Message())
		}
		return true
	})
	if m.Descriptor().FullName() != "google.protobuf.Any" {
		return m.Interface()
	}
	url, value := m.Descriptor().Fields().ByNumber(1), m.Descriptor().Fields().ByNumber(2)
	for _, md := range schema.ContractMessages(p.doc.Message()) {
		if inner := dynamicpb.NewMessage(md); schema.TypeURLPrefix+string(md.FullName()) == m.Get(url).String() &&
			(proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(m.Get(value).Bytes(), inner) == nil {
			raw, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(p.normal(inner))
			if err == nil && len(raw) > 0 {
				m.Set(value, protoreflect.ValueOfBytes(raw))
			} else {
				m.Clear(value)
			}
		}
	}
	return m.Interface()
}

func derive(t testing.TB, md protoreflect.MessageDescriptor, profile string) *schema.Document {
	t.Helper()
	p, ok := schema.Builtin(profile)
	if !ok {
		t.Fatalf("no profile %q", profile)
	}
	doc, _, err := schema.Input(md, p)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestGate_agreesWithTheOracle draws documents and what is near them.
func TestGate_agreesWithTheOracle(t *testing.T) {
	for _, id := range schema.BuiltinIDs() {
		t.Run(id, func(t *testing.T) {
			p := newPair(t, derive(t, schematest.Message(t, everything), id))
			rapid.Check(t, func(rt *rapid.T) {
				arguments := schematest.Arguments(rt, p.doc.Root(), 4)
				if !p.check(rt, []byte(arguments)) {
					rt.Fatalf("refused: %s", arguments)
				}
				if mutant, ok := schematest.Mutant(rt, p.doc.Root(), arguments); ok {
					p.check(rt, []byte(mutant))
				}
			})
		})
	}
}

// FuzzAgree looks for documents on which gate and oracle differ.
func FuzzAgree(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"str":"x","i32":1e2,"items":[{"sku":"x","parts":[{"sku":"y"}]}]}`,
		`{"detail":{"@type":"type.googleapis.com/t.v1.Item","sku":"x"},"anyJson":{"a":[1,null]}}`,
		`{"detail":{"value":{"sku":"x","@type":"type.googleapis.com/t.v1.Item"},"@type":"type.googleapis.com/google.protobuf.Any"}}`,
		`{"at":"2024-01-01T00:00:00Z","took":"1.5s","mask":"a.bC","i64":"-5","u64":"7"}`,
		`{"byName":{"k":{"sku":"x"}},"byNumber":{"-5":"x"},"byFlag":{"true":"y"},"a":"x","b":"y"}`,
		`{"num":1e400,"small":3.5e38,"i32":2147483648,"raw":"YQ==","state":"OPEN","null":null,"nothing":{}}`,
		`{"num":-0,"small":3.4028234663852886e38,"i32":100e-2,"u32":4294967295,"numbers":[1,2.0,-0],"longs":{"7":"-1"}}`,
		`{"s\u0074r":"\u0041\ud83d\ude00","object":{"\u0061":"\n"},"list":[[],{}],"called":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	p := newPair(f, derive(f, schematest.Message(f, everything), "protojson"))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		if text := bytes.Trim(arguments, " \t\r\n"); len(text) > 0 && !jsontext.Value(text).IsValid() || farExponent.Match(arguments) {
			return // which the decoder refuses, or the oracle takes its time over
		}
		p.check(t, arguments)
	})
}
