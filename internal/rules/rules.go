package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// maxProblems is how many problems one refusal spells out (boundary.md, "What a refusal says").
const maxProblems = 10

// wholeSize is up to how many bytes a request has all its problems told. A violation costs protovalidate up to a
// kilobyte and a request may have one per byte, so that of a larger one only the first is told.
const wholeSize = 16 << 10

// Rules judges the requests of one document. It is immutable and safe for concurrent use; nothing it does takes a lock
// once it is made.
type Rules struct {
	doc       *schema.Document
	validator *shared
	// files hold the messages that are judged, which are not the document's own descriptors.
	files *protoregistry.Files
	// filters keep protovalidate from what no caller can give; nil where everything can be given.
	filters []protovalidate.ValidationOption
	// towards holds the nodes from which an Any with rules of its own can be reached.
	towards map[*schema.Node]bool
}

// Compile prepares the judgement of a document, and compiles every rule that can be reached, those of what an Any may
// carry included. It is nil for a document without rules that are left to protovalidate. The error joins the places
// whose rules do not compile, each naming its field or message.
//
// It takes milliseconds. What it makes takes about fifty kilobytes for a message with a handful of rules in CEL, and
// most of a megabyte beside for the first document of its file.
func Compile(doc *schema.Document) (r *Rules, err error) {
	if !doc.Unsaid() {
		return nil, nil
	}
	r = &Rules{doc: doc, towards: map[*schema.Node]bool{}}
	if r.validator, err = validatorOf(doc.Message().ParentFile()); err != nil {
		return nil, err
	}
	if r.files, err = r.validator.files(doc); err != nil {
		return nil, err
	}
	c := compiler{rules: r, seen: map[*schema.Node]bool{}, hidden: map[protoreflect.FieldDescriptor]bool{}}
	c.message(doc.Root(), r.judged(doc.Message()))
	c.lead()
	if len(c.problems) > 0 {
		return nil, errors.Join(c.problems...)
	}
	if hidden := c.hidden; len(hidden) > 0 {
		r.filters = []protovalidate.ValidationOption{protovalidate.WithFilter(protovalidate.FilterFunc(
			func(_ protoreflect.Message, d protoreflect.Descriptor) bool {
				fd, ok := d.(protoreflect.FieldDescriptor)
				return !ok || !hidden[fd]
			}))}
	}
	return r, nil
}

// judged is the descriptor by which messages of a type are judged.
func (r *Rules) judged(md protoreflect.MessageDescriptor) protoreflect.MessageDescriptor {
	d, err := r.files.FindDescriptorByName(md.FullName())
	if err != nil {
		panic(fmt.Sprintf("rules: the files of %s lack %s: %v", r.doc.Message().FullName(), md.FullName(), err))
	}
	return d.(protoreflect.MessageDescriptor)
}

// Judge judges a request that the gate has accepted, and returns nil where it keeps every published rule. What the
// document does not publish is for the service to judge. Problems come in the schema's order; a request larger than
// 16 KiB is told one of them. The bytes are not kept.
func (r *Rules) Judge(wire []byte) *gate.Refusal {
	j := judge{rules: r, options: r.filters}
	if len(wire) > wholeSize {
		j.options = append(slices.Clone(r.filters), protovalidate.WithFailFast())
	}
	j.message(place{node: r.doc.Root()}, r.judged(r.doc.Message()), wire)
	return j.refusal()
}

// judge collects the problems of one request.
type judge struct {
	rules    *Rules
	options  []protovalidate.ValidationOption
	problems []problem
}

// place is where in the document a value stands.
type place struct {
	node *schema.Node
	path string
	// order sorts places as the schema does.
	order []int
}

func (p place) property(i int) place {
	path := p.node.Properties[i].Name
	if p.path != "" {
		path = p.path + "." + path
	}
	return place{p.node.Properties[i].Node, path, append(slices.Clip(p.order), i)}
}

func (p place) item() place  { return p.inside("[]") }
func (p place) entry() place { return p.inside(".{key}") }

