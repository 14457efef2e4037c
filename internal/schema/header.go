package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Header is a property whose value callers repeat in an HTTP header, so that whoever routes their requests need not
// read bodies (mcp-protocol.md 2.6).
type Header struct {
	// Name is the header's name after `Mcp-Param-`, as the field's option declares it.
	Name string
	// Path are the published names of properties from the document's root down to the property.
	Path []string
	// Kind is the value's: String, Integer or Boolean.
	Kind Kind
}

// HeaderProblem is a field whose header option breaks a rule of mcp-protocol.md 2.6. A client that finds such an
// `x-mcp-header` drops the whole tool.
type HeaderProblem struct {
	Field protoreflect.FieldDescriptor
	text  string
}

// Error names the field, and says what is wrong and how to mend it.
func (p *HeaderProblem) Error() string {
	return fmt.Sprintf("field %s: %s", p.Field.FullName(), p.text)
}

// Headers are the properties that callers repeat in headers, in the order of the schema; nil for none. The slice is
// shared: nobody may modify it.
func (d *Document) Headers() []Header { return d.headers }

// headerName is a token of RFC 9110 of a length that no server minds.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")

// header is what a field's option declares, where the document publishes it: in an input that is to have headers.
func (d *deriver) header(fd protoreflect.FieldDescriptor) string {
	if !d.input || d.headless {
		return ""
	}
	return FieldOption(fd).GetHeader()
}

// arrival is one way from the root to a field with a header.
type arrival struct {
	path []string
	// many says that the way leads through a list or a map.
	many bool
	// sensitive is the first sensitive field that the value is within.
	sensitive protoreflect.FieldDescriptor
	// property is nil where the field is in no property of the document.
	property *Property
}

// step is the way on through a property.
func (a arrival) step(p *Property) arrival {
	next := arrival{path: append(slices.Clone(a.path), p.Name), many: a.many, sensitive: a.sensitive, property: p}
	if next.sensitive == nil && p.Field != nil && FieldOption(p.Field).GetSensitive() {
		next.sensitive = p.Field
	}
	return next
}

// inside is the way on to the items of a list or the values of a map.
func (a arrival) inside(n *Node) arrival {
	a.path, a.many = slices.Clone(a.path), true
	if n.Kind == Map {
		a.path = append(a.path, "{key}")
	} else {
		a.path[len(a.path)-1] += "[]"
	}
	return a
}

// headers finds the headers of a whole document and every reason why some cannot be. Two ways to a field are one too
// many, so that what has a header is neither shared under $defs nor written twice: only what is used more than once is.
func (d *deriver) headers(root *Node) (list []Header, problems []error) {
	if len(d.headed) == 0 {
		return nil, nil
	}
	var order []protoreflect.FieldDescriptor
	arrivals := map[protoreflect.FieldDescriptor][]arrival{}
	arrive := func(fd protoreflect.FieldDescriptor, a arrival) {
		if arrivals[fd] == nil {
			order = append(order, fd)
		}
		arrivals[fd] = append(arrivals[fd], a)
	}
	holds := d.holdHeaders(root)
	visits := map[*Node]int{}
	var visit func(n *Node, a arrival)
	visit = func(n *Node, a arrival) {
		// The second way to a node is the last of interest: of more there may be more than can be counted.
		if !holds[n] || visits[n] == 2 {
			return
		}
		visits[n]++
		if n.Elem != nil {
			visit(n.Elem.Node, a.inside(n))
		}
		for i := range n.Properties {
			p := &n.Properties[i]
			next := a.step(p)
			if slices.Contains(d.headed[n], p.Field) {
				arrive(p.Field, next)
			}
			visit(p.Node, next)
		}
		for _, fd := range d.headed[n] {
			if !Visible(fd, true) {
				arrive(fd, arrival{})
			}
		}
	}
	visit(root, arrival{})

	names := map[string]protoreflect.FieldDescriptor{}
	for _, fd := range order {
		name := d.header(fd)
		texts := headerProblems(name, arrivals[fd])
		if first := names[strings.ToLower(name)]; first != nil {
			texts = append(texts, fmt.Sprintf("its header %q is that of field %s too, since capital letters do not count in a header's name; give one of them another", name, first.FullName()))
		} else {
			names[strings.ToLower(name)] = fd
		}
		for _, text := range texts {
			problems = append(problems, &HeaderProblem{fd, text})
		}
		if len(texts) == 0 {
			at := arrivals[fd][0]
			list = append(list, Header{Name: name, Path: at.path, Kind: at.property.Node.Kind})
		}
	}
	return list, problems
}

// holdHeaders are the nodes from which a field with a header is reached.
func (d *deriver) holdHeaders(root *Node) map[*Node]bool {
	users := map[*Node][]*Node{}
	walk(root, func(n *Node) {
		for i := range n.Properties {
			users[n.Properties[i].Node] = append(users[n.Properties[i].Node], n)
		}
		if n.Elem != nil {
			users[n.Elem.Node] = append(users[n.Elem.Node], n)
		}
	})
	holds := map[*Node]bool{}
	var up func(*Node)
	up = func(n *Node) {
		if holds[n] {
			return
		}
		holds[n] = true
		for _, user := range users[n] {
			up(user)
		}
	}
	for n := range d.headed {
		up(n)
	}
	return holds
}

// headerProblems are the rules that one field's header breaks, given the ways that lead to the field.
func headerProblems(name string, ways []arrival) (texts []string) {
	if !headerName.MatchString(name) {
		texts = append(texts, fmt.Sprintf("its header %q is no name of a header: write 1 to 64 letters, digits and dashes, or other characters of an HTTP token", name))
	}
	first := ways[0]
	if first.property == nil {
		return append(texts, "no caller can repeat it in a header, since it is hidden or output-only and so in no arguments; drop one of the two")
	}
	fd := first.property.Field
	if what := published(first.property.Node); what != "" {
		texts = append(texts, fmt.Sprintf("only a string, an integer or a boolean can be repeated in a header, and it is published as %s; remove its header", what))
	}
	for _, way := range ways {
		if way.sensitive == nil {
			continue
		}
		within := "it is sensitive"
		if way.sensitive != fd {
			within = fmt.Sprintf("it is within the sensitive field %s", way.sensitive.FullName())
		}
		texts = append(texts, within+", and whatever stands between a caller and the edge can read a header; drop one of the two")
		break
	}
	for _, way := range ways {
		if way.many {
			return append(texts, fmt.Sprintf("one header cannot repeat the many values of %s; take the field out of the list or map, or remove its header", strings.Join(way.path, ".")))
		}
	}
	if len(ways) > 1 {
		texts = append(texts, fmt.Sprintf("one header cannot repeat both %s and %s; give one of the two places a message of its own, or remove the header",
			strings.Join(ways[0].path, "."), strings.Join(ways[1].path, ".")))
	}
	return texts
}

// published says what a node is published as, or "" where a header can repeat it.
func published(n *Node) string {
	switch n.Kind {
	case String, Integer, Boolean:
		return ""
	case Number:
		return "a number"
	case Array, OpenArray:
		return "an array"
	case Null:
		return "null"
	case Open:
		return "any JSON value"
	default:
		return "an object"
	}
}
