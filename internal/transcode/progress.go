package transcode

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Progress reads the messages of a stream of the progress shape: each is a sign of life or the result (tools.md,
// "Exposing"). It knows nothing of their order. Safe for concurrent use.
type Progress struct {
	// root is the type of the stream's messages, sign that of a sign.
	root, sign *message
	// signAt and resultAt are the two members, oneof is the slot that says which of them counts.
	signAt, resultAt, oneof int
}

// Sign is one sign of life of a running call, as the service sent it: any number may be any double.
type Sign struct {
	Progress float64
	// Total is what Progress grows towards, if HasTotal.
	Total    float64
	HasTotal bool
	// Message is UTF-8, and empty where the service says nothing.
	Message string
}

// Step is what one message of a stream is.
type Step struct {
	// Last says that it is the result, and not a sign.
	Last bool
	// Sign is the sign.
	Sign Sign
	// Result holds the bytes of the result. They are part of the message where the result arrived in one piece.
	Result []byte
}

// CompileProgress prepares for messages of type stream, which has the progress shape.
func CompileProgress(stream protoreflect.MessageDescriptor) (*Progress, error) {
	p, err := compileProgress(stream)
	if err != nil {
		return nil, fmt.Errorf("compile the progress of %s: %w", stream.FullName(), err)
	}
	return p, nil
}

func compileProgress(stream protoreflect.MessageDescriptor) (*Progress, error) {
	// The message is ours: the linked one is read, whatever edition of it the contract brought.
	sign := (*toolv1.Progress)(nil).ProtoReflect().Descriptor()
	p := &Progress{
		root:   &message{desc: stream, types: newTypes(schema.Profile{}, nil)},
		sign:   &message{desc: sign, types: newTypes(schema.Profile{}, nil)},
		signAt: -1, resultAt: -1,
	}
	fields := stream.Fields()
	for i := range fields.Len() {
		switch md := fields.Get(i).Message(); {
		case md == nil:
		case md.FullName() == sign.FullName():
			p.signAt = i
		default:
			p.resultAt = i
		}
	}
	if fields.Len() != 2 || p.signAt < 0 || p.resultAt < 0 {
		return nil, errors.New("it has not the progress shape")
	}
	t, err := p.root.compiled()
	if err != nil {
		return nil, err
	}
	if t.fields[p.signAt].shape != shapeMember || t.fields[p.resultAt].shape != shapeMember {
		return nil, errors.New("it has not the progress shape")
	}
	p.oneof = t.fields[p.signAt].oneof
	_, err = p.sign.compiled()
	return p, err
}

// The fields of a sallyport.tool.v1.Progress, by their index.
var signProgress, signTotal, signMessage = signField("progress"), signField("total"), signField("message")

func signField(name protoreflect.Name) int {
	return (*toolv1.Progress)(nil).ProtoReflect().Descriptor().Fields().ByName(name).Index()
}

var errNeither = errors.New("it is neither a sign of progress nor the result")

// Read reads one message of the stream. What it means is what a protobuf parser makes of it: the last member of the
// oneof counts, and pieces of it are merged. An error is the service's fault; its text, which may quote the message, is
// for the log alone. The bytes of the result are not looked into.
func (p *Progress) Read(wire []byte) (Step, error) {
	step, err := p.read(wire)
	if err != nil {
		return Step{}, fmt.Errorf("read %s: %w", p.root.desc.FullName(), err)
	}
	return step, nil
}

func (p *Progress) read(wire []byte) (Step, error) {
	if uint64(len(wire)) > maxWire {
		return Step{}, fmt.Errorf("%d bytes are more than a message can have", len(wire))
	}
	s := borrow(wire, 0)
	defer s.giveBack()
	t, err := p.root.compiled()
	if err != nil {
		return Step{}, err
	}
	slots, err := s.indexAll(t, s.whole(), alone, maxDepth-1)
	if err != nil {
		return Step{}, err
	}
	switch slots[p.oneof].v {
	case uint64(p.signAt) + 1:
		sign, err := p.readSign(s, slots[p.signAt])
		return Step{Sign: sign}, err
	case uint64(p.resultAt) + 1:
		result, err := s.merged(&t.fields[p.resultAt], slots[p.resultAt])
		return Step{Last: true, Result: result}, err
	}
	return Step{}, errNeither
}

func (p *Progress) readSign(s *scratch, at slot) (Sign, error) {
	t, err := p.sign.compiled()
	if err != nil {
		return Sign{}, err
	}
	slots, err := s.indexAll(t, at.v, at.first, maxDepth-2)
	if err != nil {
		return Sign{}, err
	}
	sign := Sign{
		Progress: math.Float64frombits(slots[signProgress].v),
		Total:    math.Float64frombits(slots[signTotal].v),
		HasTotal: slots[signTotal].first != absent,
	}
	if said := &slots[signMessage]; said.first != absent {
		text := s.bytes(said.v)
		if !utf8.Valid(text) {
			return Sign{}, t.fields[signMessage].fail(errUTF8)
		}
		sign.Message = string(text)
	}
	return sign, nil
}

// merged gives the bytes of a message. Those of its pieces, one after the other, are those of the whole, if each piece is
// sound by itself: what one piece leaves open another one must not close.
func (s *scratch) merged(f *field, at slot) ([]byte, error) {
	if at.first < firstRun {
		return s.bytes(at.v), nil
	}
	var whole []byte
	for r := at.first; r >= firstRun; r = s.runs[r].next {
		if err := s.checkValue(f, s.runs[r].v, maxDepth-1); err != nil {
			return nil, err
		}
		whole = append(whole, s.bytes(s.runs[r].v)...)
	}
	return append(whole, s.bytes(at.v)...), s.checkValue(f, at.v, maxDepth-1)
}
