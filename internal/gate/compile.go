package gate

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/strict"
)

const (
	varintType  = protowire.VarintType
	fixed32Type = protowire.Fixed32Type
	fixed64Type = protowire.Fixed64Type
	bytesType   = protowire.BytesType
)

// The fields of a map's entry: the key is field 1, the value field 2.
var (
	keyTag        = rawTag(1, bytesType)
	boolKeyTag    = rawTag(1, varintType)
	varintKeyTag  = rawTag(1, varintType)
	fixed32KeyTag = rawTag(1, fixed32Type)
	fixed64KeyTag = rawTag(1, fixed64Type)
	valueTag      = rawTag(2, bytesType)
)

// compiler turns the nodes of one document, together with the descriptors behind them, into what judges them. A
// message that several places use is compiled once.
type compiler struct {
	gate   *Gate
	mu     sync.Mutex // held by what compiles after the gate was made
	names  []string
	bodies map[*schema.Node]*object
	limits strict.Limits
}

// publish lets paths be rendered with the names of what was compiled.
func (c *compiler) publish() {
	names := c.names
	c.gate.names.Store(&names)
}

func (c *compiler) root(doc *schema.Document) (body, error) {
	if doc.Root().Kind == schema.Object {
		o, err := c.object(doc.Root(), doc.Message())
		if err == nil && doc.OpenAtRoot() {
			// A copy: the same message may occur within, where the document does say so.
			root := *o
			root.quiet = true
			return &root, nil
		}
		return o, err
	}
	return c.body(doc.Root(), doc.Message())
}

// object compiles a message of declared properties, or the wrapping of one that has a JSON form of its own.
func (c *compiler) object(n *schema.Node, md protoreflect.MessageDescriptor) (*object, error) {
	if o := c.bodies[n]; o != nil {
		return o, nil
	}
	o := &object{node: n, unsaid: n.Unsaid, properties: make([]property, len(n.Properties))}
	c.bodies[n] = o // before its properties: they may lead back here
	if len(n.Properties) > fewProperties {
		o.names = make(map[string]int, len(n.Properties))
	}
	for i := range n.Properties {
		p := &n.Properties[i]
		compiled, err := c.property(p, md)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		compiled.nullable = p.Nullable
		c.gate.nullable = c.gate.nullable || p.Nullable
		o.nullable = o.nullable || p.Nullable
		compiled.step = len(c.names)
		c.names = append(c.names, p.Name)
		o.properties[i] = compiled
		if o.names != nil {
			o.names[p.Name] = i
		}
		if p.Required {
			o.required = with(o.required, i)
		}
		if p.UnsaidAbsent {
			o.absent = with(o.absent, i)
		}
	}
	for _, one := range n.Oneofs {
		compiled := oneof{required: one.Required, names: one.Names}
		for i := range n.Properties {
			for _, name := range one.Names {
				if n.Properties[i].Name == name {
					compiled.members = with(compiled.members, i)
				}
			}
		}
		o.oneofs = append(o.oneofs, compiled)
	}
	return o, nil
}

// with adds a member to a set.
func with(set []uint64, i int) []uint64 {
	for len(set) <= i/64 {
		set = append(set, 0)
	}
	set[i/64] |= 1 << (i % 64)
	return set
}

func (c *compiler) property(p *schema.Property, md protoreflect.MessageDescriptor) (property, error) {
	out := property{name: p.Name, unsaid: p.Unsaid}
	if p.Field == nil {
		b, err := c.body(p.Node, md)
		out.value = unframed{b}
		return out, err
	}
	out.tag = tagOf(p.Field)
	var err error
	switch {
	case p.Field.IsMap():
		out.tag = rawTag(p.Field.Number(), bytesType)
		out.value, err = c.mapping(p.Node, p.Field)
	case p.Field.IsList():
		list := &array{node: p.Node, packed: p.Field.IsPacked(), unsaid: p.Node.Elem.Unsaid}
		if list.packed {
			out.tag = rawTag(p.Field.Number(), bytesType)
		}
		list.item, err = c.single(p.Node.Elem.Node, p.Field, false)
		out.value = list
	default:
		out.value, err = c.single(p.Node, p.Field, !p.Field.HasPresence())
	}
	return out, err
}