// inside is every item of a list or every value of a map: after what is said of the list or the map.
func (p place) inside(step string) place {
	return place{p.node.Elem.Node, p.path + step, append(slices.Clip(p.order), 0)}
}

// whole is the position of what is said of a message as a whole: after its properties.
const whole = 1 << 30

// unevaluated is said where protovalidate cannot evaluate a rule for what it is given. Its error may quote values.
const unevaluated = "must be values for which every rule of the tool can be evaluated"

// message judges one message, and what the Anys in it carry.
func (j *judge) message(at place, md protoreflect.MessageDescriptor, wire []byte) {
	m := dynamicpb.NewMessage(md)
	// Required fields of proto2 are the gate's, and extensions are published nowhere.
	options := proto.UnmarshalOptions{AllowPartial: true, Resolver: (*protoregistry.Types)(nil)}
	if err := options.Unmarshal(wire, m); err != nil {
		j.problems = append(j.problems, problem{place: at, text: unevaluated})
		return
	}
	err := j.rules.validator.Validate(m, j.options...)
	switch invalid, ok := errors.AsType[*protovalidate.ValidationError](err); {
	case err == nil:
	case ok:
		for _, v := range invalid.Violations {
			if p, ok := j.locate(at, md, v); ok {
				j.problems = append(j.problems, p)
			}
		}
	default:
		j.problems = append(j.problems, problem{place: place{order: append(slices.Clip(at.order), whole), path: at.path}, text: unevaluated})
	}
	j.anys(at, m)
}

// anys judges what the Anys inside a message carry: protovalidate leaves that to whoever unpacks it.
func (j *judge) anys(at place, m protoreflect.Message) {
	if !j.rules.towards[at.node] {
		return
	}
	if at.node.Kind == schema.AnyMessage {
		fields := m.Descriptor().Fields()
		j.carried(at, m.Get(fields.ByName("type_url")).String(), m.Get(fields.ByName("value")).Bytes())
		return
	}
	for i := range at.node.Properties {
		p := &at.node.Properties[i]
		if p.Field == nil || !j.rules.towards[p.Node] {
			continue
		}
		fd := m.Descriptor().Fields().ByNumber(p.Field.Number())
		if !m.Has(fd) {
			continue
		}
		inner := at.property(i)
		switch value := m.Get(fd); {
		case fd.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				j.anys(inner.entry(), v.Message())
				return true
			})
		case fd.IsList():
			for i := range value.List().Len() {
				j.anys(inner.item(), value.List().Get(i).Message())
			}
		default:
			j.anys(inner, value.Message())
		}
	}
}

// carried judges the message inside an Any.
func (j *judge) carried(at place, url string, wire []byte) {
	for _, t := range at.node.Types {
		if t.URL != url || !j.rules.towards[t.Node] && !ruled(t.Node) {
			continue
		}
		inner := place{node: t.Node, path: at.path, order: at.order}
		if schema.HasOwnForm(t.Message) {
			inner = inner.property(0) // an Any within an Any: the others have no rules
		}
		j.message(inner, j.rules.judged(t.Message), wire)
		return
	}
}

// ruled reports rules of a message itself or of its places that are left to protovalidate.
func ruled(n *schema.Node) bool {
	return n.Unsaid || n.Elem != nil && n.Elem.Unsaid || slices.ContainsFunc(n.Properties, func(p schema.Property) bool {
		return p.Unsaid || p.UnsaidAbsent || p.Node.Elem != nil && p.Node.Elem.Unsaid
	})
}

// refusal sorts the problems and spells the first ones out.
func (j *judge) refusal() *gate.Refusal {
	if len(j.problems) == 0 {
		return nil
	}
	// Protovalidate ranges over maps in no order.
	slices.SortFunc(j.problems, problem.compare)
	j.problems = slices.CompactFunc(j.problems, func(a, b problem) bool { return a.path == b.path && a.text == b.text })
	r := &gate.Refusal{Correctable: true, More: max(0, len(j.problems)-maxProblems)}
	for _, p := range j.problems[:min(len(j.problems), maxProblems)] {
		r.Problems = append(r.Problems, gate.Problem{Path: p.path, Text: p.text})
	}
	return r
}

