package transcodetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// reshaper walks JSON by the descriptors of what it spells, and turns the published spelling into ProtoJSON's (input)
// or ProtoJSON's into the published one (output). Its output is compact and has one form: what protojson varies
// between builds is gone.
type reshaper struct {
	input   bool
	profile schema.Profile
	types   *contractTypes
	names   sync.Map // protoreflect.FullName -> map[string]renamed
}

// renamed is a field under the name it arrives with; without a descriptor it is to be dropped.
type renamed struct {
	name  string
	field protoreflect.FieldDescriptor
}

// request turns arguments into the ProtoJSON text of md; nil where a bare request carries no value.
func (r *reshaper) request(arguments []byte, md protoreflect.MessageDescriptor) ([]byte, error) {
	if !schema.IsBare(md) {
		return r.document(arguments, func(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
			return r.message(dec, enc, md)
		})
	}
	members, err := split(arguments)
	if err != nil {
		return nil, err
	}
	var value jsontext.Value
	for _, m := range members {
		if m.name != schema.WrappedName {
			return nil, errors.New("undeclared property")
		}
		value = m.value
	}
	if value == nil {
		return nil, nil
	}
	return r.document(value, func(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
		return r.message(dec, enc, md)
	})
}

// response turns the ProtoJSON text of md into the published one, at the root without the content field.
func (r *reshaper) response(text []byte, md protoreflect.MessageDescriptor, content protoreflect.FieldDescriptor) ([]byte, error) {
	return r.document(text, func(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
		if content == nil {
			return r.message(dec, enc, md)
		}
		return r.object(dec, enc, func(name string) (renamed, bool) {
			to, ok := r.fields(md)[name]
			if to.field == content {
				to.field = nil
			}
			return to, ok
		})
	})
}

func (r *reshaper) document(text []byte, walk func(*jsontext.Decoder, *jsontext.Encoder) error) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	if err := walk(dec, enc); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// fields maps the names that a message's members arrive with.
func (r *reshaper) fields(md protoreflect.MessageDescriptor) map[string]renamed {
	if known, ok := r.names.Load(md.FullName()); ok {
		return known.(map[string]renamed)
	}
	names := map[string]renamed{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		published := schema.PropertyName(fd, r.profile)
		switch visible := schema.Visible(fd, r.input); {
		case r.input && visible:
			names[published] = renamed{fd.JSONName(), fd}
		case r.input:
		case visible:
			names[fd.JSONName()] = renamed{published, fd}
		default:
			names[fd.JSONName()] = renamed{}
		}
	}
	r.names.Store(md.FullName(), names)
	return names
}

// message reshapes one message, in whatever form ProtoJSON gives it.
func (r *reshaper) message(dec *jsontext.Decoder, enc *jsontext.Encoder, md protoreflect.MessageDescriptor) error {
	switch {
	case schema.IsWrapper(md):
		return r.scalar(dec, enc, md.Fields().ByNumber(1))
	case md.FullName() == "google.protobuf.Any":
		return r.anyMessage(dec, enc)
	case schema.HasOwnForm(md):
		return raw(dec, enc)
	}
	return r.object(dec, enc, func(name string) (renamed, bool) {
		to, ok := r.fields(md)[name]
		return to, ok
	})
}

// object reshapes the members of a message.
func (r *reshaper) object(dec *jsontext.Decoder, enc *jsontext.Encoder, lookUp func(string) (renamed, bool)) error {
	return object(dec, enc, func(name string) error {
		to, ok := lookUp(name)
		switch {
		case !ok:
			return errors.New("undeclared property")
		case to.field == nil:
			return dec.SkipValue()
		}
		if err := enc.WriteToken(jsontext.String(to.name)); err != nil {
			return err
		}
		return r.field(dec, enc, to.field)
	})
}

func (r *reshaper) field(dec *jsontext.Decoder, enc *jsontext.Encoder, fd protoreflect.FieldDescriptor) error {
	switch {
	case fd.IsMap():
		return object(dec, enc, func(key string) error {
			if err := enc.WriteToken(jsontext.String(key)); err != nil {
				return err
			}
			return r.value(dec, enc, fd.MapValue())
		})
	case fd.IsList():
		if err := bracket(dec, enc, '['); err != nil {
			return err
		}
		for dec.PeekKind() != ']' {
			if err := r.value(dec, enc, fd); err != nil {
				return err
			}
		}
		return bracket(dec, enc, ']')
	}
	return r.value(dec, enc, fd)
}

func (r *reshaper) value(dec *jsontext.Decoder, enc *jsontext.Encoder, fd protoreflect.FieldDescriptor) error {
	if fd.Message() != nil {
		return r.message(dec, enc, fd.Message())
	}
	return r.scalar(dec, enc, fd)
}

// scalar reshapes one scalar: integers become plain ones, and in the numeric profile 64-bit ones become numbers.
func (r *reshaper) scalar(dec *jsontext.Decoder, enc *jsontext.Encoder, fd protoreflect.FieldDescriptor) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch fd.Kind() {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if !r.input && r.profile.NumericInt64 && text.Kind() == '"' {
			return enc.WriteValue(text[1 : len(text)-1])
		}
		return integer(enc, text)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return integer(enc, text)
	}
	return enc.WriteValue(text)
}

// integer writes an integer's digits, however its number was spelled: 1.0 and 1e2 are integers.
func integer(enc *jsontext.Encoder, text jsontext.Value) error {
	if text.Kind() != '0' {
		return enc.WriteValue(text)
	}
	d, ok := schema.ParseDecimal(string(text))
	if !ok {
		return errors.New("not a number")
	}
	v, ok := d.Int()
	if !ok {
		return errors.New("not an integer")
	}
	return enc.WriteValue(jsontext.Value(v.String()))
}

// anyMessage reshapes a google.protobuf.Any by the type that it names, which is written first.
func (r *reshaper) anyMessage(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	members, err := split(text)
	if err != nil {
		return err
	}
	if len(members) == 0 {
		return enc.WriteValue(jsontext.Value(`{}`)) // an Any that holds nothing
	}
	const key = "@type"
	var url string
	for _, m := range members {
		if m.name == key {
			if url, err = unquote(m.value); err != nil {
				return err
			}
		}
	}
	mt, err := r.types.FindMessageByURL(url)
	if err != nil {
		return fmt.Errorf("the contract has no type of that name for an Any: %w", err)
	}
	md := mt.Descriptor()
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	if err := enc.WriteToken(jsontext.String(key)); err != nil {
		return err
	}
	if err := enc.WriteToken(jsontext.String(url)); err != nil {
		return err
	}
	for _, m := range members {
		if m.name == key {
			continue
		}
		inner := jsontext.NewDecoder(bytes.NewReader(m.value))
		if schema.HasOwnForm(md) {
			if m.name != schema.WrappedName {
				return errors.New("undeclared property")
			}
			if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
				return err
			}
			if err := r.message(inner, enc, md); err != nil {
				return err
			}
			continue
		}
		to, ok := r.fields(md)[m.name]
		if !ok {
			return errors.New("undeclared property")
		}
		if to.field == nil {
			continue
		}
		if err := enc.WriteToken(jsontext.String(to.name)); err != nil {
			return err
		}
		if err := r.field(inner, enc, to.field); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
