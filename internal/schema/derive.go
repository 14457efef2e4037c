package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
)

// Limits of a document's size in bytes (boundary.md, "Scale"): above the first it is a warning, above the second an
// error. Types are inlined while the document stays within inlineBudget.
const (
	WarnSize     = 256 << 10
	MaxSize      = 1 << 20
	inlineBudget = 32 << 10
)

// propertyName is what model APIs accept as the name of a property.
var propertyName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Input derives the schema by which arguments for md are published and judged. The error joins every reason why none
// can be derived, each naming its field; a header option that breaks a rule is a [*HeaderProblem] among them. Warnings
// speak of what is published all the same.
func Input(md protoreflect.MessageDescriptor, p Profile) (doc *Document, warnings []string, err error) {
	return newDeriver(md, p, true).arguments(md)
}

// InputWithoutHeaders is Input as if no field had a header option.
func InputWithoutHeaders(md protoreflect.MessageDescriptor, p Profile) (doc *Document, warnings []string, err error) {
	d := newDeriver(md, p, true)
	d.headless = true
	return d.arguments(md)
}

// arguments derives the schema of a request.
func (d *deriver) arguments(md protoreflect.MessageDescriptor) (*Document, []string, error) {
	root := &Place{}
	if IsBare(md) {
		root.Node = d.wrapped(md, false)
	} else {
		root.Node = d.message(md)
	}
	return d.document(root)
}

// Output derives the schema of a successful result. The document is nil where none is published: for a response that
// is no JSON object, and for one that the service authors whole (tools.md, "Results").
func Output(md protoreflect.MessageDescriptor, p Profile) (doc *Document, warnings []string, err error) {
	if IsBare(md) || IsToolResult(md) {
		return nil, nil, genuine(md)
	}
	d := newDeriver(md, p, false)
	return d.document(&Place{Node: d.message(md)})
}

// ContentField returns the field of a response whose blocks are the result's content, or nil. It is an error to mark
// two fields, or one that is not repeated Content.
func ContentField(md protoreflect.MessageDescriptor) (protoreflect.FieldDescriptor, error) {
	var found protoreflect.FieldDescriptor
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !FieldOption(fd).GetContent() {
			continue
		}
		if fd.Message() != nil {
			if err := genuine(fd.Message()); err != nil {
				return nil, err
			}
		}
		switch {
		case !fd.IsList() || fd.Message() == nil || fd.Message().FullName() != contentName:
			return nil, fmt.Errorf("field %s: only a repeated %s can be marked content", fd.FullName(), contentName)
		case found != nil:
			return nil, fmt.Errorf("field %s: field %s is marked content already; mark one", fd.FullName(), found.FullName())
		}
		found = fd
	}
	return found, nil
}

// Visible reports whether a field is part of the JSON of its direction at all: not hidden, not output-only in an
// input, not input-only in an output.
func Visible(fd protoreflect.FieldDescriptor, input bool) bool {
	if FieldOption(fd).GetHidden() {
		return false
	}
	if input {
		return !hasBehavior(fd, annotations.FieldBehavior_OUTPUT_ONLY)
	}
	return !hasBehavior(fd, annotations.FieldBehavior_INPUT_ONLY)
}

// deriver builds the node graph of one document.
type deriver struct {
	input   bool
	profile Profile
	top     protoreflect.MessageDescriptor

	messages map[messageKey]*Node
	enums    map[protoreflect.FullName]*Node
	any      *Node
	narrowed []narrowedAny
	// unruled is set while a message is derived to which protovalidate's rules do not apply (see embedded).
	unruled bool
	ruled   map[protoreflect.FullName]bool
	// headless leaves header options out; headed are the fields that have one, by the node of their message.
	headless bool
	headed   map[*Node][]protoreflect.FieldDescriptor
	// problems are kept by the node they make underivable: a type that only an Any could carry is left out instead.
	problems map[*Node][]error
}

func newDeriver(md protoreflect.MessageDescriptor, p Profile, input bool) *deriver {
	return &deriver{
		input: input, profile: p, top: md,
		messages: map[messageKey]*Node{},
		ruled:    map[protoreflect.FullName]bool{},
		enums:    map[protoreflect.FullName]*Node{},
		problems: map[*Node][]error{},
		headed:   map[*Node][]protoreflect.FieldDescriptor{},
	}
}

