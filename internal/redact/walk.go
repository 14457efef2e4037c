package redact

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Kind is what a Value is in the arguments.
type Kind int

// The kinds of values.
const (
	String Kind = iota // the content of a string
	Number             // the literal of a number
	Key                // a key of a map or of an open object
)

// Value is one string, number or key of the arguments. It is valid until the function that it was given to returns.
type Value struct {
	Kind Kind
	// Text is the content of a string or key, or the literal of a number. It must not be changed.
	Text []byte
	// Node is the shape that the document has for the value; nil within an open value.
	Node *schema.Node
	// Sensitive says that the value is that of a field marked sensitive, or within one.
	Sensitive bool

	walk *walk
}

// Path is the published path of the value: declared names joined by dots, [] for the items of an array, {key} for a key
// of a map and for what it leads to. All of an open value has the path of its property, its keys have {key} behind it.
// The path of the arguments as a whole is "arguments".
func (v *Value) Path() string {
	var out strings.Builder
	for _, step := range v.walk.trail {
		if step != "[]" && out.Len() > 0 {
			out.WriteByte('.')
		}
		out.WriteString(step)
	}
	if out.Len() == 0 {
		return "arguments"
	}
	return out.String()
}

// Values calls yield for every string, number and key that the caller chose, in the order of the arguments, until yield
// returns false. What the document names is not the caller's: the names of properties, and the @type of an Any where
// the document accepts it. Booleans and null carry nothing.
//
// Where the arguments do not have the document's shape, everything is the caller's. A nil document knows no shape at
// all. The error is that of arguments that are no JSON; what was yielded before is then not everything.
func Values(doc *schema.Document, arguments []byte, yield func(*Value) bool) error {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return nil
	}
	w := &walk{
		arguments:  arguments,
		dec:        newDecoder(arguments),
		yield:      yield,
		properties: map[*schema.Node]map[string]int{},
		carried:    map[*schema.Node]map[string]*schema.Node{},
		marked:     map[*schema.Property]bool{},
	}
	var root *schema.Node
	if doc != nil {
		root = doc.Root()
	}
	if err := w.value(root); err != nil && !errors.Is(err, errStopped) {
		return fmt.Errorf("walk the arguments: %w", err)
	}
	return nil
}

// newDecoder reads what the strict decoder has let through. It is lenient: what it refused would go unredacted.
func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

var errStopped = errors.New("stopped")

// walk is one pass over the arguments along the document's nodes.
type walk struct {
	arguments []byte
	dec       *jsontext.Decoder
	yield     func(*Value) bool
	trail     []string // of the path
	sensitive bool
	scratch   []byte

	// Caches over the document: properties by name, types of an Any by URL, properties that are sensitive.
	properties map[*schema.Node]map[string]int
	carried    map[*schema.Node]map[string]*schema.Node
	marked     map[*schema.Property]bool

	// types are the @type of every object that has one, by the place of its brace; nil before an Any was met.
	types map[int64]string
}

// value walks the next value along n, which is nil for one that the document does not know.
func (w *walk) value(n *schema.Node) error {
	switch kind := w.dec.PeekKind(); kind {
	case '{':
		return w.object(n)
	case '[':
		return w.array(n)
	case '"', '0':
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		v := Value{Kind: Number, Text: raw, Node: shaped(n)}
		if kind == '"' {
			v.Kind, v.Text = String, w.unquote(raw)
		}
		return w.give(&v)
	default:
		// true, false, null; or no value at all, which is the error.
		return w.dec.SkipValue()
	}
}

// shaped is n where it says anything about a scalar.
func shaped(n *schema.Node) *schema.Node {
	if n == nil || n.Kind == schema.Open {
		return nil
	}
	return n
}

func (w *walk) give(v *Value) error {
	v.walk, v.Sensitive = w, w.sensitive
	if !w.yield(v) {
		return errStopped
	}
	return nil
}

// unquote is the content of a string. It is valid until the next call.
func (w *walk) unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	// An escape that pairs with no other becomes the replacement character.
	w.scratch, _ = jsontext.AppendUnquote(w.scratch[:0], raw)
	return w.scratch
}

