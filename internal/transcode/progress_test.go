package transcode_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// progressText is a stream of the progress shape, its result of most constructs that there are.
const progressText = `
message M { oneof step { sallyport.tool.v1.Progress progress = 1; Result result = 2; } }
message Result { string str = 1; repeated int64 many = 2; Result child = 3; oneof pick { string a = 4; Result b = 5; } }
`

// delimitedText is the same with a result in a group.
const delimitedText = schematest.Head2023 + `
message M { oneof step { Result result = 3 [features.message_encoding = DELIMITED]; sallyport.tool.v1.Progress progress = 70000; } }
message Result { string str = 1; Result child = 3 [features.message_encoding = DELIMITED]; }
`

func compileProgress(t testing.TB, md protoreflect.MessageDescriptor) *transcode.Progress {
	t.Helper()
	p, err := transcode.CompileProgress(md)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sign(progress float64) []byte { return fixed64(1, math.Float64bits(progress)) }

// TestProgress_reads holds what one message of a stream is.
func TestProgress_reads(t *testing.T) {
	total := fixed64(2, math.Float64bits(10))
	for _, row := range []struct {
		name    string
		wire    []byte
		want    transcode.Step
		refused string // a part of the error; empty for none
	}{
		{"a sign", nested(1, sign(2.5), total, text(3, "half")), transcode.Step{Sign: transcode.Sign{Progress: 2.5, Total: 10, HasTotal: true, Message: "half"}}, ""},
		{"a sign that says nothing", nested(1), transcode.Step{}, ""},
		{"a total of zero", nested(1, fixed64(2, 0)), transcode.Step{Sign: transcode.Sign{HasTotal: true}}, ""},
		{"no finite numbers", nested(1, sign(math.Inf(1)), fixed64(2, math.Float64bits(math.Inf(-1)))), transcode.Step{Sign: transcode.Sign{Progress: math.Inf(1), Total: math.Inf(-1), HasTotal: true}}, ""},
		{"of a number the last holds", nested(1, sign(1), sign(2), text(3, "a"), text(3, "b")), transcode.Step{Sign: transcode.Sign{Progress: 2, Message: "b"}}, ""},
		{"a sign in pieces", join(nested(1, sign(1), total), nested(1, text(3, "a")), nested(1, sign(3))), transcode.Step{Sign: transcode.Sign{Progress: 3, Total: 10, HasTotal: true, Message: "a"}}, ""},
		{"a sign with fields nobody knows", join(text(9, "x"), nested(1, varint(1, 7), fixed64(2, 0), group(8, varint(1, 1)), sign(1)), varint(700, 1)), transcode.Step{Sign: transcode.Sign{Progress: 1, HasTotal: true}}, ""},

		{"the result", nested(2, text(1, "a"), varint(2, 5)), transcode.Step{Last: true, Result: join(text(1, "a"), varint(2, 5))}, ""},
		{"an empty result", nested(2), transcode.Step{Last: true, Result: []byte{}}, ""},
		{"the result in pieces", join(nested(2, text(1, "a")), varint(9, 1), nested(2), nested(2, text(1, "b"))), transcode.Step{Last: true, Result: join(text(1, "a"), text(1, "b"))}, ""},
		{"the last member holds: a sign", join(nested(2, text(1, "a")), nested(1, sign(1))), transcode.Step{Sign: transcode.Sign{Progress: 1}}, ""},
		{"the last member holds: the result", join(nested(1, sign(1)), nested(2, text(1, "a"))), transcode.Step{Last: true, Result: text(1, "a")}, ""},
		{"a member starts anew after the other", join(nested(2, text(1, "a")), nested(1, sign(1)), nested(2, varint(2, 1))), transcode.Step{Last: true, Result: varint(2, 1)}, ""},
		{"a member under another wire type is none", join(nested(1, sign(1)), varint(2, 1)), transcode.Step{Sign: transcode.Sign{Progress: 1}}, ""},

		{"nothing", nil, transcode.Step{}, "neither"},
		{"nothing that anybody knows", varint(3, 1), transcode.Step{}, "neither"},
		{"half a message", nested(2, text(1, "abc"))[:4], transcode.Step{}, "no protobuf message"},
		{"half a sign", nested(1, sign(1)[:5]), transcode.Step{}, "no protobuf message"},
		{"half a sign that the result replaces", join(nested(1, sign(1)[:5]), nested(2)), transcode.Step{}, "no protobuf message"},
		{"half a result that a sign replaces", join(nested(2, text(1, "abc")[:3]), nested(1)), transcode.Step{}, "no protobuf message"},
		{"a piece that closes what another left open", join(nested(2, text(1, "abc")[:3]), nested(2, []byte("bc"))), transcode.Step{}, "no protobuf message"},
		{"a last piece that is half", join(nested(2), nested(2, text(1, "abc")[:3])), transcode.Step{}, "no protobuf message"},
		{"a number that no field can have", join(nested(1), []byte{0}), transcode.Step{}, "no protobuf message"},
		{"a message that is no UTF-8", nested(1, text(3, "\xff")), transcode.Step{}, "UTF-8"},
		{"a message that is replaced and no UTF-8", nested(1, text(3, "\xff"), text(3, "a")), transcode.Step{}, "UTF-8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := schematest.Message(t, progressText)
			got, err := compileProgress(t, md).Read(row.wire)
			if (err != nil) != (row.refused != "") || err != nil && !strings.Contains(err.Error(), row.refused) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got.Last != row.want.Last || got.Sign != row.want.Sign || !bytes.Equal(got.Result, row.want.Result) {
				t.Errorf("got  %+v\nwant %+v", got, row.want)
			}
			agreeOnProgress(t, compileProgress(t, md), md, row.wire)
		})
	}
}

