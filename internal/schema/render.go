package schema

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// fragment is a stretch of a document: text, or a use of a node that may become a reference.
type fragment struct {
	text string
	use  *Place
	// inline and reference are the bytes that a use has beside its node's body: its annotations, and the reference.
	inline, reference uint64
}

// body is a node in pieces. Between head and tail stand the annotations of the place where it is written.
type body struct {
	head string
	tail []fragment
}

// renderer writes a node graph. Which types stand under $defs is decided before anything is written, by sizes that
// are computed and not measured: a diamond of types has few nodes and a huge inlined text.
type renderer struct {
	bodies map[*Node]*body
	// shared are the nodes under $defs.
	shared map[*Node]bool
	order  []*Node // every node with a Type, in the order of first use; the root is not among them unless used again
}

// render writes the document of a graph. The error names the largest subtree of one that is too large.
func render(root *Place) (text []byte, warnings []string, err error) {
	r := &renderer{bodies: map[*Node]*body{}, shared: map[*Node]bool{}}
	r.collect(root)
	r.shareCycles()
	size := r.shareLargest(root)
	if size > WarnSize {
		name, part := r.largest(root)
		if size > MaxSize {
			return nil, nil, fmt.Errorf("the schema has %d bytes, more than the limit of %d; its largest subtree is %s with %d bytes: publish less of it, for example by hiding fields with (sallyport.tool.v1.field).hidden", size, MaxSize, name, part)
		}
		warnings = append(warnings, fmt.Sprintf("the schema has %d bytes, more than the %d that hosts handle well; its largest subtree is %s with %d bytes", size, WarnSize, name, part))
	}
	var out bytes.Buffer
	out.Grow(int(size))
	r.document(&out, root)
	return out.Bytes(), warnings, nil
}

// collect builds the body of every node and notes the typed ones in their order.
func (r *renderer) collect(root *Place) {
	typed := map[*Node]bool{}
	var step func(*Place)
	step = func(p *Place) {
		n := p.Node
		if p != root && n.Type != "" && !typed[n] {
			typed[n] = true
			r.order = append(r.order, n)
		}
		if r.bodies[n] != nil {
			return
		}
		b := compose(n)
		r.bodies[n] = b
		for i := range b.tail {
			f := &b.tail[i]
			if f.use == nil {
				continue
			}
			f.inline = uint64(len(remarks(f.use, false)))
			f.reference = uint64(len(referenceHead(f.use.Node)) + len(remarks(f.use, true)) + len("}"))
			step(f.use)
		}
	}
	step(root)
}

// shareCycles moves every type that can reach itself under $defs.
func (r *renderer) shareCycles() {
	for _, n := range r.order {
		seen := map[*Node]bool{}
		var reaches func(*Node) bool
		reaches = func(from *Node) bool {
			for _, f := range r.bodies[from].tail {
				if f.use == nil {
					continue
				}
				if f.use.Node == n {
					return true
				}
				if !seen[f.use.Node] {
					seen[f.use.Node] = true
					if reaches(f.use.Node) {
						return true
					}
				}
			}
			return false
		}
		if reaches(n) {
			r.shared[n] = true
		}
	}
}

// shareLargest moves types that are used more than once under $defs, largest saving first, until the document is
// within its budget or no move saves anything. It returns the document's size.
func (r *renderer) shareLargest(root *Place) uint64 {
	for {
		sizes := r.sizes()
		size := r.documentSize(root, sizes)
		if size <= inlineBudget {
			return size
		}
		uses := r.uses(root)
		var best *Node
		var most float64
		for _, n := range r.order {
			reference := uint64(len(referenceHead(n)) + len("}"))
			if r.shared[n] || uses[n] < 2 || sizes[n] <= reference {
				continue
			}
			// In floating point, since counts that are at the end of their range still have to be told apart.
			definition := float64(sizes[n]) + float64(len(quote(n.Type))+len(":,"))
			if saving := float64(uses[n])*float64(sizes[n]-reference) - definition; saving > most {
				best, most = n, saving
			}
		}
		if best == nil {
			return size
		}
		r.shared[best] = true
	}
}

// sizes computes for every node how many bytes its inlined body has without the annotations of a place.
func (r *renderer) sizes() map[*Node]uint64 {
	sizes := map[*Node]uint64{}
	var size func(*Node) uint64
	size = func(n *Node) uint64 {
		if s, ok := sizes[n]; ok {
			return s
		}
		b := r.bodies[n]
		total := uint64(len(b.head))
		for _, f := range b.tail {
			if f.use == nil {
				total = add(total, uint64(len(f.text)))
			} else if r.shared[f.use.Node] {
				total = add(total, f.reference)
			} else {
				total = add(total, add(size(f.use.Node), f.inline))
			}
		}
		sizes[n] = total
		return total
	}
	for n := range r.bodies {
		size(n)
	}
	return sizes
}

