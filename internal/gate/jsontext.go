package gate

import (
	"bytes"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/strict"
)

// jsonText is a message of any JSON, spelled as a string that holds its text.
type jsonText struct {
	node   *schema.Node
	inner  body
	limits strict.Limits
}

func (t *jsonText) body(j *judge) {
	if j.kind() != '"' {
		j.mismatch(t.node)
		return
	}
	s, _ := j.str()
	text := bytes.Clone(s) // the strings within are read through the same memory
	// What is deep within the arguments goes on from there: canonically it would be as deep, or less.
	limits := t.limits
	limits.Depth -= max(0, len(j.path)-1)
	if limits.Document(text) != nil {
		j.problem(0, "must be the text of one strict JSON document")
		return
	}
	outside := j.cursor
	j.cursor, j.inText = cursor{text: text, unquoted: outside.unquoted}, true
	t.inner.body(j)
	outside.unquoted = j.unquoted
	j.cursor, j.inText = outside, false
}