func (c *compiler) mapping(n *schema.Node, fd protoreflect.FieldDescriptor) (*mapping, error) {
	m := &mapping{node: n, tag: tagOf(fd.MapValue()), unsaid: n.Elem.Unsaid, pairs: n.Kind == schema.Pairs}
	switch fd.MapKey().Kind() {
	case protoreflect.StringKind:
		t, err := newText(n.Key, false)
		if err != nil {
			return nil, err
		}
		m.key = t
	case protoreflect.BoolKind:
		m.key = &boolKey{n.Key}
	default:
		m.key = newInteger(n.Key, fd.MapKey().Kind(), false)
	}
	var err error
	m.entry, err = c.single(n.Elem.Node, fd.MapValue(), false)
	return m, err
}

// single compiles one value: a field's, an item's, or an entry's. Its zero value may be left out of the message where
// skipZero says so.
func (c *compiler) single(n *schema.Node, fd protoreflect.FieldDescriptor, skipZero bool) (value, error) {
	if fd.Message() == nil {
		return scalar(n, fd, skipZero)
	}
	b, err := c.body(n, fd.Message())
	if err != nil {
		return nil, err
	}
	if fd.Kind() == protoreflect.GroupKind {
		return grouped{b, rawTag(fd.Number(), protowire.EndGroupType)}, nil
	}
	return framed{b}, nil
}

// body compiles a message in whatever form its JSON has.
func (c *compiler) body(n *schema.Node, md protoreflect.MessageDescriptor) (body, error) {
	if schema.IsWrapper(md) {
		fd := md.Fields().ByNumber(1)
		v, err := scalar(n, fd, true)
		return wrapper{v, tagOf(fd)}, err
	}
	switch n.Kind {
	case schema.Object:
		return c.object(n, md)
	case schema.AnyMessage:
		return c.anyMessage(n), nil
	case schema.Open:
		return open{}, nil
	case schema.OpenObject:
		return openObject{n}, nil
	case schema.OpenArray:
		return openArray{n}, nil
	case schema.String:
		switch n.Form {
		case schema.Timestamp:
			return timestamp{n}, nil
		case schema.Duration:
			return duration{n}, nil
		case schema.FieldMask:
			return mask{n}, nil
		case schema.JSONText:
			inner, err := c.body(n.Inner, md)
			return &jsonText{n, inner, c.limits}, err
		}
	}
	return nil, fmt.Errorf("message %s has no JSON form of kind %d", md.FullName(), n.Kind)
}

// wrapper is a message of google/protobuf/wrappers.proto: its one field's value.
type wrapper struct {
	field value
	tag   string
}

func (w wrapper) body(j *judge) { w.field.value(j, w.tag) }

func scalar(n *schema.Node, fd protoreflect.FieldDescriptor, skipZero bool) (value, error) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return &boolean{n, skipZero}, nil
	case protoreflect.StringKind:
		return newText(n, skipZero)
	case protoreflect.BytesKind:
		return &base64Text{n, skipZero}, nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return newFloat(n, fd.Kind(), skipZero)
	case protoreflect.EnumKind:
		if n.Kind == schema.Null {
			return &null{n, skipZero}, nil
		}
		e := &enum{node: n, numbers: make(map[string]int32, len(n.Enum)), skipZero: skipZero}
		for _, l := range n.Enum {
			vd := fd.Enum().Values().ByName(protoreflect.Name(l.Text))
			if vd == nil {
				return nil, fmt.Errorf("enum %s has no value %s", fd.Enum().FullName(), l.Text)
			}
			e.numbers[l.Text] = int32(vd.Number())
		}
		return e, nil
	default:
		return newInteger(n, fd.Kind(), skipZero), nil
	}
}

func newText(n *schema.Node, skipEmpty bool) (*text, error) {
	t := &text{node: n, skipEmpty: skipEmpty, format: formats[n.Format]}
	if n.Pattern != "" {
		re, err := regexp.Compile(n.Pattern)
		if err != nil {
			return nil, fmt.Errorf("published pattern %q: %w", n.Pattern, err)
		}
		t.pattern = re
	}
	t.plain = n.Enum == nil && n.Not == nil && n.MinLength == nil && n.MaxLength == nil && t.pattern == nil && t.format == nil
	return t, nil
}

func join(list []string) string { return strings.Join(list, ", ") }
