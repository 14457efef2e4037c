package schema

// Alone returns the document of an object that may have the one property p, which belongs to d, and no other: what a
// value of that property is judged by apart from what stands around it. It has no JSON of its own.
func (d *Document) Alone(p *Property) *Document {
	own := *p
	own.Required, own.UnsaidAbsent = false, false
	root := &Node{Kind: Object, Properties: []Property{own}}
	return &Document{root: &Place{Node: root}, message: d.message, profile: d.profile, unsaid: d.unsaid}
}