// TestProgress_takesTheResultFromTheMessage sees that a result in one piece is not copied.
func TestProgress_takesTheResultFromTheMessage(t *testing.T) {
	wire := nested(2, text(1, "abc"))
	step, err := compileProgress(t, schematest.Message(t, progressText)).Read(wire)
	if err != nil || &step.Result[0] != &wire[2] {
		t.Errorf("got %x, %v", step.Result, err)
	}
}

func TestCompileProgress_refusesOtherShapes(t *testing.T) {
	for name, declared := range map[string]string{
		"nothing":         `message M {}`,
		"only a sign":     `message M { oneof step { sallyport.tool.v1.Progress progress = 1; } }`,
		"no sign":         `message M { oneof step { M a = 1; M b = 2; } }`,
		"no oneof":        `message M { sallyport.tool.v1.Progress progress = 1; M result = 2; }`,
		"two signs":       `message M { oneof step { sallyport.tool.v1.Progress a = 1; sallyport.tool.v1.Progress b = 2; } }`,
		"a scalar result": `message M { oneof step { sallyport.tool.v1.Progress progress = 1; string result = 2; } }`,
		"a third field":   `message M { oneof step { sallyport.tool.v1.Progress progress = 1; M result = 2; } string more = 3; }`,
	} {
		if p, err := transcode.CompileProgress(schematest.Message(t, declared)); err == nil || !strings.Contains(err.Error(), "progress shape") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// agreeOnProgress demands of a wire what protobuf-go's parser makes of it: the same sign, the bytes of the same result, or
// a refusal. Bytes that are no message may also be refused when the result is read.
func agreeOnProgress(t failer, p *transcode.Progress, md protoreflect.MessageDescriptor, wire []byte) (accepted bool) {
	t.Helper()
	given := bytes.Clone(wire)
	step, err := p.Read(wire)
	if !bytes.Equal(wire, given) {
		t.Fatalf("the message was changed from %x to %x", given, wire)
	}
	parse := proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}
	whole := dynamicpb.NewMessage(md)
	parsed := parse.Unmarshal(wire, whole)
	chosen := whole.WhichOneof(md.Oneofs().Get(0))
	var result *dynamicpb.Message
	if err == nil && step.Last {
		result = dynamicpb.NewMessage(md.Fields().ByName("result").Message())
		err = parse.Unmarshal(step.Result, result)
	}
	if refused := parsed != nil || chosen == nil; refused != (err != nil) {
		t.Fatalf("of %x\nread  %+v, %v\nparsed %v, %v", wire, step, err, whole, parsed)
	}
	switch {
	case err != nil:
		return false
	case step.Last != (chosen.Name() == "result"):
		t.Fatalf("of %x\nread  %+v\nparsed %v", wire, step, whole)
	case step.Last:
		if want := whole.Get(chosen).Message().Interface(); !proto.Equal(result, want) {
			t.Fatalf("of %x\nread  %v\nparsed %v", wire, result, want)
		}
	default:
		raw, err := proto.Marshal(whole.Get(chosen).Message().Interface())
		want := new(toolv1.Progress)
		if err == nil {
			err = proto.Unmarshal(raw, want)
		}
		got := &toolv1.Progress{Progress: step.Sign.Progress, Message: step.Sign.Message}
		if step.Sign.HasTotal {
			got.Total = &step.Sign.Total
		}
		if err != nil || !proto.Equal(got, want) {
			t.Fatalf("of %x\nread  %v\nparsed %v, %v", wire, got, want, err)
		}
	}
	return true
}

// TestProgress_agreesWithTheParser draws messages of a stream, sound and not, and holds them to what protobuf-go makes of
// them over dynamic messages.
func TestProgress_agreesWithTheParser(t *testing.T) {
	for name, declared := range map[string]string{"with lengths": progressText, "in groups": delimitedText} {
		md := schematest.Message(t, declared)
		t.Run(name, func(t *testing.T) {
			p := compileProgress(t, md)
			accepted, refused := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				if agreeOnProgress(rt, p, md, drawMessage(rt, md, false)) {
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

// FuzzProgress looks for messages of a stream of which the reader makes anything else than protobuf-go's parser does.
func FuzzProgress(f *testing.F) {
	with, groups := schematest.Message(f, progressText), schematest.Message(f, delimitedText)
	for _, wire := range [][]byte{
		nil, {0xff}, nested(1, sign(1), fixed64(2, 0), text(3, "a")), nested(2, text(1, "a")), join(nested(1), nested(2)),
		join(nested(2, text(1, "abc")[:3]), nested(2, []byte("bc"))), group(3, text(1, "a")), join(group(3), group(3)),
	} {
		f.Add(false, wire)
		f.Add(true, wire)
	}
	readers := map[bool]*transcode.Progress{false: compileProgress(f, with), true: compileProgress(f, groups)}
	f.Fuzz(func(t *testing.T, delimited bool, wire []byte) {
		md := with
		if delimited {
			md = groups
		}
		agreeOnProgress(t, readers[delimited], md, wire)
	})
}