func (w *walk) array(n *schema.Node) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	depth := len(w.trail)
	var elem *schema.Node
	if n != nil && n.Kind == schema.Array {
		elem = n.Elem.Node
		w.trail = append(w.trail, "[]")
	}
	for w.dec.PeekKind() != ']' {
		if err := w.value(elem); err != nil {
			return err
		}
	}
	w.trail = w.trail[:depth]
	_, err := w.dec.ReadToken()
	return err
}

// object walks the members of an object of any kind.
func (w *walk) object(n *schema.Node) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	member := w.openMember
	switch {
	case n == nil:
	case n.Kind == schema.Object:
		member = w.property(n, false)
	case n.Kind == schema.Map:
		member = w.entry(n)
	case n.Kind == schema.AnyMessage:
		inner, err := w.carriedBy(n, w.dec.InputOffset()-1)
		if err != nil {
			return err
		}
		if inner != nil {
			member = w.property(inner, true)
		}
	}
	for w.dec.PeekKind() != '}' {
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := member(w.unquote(raw)); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// property walks the members of a message; those of one within an Any have the @type among them.
func (w *walk) property(n *schema.Node, any bool) func(name []byte) error {
	byName := w.properties[n]
	if byName == nil {
		byName = make(map[string]int, len(n.Properties))
		for i := range n.Properties {
			byName[n.Properties[i].Name] = i
		}
		w.properties[n] = byName
	}
	return func(name []byte) error {
		i, declared := byName[string(name)]
		if !declared {
			if any && string(name) == typeKey {
				return w.dec.SkipValue()
			}
			return w.openMember(name)
		}
		p, outer := &n.Properties[i], w.sensitive
		marked, known := w.marked[p]
		if !known {
			marked = p.Field != nil && schema.FieldOption(p.Field).GetSensitive()
			w.marked[p] = marked
		}
		w.sensitive = outer || marked
		w.trail = append(w.trail, p.Name)
		err := w.value(p.Node)
		w.trail = w.trail[:len(w.trail)-1]
		w.sensitive = outer
		return err
	}
}

// keyStep is a key in a path: it is the caller's.
const keyStep = "{key}"

// entry walks the entries of a map.
func (w *walk) entry(n *schema.Node) func(key []byte) error {
	return func(key []byte) error {
		w.trail = append(w.trail, keyStep)
		defer func() { w.trail = w.trail[:len(w.trail)-1] }()
		if n.Key.Form != schema.Bool {
			if err := w.give(&Value{Kind: Key, Text: key, Node: n.Key}); err != nil {
				return err
			}
		}
		return w.value(n.Elem.Node)
	}
}

// openMember walks a member that the document does not know.
func (w *walk) openMember(key []byte) error {
	w.trail = append(w.trail, keyStep)
	err := w.give(&Value{Kind: Key, Text: key})
	w.trail = w.trail[:len(w.trail)-1]
	if err != nil {
		return err
	}
	return w.value(nil)
}

const typeKey = "@type"

// carriedBy is the node of the message in an Any whose brace is at the offset; nil where the document accepts no such
// type. The @type may come last: what all objects name is read in one pass, at the first Any.
func (w *walk) carriedBy(n *schema.Node, offset int64) (*schema.Node, error) {
	if w.types == nil {
		w.types = map[int64]string{}
		if err := readTypes(newDecoder(w.arguments), w.types); err != nil {
			return nil, err
		}
	}
	byURL := w.carried[n]
	if byURL == nil {
		byURL = make(map[string]*schema.Node, len(n.Types))
		for _, t := range n.Types {
			byURL[t.URL] = t.Node
		}
		w.carried[n] = byURL
	}
	return byURL[w.types[offset]], nil
}

// readTypes notes the @type of every object in the next value, by the offset of its brace.
func readTypes(dec *jsontext.Decoder, types map[int64]string) error {
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	offset := dec.InputOffset() - 1
	for next := dec.PeekKind(); next != '}' && next != ']'; next = dec.PeekKind() {
		if kind == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			if name.String() == typeKey && dec.PeekKind() == '"' {
				url, err := dec.ReadToken()
				if err != nil {
					return err
				}
				types[offset] = url.String()
				continue
			}
		}
		if err := readTypes(dec, types); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
