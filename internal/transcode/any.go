package transcode

import (
	"bytes"
	"errors"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// appendAny writes a google.protobuf.Any: the message that it carries, beside or under its type's URL.
func (t *table) appendAny(s *scratch, dst []byte, slots []slot, depth int) ([]byte, error) {
	url, value := s.bytes(slots[0].v), slots[1].v
	if len(url) == 0 {
		if startOf(value) != endOf(value) {
			return dst, errors.New("a google.protobuf.Any carries a message but does not name its type")
		}
		return append(dst, `{}`...), nil
	}
	m := t.types.carried()[string(url[bytes.LastIndexByte(url, '/')+1:])]
	if m == nil {
		return dst, errors.New("a google.protobuf.Any carries a type that is not in the contract")
	}
	inner, err := m.compiled()
	if err != nil {
		return dst, err
	}
	dst, err = s.appendString(append(dst, `{"@type":`...), slots[0].v)
	if err != nil {
		return dst, t.fields[0].fail(err)
	}
	if inner.form != formFields {
		dst, err = m.append(s, append(dst, `,"`+schema.WrappedName+`":`...), value, alone, depth)
		return append(dst, '}'), err
	}
	// Its fields stand beside the type. Empty is written so as well: a message without fields.
	if depth--; depth < 0 {
		return dst, errDepth
	}
	// Whoever indexed the Any gives back what is taken here.
	members, err := s.indexAll(inner, value, alone, depth)
	if err != nil {
		return dst, err
	}
	dst, err = inner.appendFields(s, dst, members, depth)
	return append(dst, '}'), err
}