// document checks the graph for problems and renders it.
func (d *deriver) document(root *Place) (*Document, []string, error) {
	if !d.input {
		content, err := ContentField(d.top)
		if err != nil {
			return nil, nil, err
		}
		if content != nil {
			root.Node = d.without(root.Node, content)
		}
	}
	if d.any != nil {
		d.finishAny()
	}
	var problems []error
	walk(root.Node, func(n *Node) { problems = append(problems, d.problems[n]...) })
	headers, misplaced := d.headers(root.Node)
	problems = append(problems, misplaced...)
	if len(problems) > 0 {
		return nil, nil, errors.Join(problems...)
	}
	text, warnings, err := render(root)
	if err != nil {
		return nil, nil, err
	}
	return &Document{
		root: root, json: text, message: d.top, profile: d.profile, unsaid: unsaid(root.Node), headers: headers,
	}, warnings, nil
}

// without is the root's node less its content field. The root alone loses it: where the type occurs deeper, the field
// is data like any other.
func (d *deriver) without(n *Node, content protoreflect.FieldDescriptor) *Node {
	root := *n
	root.Type = ""
	root.Properties = nil
	for _, p := range n.Properties {
		if p.Field != content {
			root.Properties = append(root.Properties, p)
		}
	}
	d.problems[&root] = d.problems[n]
	return &root
}

// wrapped is the object that carries a message's JSON form as its one property: in a request of a bare type, and
// beside the @type of an Any.
func (d *deriver) wrapped(md protoreflect.MessageDescriptor, must bool) *Node {
	value := Property{Name: WrappedName, Required: must, Place: Place{Node: d.message(md)}}
	return &Node{Kind: Object, Properties: []Property{value}}
}

// message returns the node of a message, the same one for the same message.
func (d *deriver) message(md protoreflect.MessageDescriptor) *Node {
	if n := d.wellKnown(md); n != nil {
		return d.finish(n)
	}
	if md.FullName() == anyName {
		return d.anyMessage()
	}
	key := messageKey{md.FullName(), d.unruled}
	if n := d.messages[key]; n != nil {
		return n
	}
	n := &Node{Kind: Object, Type: key.definition(), Description: leadingComment(md), Loose: !d.input}
	n.Deprecated = deprecated(md)
	d.messages[key] = n
	if md.FullName() == emptyName {
		// Closed in both directions: an Empty has nothing to grow (tools.md, "Results").
		n.Type, n.Description, n.Loose = "", "", false
		return n
	}
	if md.IsPlaceholder() {
		d.problem(n, "message %s: the contract's files do not declare it; register with every file that is imported", md.FullName())
		return n
	}
	d.fields(n, md)
	d.oneofs(n, md)
	if d.input && !d.unruled {
		d.messageRules(n, md)
	}
	return n
}

// fields fills in a message's properties.
func (d *deriver) fields(n *Node, md protoreflect.MessageDescriptor) {
	published := map[string]protoreflect.FieldDescriptor{}
	byJSON := map[string]protoreflect.FieldDescriptor{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		// The JSON form of a message is read by JSON names, whatever is published.
		if other := byJSON[fd.JSONName()]; other != nil {
			d.problem(n, "field %s: the JSON name %q belongs to field %s too; give one of them another json_name",
				fd.FullName(), fd.JSONName(), other.Name())
		}
		byJSON[fd.JSONName()] = fd
		if d.header(fd) != "" {
			d.headed[n] = append(d.headed[n], fd)
		}
		if !Visible(fd, d.input) {
			if d.input && d.required(fd) {
				d.problem(n, "field %s: it is required, but no caller can give it, since it is hidden or output-only; drop one of the two",
					fd.FullName())
			}
			continue
		}
		name := PropertyName(fd, d.profile)
		if !propertyName.MatchString(name) {
			d.problem(n, "field %s: the property name %q is not of the form [A-Za-z0-9_.-]{1,64} that model APIs accept; name it with (sallyport.tool.v1.field).name",
				fd.FullName(), name)
		}
		if other := published[name]; other != nil {
			d.problem(n, "field %s: the property name %q belongs to field %s too; rename one with (sallyport.tool.v1.field).name",
				fd.FullName(), name, other.Name())
		}
		published[name] = fd
		n.Properties = append(n.Properties, Property{
			Name:     name,
			Required: d.input && d.required(fd),
			Field:    fd,
		})
		p := &n.Properties[len(n.Properties)-1]
		var absent bool
		p.Place, absent = d.place(n, fd)
		p.UnsaidAbsent = absent && !p.Required
	}
}

