package mcp

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// headerPrefix begins the name of a header that repeats an argument.
const headerPrefix = "Mcp-Param-"

// What encloses a value of Mcp-Name or Mcp-Param-* that a header could not carry as it is.
const (
	encodedOpening = "=?base64?"
	encodedClosing = "?="
)

// headerText is the text that a header's values stand for: the one value as it is, or decoded where it is encoded
// (mcp-protocol.md 1.3). Several values, base64 that is not strict, text that is not UTF-8, and characters that had to
// be encoded are malformed. Something with one of the two marks only is literal.
func headerText(values []string) (text []byte, ok bool) {
	if len(values) != 1 {
		return nil, false
	}
	value := values[0]
	if len(value) >= len(encodedOpening)+len(encodedClosing) &&
		strings.HasPrefix(value, encodedOpening) && strings.HasSuffix(value, encodedClosing) {
		encoded := value[len(encodedOpening) : len(value)-len(encodedClosing)]
		text, err := base64.StdEncoding.Strict().DecodeString(encoded)
		// The decoder passes over line breaks.
		return text, err == nil && utf8.Valid(text) && !strings.ContainsAny(encoded, "\r\n")
	}
	for i := range len(value) {
		if c := value[i]; (c < ' ' && c != '\t') || c > '~' {
			return nil, false
		}
	}
	return []byte(value), true
}

// checkHeaders holds the headers that repeat arguments against the arguments (mcp-protocol.md 2.6). Headers that the
// tool does not declare are nobody's business.
func (x *exchange) checkHeaders(headers []schema.Header, asked bool) *answer {
	for i := range headers {
		h := &headers[i]
		name := http.CanonicalHeaderKey(headerPrefix + h.Name)
		values := x.r.Header[name]
		if !asked && len(values) == 0 {
			continue
		}
		value := find(x.message.params.arguments, h.Path)
		switch value.Kind() {
		case 0, 'n', '{', '[':
			// Without a value that a header can repeat there must be no header. What the value should be is the gate's to
			// say.
			if len(values) == 0 {
				continue
			}
		default:
			if text, ok := headerText(values); ok && spells(text, h.Kind, value) {
				continue
			}
		}
		return x.badEnvelope(&problem{code: codeHeaderMismatch, message: "The header " + name + " must stand once and repeat " +
			"the argument " + strings.Join(h.Path, ".") + ", as it is or as =?base64?...?= of its UTF-8, and be left out " +
			"where the argument is left out."}, lifecycle.Envelope)
	}
	return nil
}

// spells says whether the text of a header spells a scalar at a property of a kind. A scalar of another kind is refused
// by the gate later, and repeated by what JSON writes for it.
func spells(text []byte, kind schema.Kind, value jsontext.Value) bool {
	switch {
	case value.Kind() == '"':
		return bytes.Equal(text, unquote(value))
	case value.Kind() == '0' && kind == schema.Integer:
		said, ok := schema.ParseDecimal(string(text))
		got, _ := schema.ParseDecimal(string(value))
		return ok && said.Cmp(got) == 0
	default:
		return bytes.Equal(text, value)
	}
}

// find gives the value at a path of member names below an object, as it stands in the document; nil where there is
// none. The strict decoder has accepted the document.
func find(document jsontext.Value, path []string) jsontext.Value {
	value := document
	for _, name := range path {
		if value.Kind() != '{' {
			return nil
		}
		if value = memberOf(value, name); value == nil {
			return nil
		}
	}
	return value
}

func memberOf(object jsontext.Value, name string) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		member, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if string(unquote(member)) == name {
			value, err := d.ReadValue()
			if err != nil {
				return nil
			}
			end := d.InputOffset()
			return object[end-int64(len(value)) : end]
		}
		if err := d.SkipValue(); err != nil {
			return nil
		}
	}
	return nil
}