func (r *renderer) documentSize(root *Place, sizes map[*Node]uint64) uint64 {
	total := add(sizes[root.Node], uint64(len(remarks(root, false))))
	first := true
	for n := range r.shared {
		total = add(total, uint64(len(quote(n.Type))+len(":")+len(remarks(&Place{Node: n}, false))))
		total = add(total, sizes[n])
		if first {
			total = add(total, uint64(len(`,"$defs":{}`)))
			first = false
		} else {
			total = add(total, uint64(len(",")))
		}
	}
	return total
}

// uses counts how often each node is written or referred to in the whole document.
func (r *renderer) uses(root *Place) map[*Node]uint64 {
	// Post-order over what is inlined; shared nodes are written once whatever their uses.
	var order []*Node
	seen := map[*Node]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, f := range r.bodies[n].tail {
			if f.use != nil {
				visit(f.use.Node)
			}
		}
		order = append(order, n)
	}
	visit(root.Node)
	// Cycles pass through shared nodes alone, so taking each shared node's inner part once makes the order sound:
	// its multiplicity inwards is one, wherever it stands.
	uses := map[*Node]uint64{root.Node: 1}
	spread := func(n *Node, times uint64) {
		for _, f := range r.bodies[n].tail {
			if f.use != nil {
				uses[f.use.Node] = add(uses[f.use.Node], times)
			}
		}
	}
	if r.shared[root.Node] {
		spread(root.Node, 1) // written as the document itself, too
	}
	for _, n := range order {
		if r.shared[n] {
			spread(n, 1)
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		if n := order[i]; !r.shared[n] {
			spread(n, uses[n])
		}
	}
	return uses
}

// largest names the part of the document that has the most bytes: a definition or a property of the root.
func (r *renderer) largest(root *Place) (string, uint64) {
	sizes := r.sizes()
	name, most := "", uint64(0)
	consider := func(what string, size uint64) {
		if size > most {
			name, most = what, size
		}
	}
	for i := range root.Node.Properties {
		p := &root.Node.Properties[i]
		if !r.shared[p.Node] {
			consider("property "+p.Name, sizes[p.Node])
		}
	}
	for _, n := range r.order {
		if r.shared[n] {
			consider("type "+n.Type, sizes[n])
		}
	}
	return name, most
}

func (r *renderer) document(out *bytes.Buffer, root *Place) {
	r.inline(out, root)
	if len(r.shared) == 0 {
		return
	}
	out.Truncate(out.Len() - 1) // the root's closing brace
	out.WriteString(`,"$defs":{`)
	defs := make([]*Node, 0, len(r.shared))
	for n := range r.shared {
		defs = append(defs, n)
	}
	sort.Slice(defs, func(i, j int) bool { return defs[i].Type < defs[j].Type })
	for i, n := range defs {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(quote(n.Type))
		out.WriteByte(':')
		r.inline(out, &Place{Node: n})
	}
	out.WriteString("}}")
}

func (r *renderer) inline(out *bytes.Buffer, p *Place) {
	b := r.bodies[p.Node]
	out.WriteString(b.head)
	out.WriteString(remarks(p, false))
	for _, f := range b.tail {
		switch {
		case f.use == nil:
			out.WriteString(f.text)
		case r.shared[f.use.Node]:
			out.WriteString(referenceHead(f.use.Node))
			out.WriteString(remarks(f.use, true))
			out.WriteByte('}')
		default:
			r.inline(out, f.use)
		}
	}
}

func referenceHead(n *Node) string { return `{"$ref":` + quote("#/$defs/"+n.Type) }

// remarks are the keywords that speak of a place to its reader. Written inline, the type's own words complete
// the place's; beside a reference, the definition says them.
func remarks(p *Place, reference bool) string {
	var out strings.Builder
	text := p.Description
	if !reference {
		if text == "" {
			text = p.Node.Description
		}
		text = withNotes(text, p.Node.Notes)
	}
	if text = withNotes(text, p.Notes); text != "" {
		out.WriteString(`,"description":` + quote(text))
	}
	if p.Deprecated || !reference && p.Node.Deprecated {
		out.WriteString(`,"deprecated":true`)
	}
	if len(p.Examples) > 0 {
		out.WriteString(`,"examples":[` + strings.Join(p.Examples, ",") + `]`)
	}
	if p.Header != "" {
		out.WriteString(`,"x-mcp-header":` + quote(p.Header))
	}
	if !reference && p.Node.Kind == Open {
		// An open value has no type to stand before its annotations.
		return strings.TrimPrefix(out.String(), ",")
	}
	return out.String()
}

// withNotes ends a description with sentences of ours. A note may begin with a line break.
func withNotes(text string, notes []string) string {
	for _, note := range notes {
		switch {
		case text == "":
			text = strings.TrimPrefix(note, "\n")
		case strings.HasPrefix(note, "\n"):
			text += note
		case strings.Contains(text, "\n"):
			text += "\n" + note
		case strings.ContainsAny(text[len(text)-1:], ".!?:;"):
			text += " " + note
		default:
			text += ". " + note
		}
	}
	return text
}

func quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return string(b)
}

// compact checks a JSON text strictly and writes it without white space.
func compact(text string) (string, error) {
	v := jsontext.Value(text)
	if err := v.Compact(); err != nil {
		return "", err
	}
	return string(v), nil
}

func add(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