// place derives what a field's property publishes, and whether its absence is to be judged by protovalidate.
func (d *deriver) place(owner *Node, fd protoreflect.FieldDescriptor) (place Place, absent bool) {
	place = Place{Description: fieldDescription(fd), Deprecated: deprecated(fd), Header: d.header(fd)}
	for i, text := range FieldOption(fd).GetExamples() {
		example, err := compact(text)
		if err != nil {
			d.problem(owner, "field %s: example %d is no JSON text: %w", fd.FullName(), i+1, err)
			continue
		}
		place.Examples = append(place.Examples, example)
	}
	rules := d.rules(fd)
	// What is inside a list or a map counts as nothing where the field does.
	inside := func(part *validate.FieldRules) *validate.FieldRules {
		if rules.GetIgnore() == validate.Ignore_IGNORE_ALWAYS {
			return rules
		}
		return part
	}
	at := use{implicit: !fd.HasPresence()}
	var left remains
	switch {
	case fd.IsMap():
		place.Node, left = d.mapNode(owner, fd, rules, inside)
	case fd.IsList():
		item, _ := d.value(owner, fd, inside(rules.GetRepeated().GetItems()), use{part: true, implicit: true})
		place.Node = &Node{Kind: Array, Elem: item}
		left = d.apply(place.Node, owner, fd, rules, at)
		place.Node.Notes = left.notes
	default:
		var value *Place
		value, left = d.value(owner, fd, rules, at)
		place.Node, place.Notes = value.Node, value.Notes
	}
	place.Unsaid = left.unsaid
	return place, left.absent
}

func (d *deriver) mapNode(owner *Node, fd protoreflect.FieldDescriptor, rules *validate.FieldRules, inside func(*validate.FieldRules) *validate.FieldRules) (*Node, remains) {
	part := use{part: true, implicit: true}
	key := d.mapKey(fd.MapKey())
	keys := d.apply(key, owner, fd.MapKey(), inside(rules.GetMap().GetKeys()), part)
	value, _ := d.value(owner, fd.MapValue(), inside(rules.GetMap().GetValues()), part)
	n := &Node{Kind: Map, Key: key, Elem: value}
	left := d.apply(n, owner, fd, rules, use{implicit: true})
	n.Notes = left.notes
	if d.input && key.Form == Int {
		n.Notes = append(n.Notes, fmt.Sprintf("Keys are integers from %s to %s.", key.Min, key.Max))
	}
	// Of a key only its constraints are published: what its rules say in words belongs to the map.
	for _, note := range keys.notes {
		n.Notes = append(n.Notes, "Of each key: "+note)
	}
	left.unsaid = left.unsaid || keys.unsaid
	return n, left
}

// value derives one value of a field: the field's own, an item's, or a map's.
func (d *deriver) value(owner *Node, fd protoreflect.FieldDescriptor, rules *validate.FieldRules, at use) (*Place, remains) {
	if fd.Message() == nil {
		n := d.scalar(fd)
		if n.Type != "" && (hasRules(rules) || d.header(fd) != "") {
			// The enum itself is shared: rules make a node of this place's own, and so does a header, beside which the
			// type itself must stand and no reference to it.
			own := *n
			own.Type = ""
			n = &own
		}
		left := d.apply(n, owner, fd, rules, at)
		n.Notes = append(n.Notes[:len(n.Notes):len(n.Notes)], left.notes...)
		return &Place{Node: d.finish(n), Unsaid: left.unsaid}, left
	}
	if n := d.wellKnown(fd.Message()); n != nil {
		left := d.apply(n, owner, fd, rules, at)
		n.Notes = append(n.Notes, left.notes...)
		return &Place{Node: d.finish(n), Unsaid: left.unsaid}, left
	}
	n, waived := d.embedded(fd, rules, at)
	if n == d.any && hasRules(rules) && rules.GetAny() != nil {
		n = &Node{Kind: AnyMessage}
		d.narrowed = append(d.narrowed, narrowedAny{n, rules.GetAny()})
	}
	// A message is shared: rules on its use are words of the place.
	left := d.apply(n, owner, fd, rules, at)
	left.unsaid = left.unsaid || waived
	return &Place{Node: n, Notes: left.notes, Unsaid: left.unsaid}, left
}

// finish adds the sentences about a node's final range.
func (d *deriver) finish(n *Node) *Node {
	if d.input && n.Kind == String && n.Form == Int {
		n.Notes = append(n.Notes, fmt.Sprintf("An integer from %s to %s, written as a string.", n.Min, n.Max))
	}
	return n
}

