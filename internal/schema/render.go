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
	head  string
	tail  []fragment
	close string
}

// renderer writes a node graph. Which types stand under $defs is decided before anything is written, by sizes that
// are computed and not measured: a diamond of types has few nodes and a huge inlined text.
type renderer struct {
	style  *Style
	bodies map[*Node]*body
	// shared are the nodes under $defs.
	shared map[*Node]bool
	order  []*Node // every node with a Type, in the order of first use; the root is not among them unless used again
}

func newRenderer(s *Style) *renderer {
	return &renderer{style: s, bodies: map[*Node]*body{}, shared: map[*Node]bool{}}
}

// render writes the canonical document of a graph. The error names the largest subtree of one that is too large.
func render(root *Place) (text []byte, warnings []string, err error) {
	r := newRenderer(canonical)
	size := r.layOut(root)
	if size > WarnSize {
		name, part := r.largest(root)
		if size > MaxSize {
			return nil, nil, fmt.Errorf("the schema has %d bytes, more than the limit of %d; its largest subtree is %s with %d bytes: publish less of it, for example by hiding fields with (sallyport.tool.v1.field).hidden", size, MaxSize, name, part)
		}
		warnings = append(warnings, fmt.Sprintf("the schema has %d bytes, more than the %d that hosts handle well; its largest subtree is %s with %d bytes", size, WarnSize, name, part))
	}
	return r.document(root, size), warnings, nil
}

// write writes a document whatever its size.
func (r *renderer) write(root *Place) []byte { return r.document(root, r.layOut(root)) }

// layOut decides what stands under $defs, and gives the document's size.
func (r *renderer) layOut(root *Place) uint64 {
	r.collect(root)
	if r.style.Inline {
		return r.documentSize(root, r.sizes())
	}
	r.shareCycles()
	return r.shareLargest(root)
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
		style := r.style
		if p == root {
			style = r.style.atRoot()
		}
		b := compose(n, style)
		r.bodies[n] = b
		for i := range b.tail {
			f := &b.tail[i]
			if f.use == nil {
				continue
			}
			step(f.use)
			f.inline = r.beside(f.use, false)
			f.reference = r.beside(f.use, true)
		}
	}
	step(root)
}

// beside is how many bytes a use has beside its node's body: written inline, or with a reference in its place.
func (r *renderer) beside(p *Place, reference bool) uint64 {
	var size int
	if reference {
		size = len(r.referenceHead(p.Node)) + len(remarks(p, true, r.style)) + len("}")
	} else {
		size = len(remarks(p, false, r.style))
	}
	if p.Nullable {
		if head, plain := nullableHead(p, r.bodies[p.Node].head, reference); plain {
			size += len(head) - len(r.bodies[p.Node].head)
		} else {
			size += len(eitherOpening) + len(eitherClosing)
			if !reference {
				// The node's own words stand inside, the place's outside.
				size += len(remarks(&Place{Node: p.Node}, false, r.style)) + len(remarks(p, true, r.style)) - len(remarks(p, false, r.style))
			}
		}
	}
	return uint64(size)
}

// A value or null, where `type` cannot say so.
const (
	eitherOpening = `{"anyOf":[`
	eitherClosing = `,{"type":"null"}]`
)

// nullableHead begins a node that may be null, where its type alone can say so: not for a reference, nor for a node of
// listed values or without a type.
func nullableHead(p *Place, head string, reference bool) (string, bool) {
	n := p.Node
	if !reference && n.Kind == Null {
		return head, true
	}
	if reference || n.Enum != nil || n.Kind == Open || n.Loose {
		return "", false
	}
	name := typeName(n)
	return strings.Replace(head, `"type":"`+name+`"`, `"type":["`+name+`","null"]`, 1), true
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
			reference := uint64(len(r.referenceHead(n)) + len("}"))
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
		total := uint64(len(b.head) + len(b.close))
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
	total := add(sizes[root.Node], uint64(len(remarks(root, false, r.style.atRoot()))))
	first := true
	for n := range r.shared {
		total = add(total, uint64(len(quote(n.Type))+len(":")+len(remarks(&Place{Node: n}, false, r.style))))
		total = add(total, sizes[n])
		if first {
			total = add(total, uint64(len(`,"":{}`)+len(r.style.definitions())))
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

func (r *renderer) document(root *Place, size uint64) []byte {
	out := new(bytes.Buffer)
	out.Grow(int(size))
	r.inline(out, root, r.style.atRoot())
	if len(r.shared) == 0 {
		return out.Bytes()
	}
	out.Truncate(out.Len() - 1) // the root's closing brace
	out.WriteString(`,"` + r.style.definitions() + `":{`)
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
		r.inline(out, &Place{Node: n}, r.style)
	}
	out.WriteString("}}")
	return out.Bytes()
}

// inline writes a place with its node.
func (r *renderer) inline(out *bytes.Buffer, p *Place, s *Style) {
	b := r.bodies[p.Node]
	head := b.head
	if p.Nullable {
		var plain bool
		if head, plain = nullableHead(p, b.head, false); !plain {
			r.either(out, p, func() { r.inline(out, &Place{Node: p.Node}, s) })
			return
		}
	}
	out.WriteString(head)
	text := func(text string) {
		if out.Bytes()[out.Len()-1] == '{' {
			text = strings.TrimPrefix(text, ",") // nothing stands before it
		}
		out.WriteString(text)
	}
	text(remarks(p, false, s))
	for _, f := range b.tail {
		if f.use == nil {
			text(f.text)
		} else {
			r.use(out, f.use)
		}
	}
	out.WriteString(b.close)
}

// use writes a place within a node.
func (r *renderer) use(out *bytes.Buffer, p *Place) {
	if !r.shared[p.Node] {
		r.inline(out, p, r.style)
		return
	}
	if p.Nullable {
		r.either(out, p, func() {
			out.WriteString(r.referenceHead(p.Node))
			out.WriteByte('}')
		})
		return
	}
	out.WriteString(r.referenceHead(p.Node))
	out.WriteString(remarks(p, true, r.style))
	out.WriteByte('}')
}

// either writes a value or null, with the words of the place after both.
func (r *renderer) either(out *bytes.Buffer, p *Place, value func()) {
	out.WriteString(eitherOpening)
	value()
	out.WriteString(eitherClosing)
	out.WriteString(remarks(p, true, r.style))
	out.WriteByte('}')
}

func (r *renderer) referenceHead(n *Node) string {
	return `{"` + r.style.reference() + `":` + quote("#/"+r.style.definitions()+"/"+n.Type)
}

// remarks are the keywords that speak of a place to its reader. Written inline, the type's own words complete
// the place's; beside a reference, the definition says them.
func remarks(p *Place, reference bool, s *Style) string {
	var out strings.Builder
	put := func(keyword, value string) {
		if s.Has(keyword) {
			out.WriteString(`,"` + keyword + `":` + value)
		}
	}
	text := p.Description
	if !reference {
		if p.Node.Title != "" {
			put("title", quote(p.Node.Title))
		}
		if text == "" {
			text = p.Node.Description
		}
		text = withNotes(text, p.Node.Notes)
	}
	if text = withNotes(text, p.Notes); text != "" {
		put("description", quote(text))
	}
	if p.Deprecated || !reference && p.Node.Deprecated {
		put("deprecated", "true")
	}
	if len(p.Examples) > 0 {
		put("examples", `[`+strings.Join(p.Examples, ",")+`]`)
	}
	if p.Header != "" {
		put("x-mcp-header", quote(p.Header))
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
