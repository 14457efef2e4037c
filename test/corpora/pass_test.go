package corpora_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/gate/gatetest"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode"
	"github.com/sallyport-dev/sallyport/internal/transcode/transcodetest"
)

// request derives what a message's arguments are judged by, and draws some.
func (c *corpus) request(t *testing.T, md protoreflect.MessageDescriptor, seed int, draw bool) error {
	t.Helper()
	doc, err := c.derived(t, md, "arguments", func() (*schema.Document, []string, error) { return schema.Input(md, c.profile) })
	if err != nil {
		return err
	}
	if draw {
		schematest.Validator(t, doc.JSON()) // compiles
	}
	start := time.Now()
	g, err := gate.Compile(doc)
	if err != nil {
		return err
	}
	c.report.compile += time.Since(start)
	if !draw {
		return nil
	}
	oracle, err := gatetest.Compile(doc)
	if err != nil {
		return err
	}
	codec, err := transcodetest.Compile(md, md, c.profile)
	if err != nil {
		return err
	}
	drawer := schematest.NewDrawer(doc.Root())
	if !drawer.Satisfiable() {
		return fmt.Errorf("no document satisfies the schema: %s", doc.JSON())
	}
	type drawn struct{ arguments, mutant, what string }
	d := rapid.Custom(func(t *rapid.T) (d drawn) {
		d.arguments = drawer.Arguments(t, 4)
		d.mutant, d.what = drawer.Mutants(t, d.arguments)
		return d
	}).Example(seed)
	c.report.documents++
	request, refusal := g.Judge([]byte(d.arguments))
	if refusal != nil {
		return fmt.Errorf("the gate refuses %s: %s", d.arguments, refusal.Text())
	}
	if err := sameMessage(md, codec, request.Wire, d.arguments); err != nil {
		return err
	}
	c.report.mutants++
	request, refusal = g.Judge([]byte(d.mutant))
	want := oracle.Judge([]byte(d.mutant))
	if (refusal == nil) != (want == nil) {
		return fmt.Errorf("gate and oracle differ on %s (%s): %v, %v", d.mutant, d.what, refusal, want)
	}
	if refusal == nil {
		return sameMessage(md, codec, request.Wire, d.mutant)
	}
	ours := map[string]bool{}
	for _, p := range refusal.Problems {
		ours[p.Path+": "+p.Text] = true
	}
	for _, p := range want.Problems {
		if want.More == 0 && !ours[p.Path+": "+p.Text] || len(refusal.Problems)+refusal.More != len(want.Problems)+want.More {
			return fmt.Errorf("gate and oracle say other things of %s (%s):\n%s\n%s", d.mutant, d.what, refusal.Text(), want.Text())
		}
	}
	return nil
}

// sameMessage holds the gate's bytes against the message that the oracle makes of the same arguments.
func sameMessage(md protoreflect.MessageDescriptor, codec *transcodetest.Codec, wire []byte, arguments string) error {
	raw, err := codec.Encode([]byte(arguments))
	if err != nil {
		return fmt.Errorf("the oracle does not encode %s: %w", arguments, err)
	}
	ours, theirs := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
	for wire, m := range map[*[]byte]*dynamicpb.Message{&wire: ours, &raw: theirs} {
		if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(*wire, m); err != nil {
			return fmt.Errorf("read the bytes of %s: %w", arguments, err)
		}
	}
	types := carried(md)
	if !proto.Equal(normal(ours, types), normal(theirs, types)) {
		return fmt.Errorf("%s became %v, want %v", arguments, ours, theirs)
	}
	return nil
}

// response derives what a message's results are published by, and draws some.
func (c *corpus) response(t *testing.T, md protoreflect.MessageDescriptor, seed int, draw bool) error {
	t.Helper()
	doc, err := c.derived(t, md, "results", func() (*schema.Document, []string, error) { return schema.Output(md, c.profile) })
	if err != nil {
		return err
	}
	var validator *jsonschema.Schema
	if doc != nil && draw {
		validator = schematest.Validator(t, doc.JSON())
	}
	start := time.Now()
	results, err := transcode.CompileResults(md, c.profile)
	if err != nil {
		return err
	}
	c.report.compile += time.Since(start)
	if !draw {
		return nil
	}
	codec, err := transcodetest.Compile(md, md, c.profile)
	if err != nil {
		return err
	}
	types := carried(md)
	drawn := rapid.Custom(func(t *rapid.T) []byte {
		wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(schematest.Response(t, md, 3))
		if err != nil {
			panic(err)
		}
		return wire
	}).Example(seed)
	c.report.responses++
	text, err := results.AppendJSON(nil, drawn)
	if err != nil {
		return err
	}
	want, err := codec.JSON(drawn)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, want) {
		return fmt.Errorf("%x is served as %s, want %s", drawn, text, want)
	}
	if validator != nil && !schematest.Accepts(t, validator, text) {
		return fmt.Errorf("the output schema refuses %s", text)
	}
	return parseBack(md, types, drawn)
}

// parseBack writes a message as plain ProtoJSON and reads it back with protojson: it is the message that it was, but
// for what only callers send.
func parseBack(md protoreflect.MessageDescriptor, types *protoregistry.Types, wire []byte) error {
	results, err := transcode.CompileResults(md, schema.Profile{ID: "plain", OmitImplicit: true})
	if err != nil {
		return err
	}
	text, err := results.AppendJSON(nil, wire)
	if err != nil {
		return err
	}
	want, got := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(wire, want); err != nil {
		return err
	}
	if err := (protojson.UnmarshalOptions{AllowPartial: true, Resolver: types}).Unmarshal(text, got); err != nil {
		return fmt.Errorf("protojson does not read %s: %w", text, err)
	}
	if !proto.Equal(normal(got, types), normal(want, types)) {
		return fmt.Errorf("%s reads as %v, want %v", text, got, want)
	}
	return nil
}

// carried are the messages that an Any of a contract may hold.
func carried(md protoreflect.MessageDescriptor) *protoregistry.Types {
	types := new(protoregistry.Types)
	for _, md := range schema.ContractMessages(md) {
		if err := types.RegisterMessage(dynamicpb.NewMessageType(md)); err != nil {
			panic(err)
		}
	}
	return types
}

// normal drops what no result shows, and writes what every Any holds in the one deterministic form.
func normal(m protoreflect.ProtoMessage, types *protoregistry.Types) protoreflect.ProtoMessage {
	inside(m.ProtoReflect(), types)
	return m
}

func inside(m protoreflect.Message, types *protoregistry.Types) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case !schema.Visible(fd, false):
			m.Clear(fd)
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { inside(v.Message(), types); return true })
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				inside(v.List().Get(i).Message(), types)
			}
		case fd.Message() != nil && !fd.IsMap():
			inside(v.Message(), types)
		}
		return true
	})
	if m.Descriptor().FullName() != "google.protobuf.Any" {
		return
	}
	url, value := m.Descriptor().Fields().ByNumber(1), m.Descriptor().Fields().ByNumber(2)
	mt, err := types.FindMessageByURL(m.Get(url).String())
	if err != nil {
		return // an Any that holds nothing
	}
	inner := mt.New()
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(m.Get(value).Bytes(), inner.Interface()); err != nil {
		return
	}
	inside(inner, types)
	wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(inner.Interface())
	if err == nil && len(wire) > 0 {
		m.Set(value, protoreflect.ValueOfBytes(wire))
	} else {
		m.Clear(value)
	}
}