// oneofs publishes the rule of each oneof as sentences, since a union is refused by model APIs (boundary.md).
func (d *deriver) oneofs(n *Node, md protoreflect.MessageDescriptor) {
	for i := range md.Oneofs().Len() {
		od := md.Oneofs().Get(i)
		if od.IsSynthetic() {
			continue
		}
		var members []int
		var names []string
		for j := range n.Properties {
			if fd := n.Properties[j].Field; fd.ContainingOneof() == od {
				members = append(members, j)
				names = append(names, n.Properties[j].Name)
			}
		}
		must := d.input && !d.unruled && oneofRequired(od)
		if d.requireTogether(n, od, members) {
			must = true
		}
		if len(members) == 0 {
			if must {
				d.problem(n, "oneof %s: it is required, but none of its members can be given", od.FullName())
			}
			continue
		}
		note := oneofNote(names, must, d.input)
		if note == "" {
			continue
		}
		atMember := note
		if len(names) > namedMembers {
			// Said in full at every member, a large oneof would grow with the square of its size.
			before, _, _ := strings.Cut(note, ":")
			atMember = fmt.Sprintf("%s %d properties that the object's description names.", before, len(names))
		}
		for _, j := range members {
			n.Properties[j].Notes = append(n.Properties[j].Notes, atMember)
		}
		n.Notes = append(n.Notes, note)
		n.Oneofs = append(n.Oneofs, Oneof{Names: names, Required: must})
	}
}

// namedMembers is how many members a oneof may have for each of them to name all.
const namedMembers = 16

// requireTogether settles a oneof of which two or more members are required. Nobody can give both: where
// google.api.field_behavior says so, one of them is meant, and the oneof is required in their place; protovalidate
// would refuse every message.
func (d *deriver) requireTogether(n *Node, od protoreflect.OneofDescriptor, members []int) bool {
	count := 0
	for _, j := range members {
		if n.Properties[j].Required {
			count++
		}
	}
	if count < 2 {
		return false
	}
	for _, j := range members {
		if rules := d.rules(n.Properties[j].Field); rules.GetRequired() && rules.GetIgnore() != validate.Ignore_IGNORE_ALWAYS {
			d.problem(n, "oneof %s: several of its members are required, but only one can be given; require the oneof with (buf.validate.oneof).required", od.FullName())
			return false
		}
		n.Properties[j].Required = false
	}
	return true
}

func oneofNote(names []string, must, input bool) string {
	list := strings.Join(names, ", ")
	switch {
	case must:
		return "Give exactly one of: " + list + "."
	case len(names) == 1:
		return "" // one member excludes no other
	case input:
		return "Give at most one of: " + list + "."
	default:
		return "At most one is present of: " + list + "."
	}
}

// enum returns the node of an enum, the same one for the same enum.
func (d *deriver) enum(ed protoreflect.EnumDescriptor) *Node {
	if ed.FullName() == nullValueName {
		return &Node{Kind: Null}
	}
	if n := d.enums[ed.FullName()]; n != nil {
		return n
	}
	n := &Node{Kind: String, Type: string(ed.FullName()), Description: leadingComment(ed), Loose: !d.input}
	n.Deprecated = deprecated(ed)
	n.Enum = []Literal{}
	if ed.IsPlaceholder() {
		d.problem(n, "enum %s: the contract's files do not declare it; register with every file that is imported", ed.FullName())
	}
	for i := range ed.Values().Len() {
		vd := ed.Values().Get(i)
		if d.input && leftOut(vd) {
			continue
		}
		n.Enum = append(n.Enum, literalString(string(vd.Name())))
		text := inOneLine(leadingComment(vd))
		if text == "" {
			text = inOneLine(trailingComment(vd))
		}
		if deprecated(vd) {
			text = strings.TrimSpace("Deprecated. " + text)
		}
		if text != "" {
			n.Notes = append(n.Notes, "\n"+string(vd.Name())+": "+text)
		}
	}
	d.enums[ed.FullName()] = n
	return n
}

// leftOut reports a zero value that means "not given", which a caller spells by giving nothing.
func leftOut(vd protoreflect.EnumValueDescriptor) bool {
	ed, _ := vd.Parent().(protoreflect.EnumDescriptor)
	return vd.Number() == 0 && strings.HasSuffix(string(vd.Name()), "_UNSPECIFIED") && ed.Values().Len() > 1
}

func (d *deriver) problem(n *Node, format string, args ...any) {
	d.problems[n] = append(d.problems[n], fmt.Errorf(format, args...))
}

func hasBehavior(fd protoreflect.FieldDescriptor, want annotations.FieldBehavior) bool {
	behaviors := extension[[]annotations.FieldBehavior](fd.Options(), annotations.E_FieldBehavior)
	for _, b := range behaviors {
		if b == want {
			return true
		}
	}
	return false
}

func deprecated(desc protoreflect.Descriptor) bool {
	options, ok := desc.Options().(interface{ GetDeprecated() bool })
	return ok && options.GetDeprecated()
}
