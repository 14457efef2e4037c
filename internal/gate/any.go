package gate

import (
	"sync"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// anyMessage is google.protobuf.Any: an object that names its type, and is judged by that.
type anyMessage struct {
	node  *schema.Node
	types map[string]*anyType
}

// anyType is one type that an Any may carry. It is compiled when a call first names it: most of what a contract could
// carry is never sent.
type anyType struct {
	url      string
	compiled func() *object
}

// The name that an Any gives its type under, and its fields.
const typeName = "@type"

var (
	typeURLTag  = rawTag(1, bytesType)
	anyValueTag = rawTag(2, bytesType)
)

func (a *anyMessage) body(j *judge) {
	if j.kind() != '{' {
		j.mismatch(a.node)
		return
	}
	t, problem := a.named(j)
	if problem != "" {
		j.push(typeStep, 0)
		j.problem(0, problem)
		j.pop()
		j.skip()
		return
	}
	j.tag(typeURLTag)
	j.contents(t.url)
	before := len(j.bytes)
	j.tag(anyValueTag)
	m := j.open()
	t.compiled().members(j, typeName)
	if j.close(m); len(j.bytes) == m.at+1 {
		j.bytes = j.bytes[:before] // nothing is inside
	}
}

// named looks for the type's name, which may stand anywhere in the object, and leaves the cursor where it was. This is
// the one thing that is read twice, and only up to the name.
func (a *anyMessage) named(j *judge) (*anyType, string) {
	begin := j.at
	defer func() {
		if !j.broken {
			j.at = begin
		}
	}()
	for more := j.enter('}'); more; more = j.next('}') {
		if string(j.name()) != typeName {
			j.skip()
			continue
		}
		if j.kind() == '"' {
			url, _ := j.str()
			if t := a.types[string(url)]; t != nil {
				return t, ""
			}
		}
		if len(a.node.Types) == 0 {
			return nil, "no type is accepted here"
		}
		urls := make([]string, len(a.node.Types))
		for i, t := range a.node.Types {
			urls[i] = t.URL
		}
		return nil, "must be one of: " + names(urls)
	}
	return nil, "is required"
}

// anyMessage compiles the node of an Any.
func (c *compiler) anyMessage(n *schema.Node) *anyMessage {
	a := &anyMessage{node: n, types: make(map[string]*anyType, len(n.Types))}
	for _, t := range n.Types {
		a.types[t.URL] = &anyType{url: t.URL, compiled: sync.OnceValue(func() *object { return c.late(t) })}
	}
	return a
}

// late compiles a type after the gate was made. What cannot be compiled is a defect of the document, which has to show.
func (c *compiler) late(t schema.AnyType) *object {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.object(t.Node, t.Message)
	if err != nil {
		panic(err)
	}
	c.publish()
	return o
}