// compiler finds what of a document's rules does not compile, and what Rules has to know of the graph.
type compiler struct {
	rules    *Rules
	seen     map[*schema.Node]bool
	nodes    []*schema.Node
	hidden   map[protoreflect.FieldDescriptor]bool
	problems []error
}

// message visits one message and everything below it.
func (c *compiler) message(n *schema.Node, md protoreflect.MessageDescriptor) {
	if c.seen[n] {
		return
	}
	c.seen[n] = true
	c.nodes = append(c.nodes, n)
	if n.Kind == schema.AnyMessage {
		for _, t := range n.Types {
			c.message(t.Node, c.rules.judged(t.Message))
		}
		return
	}
	if n.Kind != schema.Object {
		return
	}
	if n.Unsaid {
		c.check("message "+string(md.FullName()), md, md)
	}
	published := map[protoreflect.FieldDescriptor]bool{}
	for i := range n.Properties {
		p := &n.Properties[i]
		if p.Field == nil {
			// The property that wraps a message without a JSON object of its own: none but an Any holds anything ruled.
			c.message(p.Node, md)
			continue
		}
		fd := md.Fields().ByNumber(p.Field.Number())
		published[fd] = true
		if p.Unsaid || p.UnsaidAbsent || p.Node.Elem != nil && p.Node.Elem.Unsaid {
			c.check("field "+string(fd.FullName()), md, fd)
		}
		switch {
		case fd.IsMap():
			c.nodes = append(c.nodes, p.Node)
			c.message(p.Node.Elem.Node, fd.MapValue().Message())
		case fd.IsList():
			c.nodes = append(c.nodes, p.Node)
			c.message(p.Node.Elem.Node, fd.Message())
		default:
			c.message(p.Node, fd.Message())
		}
	}
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); !published[fd] && !schema.HasOwnForm(md) && mayHaveRules(fd) {
			c.hidden[fd] = true
		}
	}
}

// mayHaveRules is true for every field at which protovalidate could find something to judge.
func mayHaveRules(fd protoreflect.FieldDescriptor) bool {
	if rules, _ := protovalidate.ResolveFieldRules(fd); rules != nil {
		return true
	}
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	return fd.Message() != nil && !schema.HasOwnForm(fd.Message())
}

// check has protovalidate compile the rules of one field, or of a message as a whole. It compiles a message's rules the
// first time it sees one, and tells what went wrong at each part as soon as it comes to it.
func (c *compiler) check(what string, md protoreflect.MessageDescriptor, part protoreflect.Descriptor) {
	only := protovalidate.FilterFunc(func(_ protoreflect.Message, d protoreflect.Descriptor) bool { return d == part })
	err := c.rules.validator.Validate(dynamicpb.NewMessage(md), protovalidate.WithFilter(only))
	if failed, ok := errors.AsType[*protovalidate.CompilationError](err); ok {
		c.problems = append(c.problems, fmt.Errorf("%s: its protovalidate rules do not compile: %s", what, oneLine(failed.Unwrap())))
		return
	}
	if fd, ok := part.(protoreflect.FieldDescriptor); ok {
		if rules, _ := protovalidate.ResolveFieldRules(fd); len(rules.ProtoReflect().GetUnknown()) > 0 {
			c.problems = append(c.problems, fmt.Errorf("%s: it has protovalidate rules of a kind that this version does not know", what))
		}
	}
}

// oneLine is the message of an error without the excerpt that CEL draws below each of its lines.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "|") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// lead marks the nodes from which an Any that may carry a ruled message can be reached.
func (c *compiler) lead() {
	for changed := true; changed; {
		changed = false
		for _, n := range c.nodes {
			if c.rules.towards[n] {
				continue
			}
			leads := n.Elem != nil && c.rules.towards[n.Elem.Node]
			for i := range n.Properties {
				leads = leads || c.rules.towards[n.Properties[i].Node]
			}
			for _, t := range n.Types {
				leads = leads || c.rules.towards[t.Node] || ruled(t.Node)
			}
			if leads {
				c.rules.towards[n] = true
				changed = true
			}
		}
	}
}
