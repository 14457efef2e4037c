package rules_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// texts are strings at or beside the forms that protovalidate knows.
var texts = []string{
	"", "a", "foo", "foobar", "é", "日本", "😀", "a b", "\t", "\x01", "\x7f", "0", "1", "true", "A", "Foo-Bar", "foo_bar", "a.b.c", ".a.b", "a..b", "baz\nfoo",
	"foo@bar.com", "foo@", "foo@bar", "a b@c.de", "foo@b_r.com", "\"a b\"@c.de", "Foo <foo@bar.com>",
	"example.com", "example.com.", "-a.com", "a-.com", "asdf.1", "xn--bcher-kva.example", strings.Repeat("a", 63) + ".de", strings.Repeat("a", 64) + ".de",
	"127.0.0.1", "256.0.0.1", "01.2.3.4", "1.2.3", "::1", "2001:db8::ff00:42:8329", "fe80::1%eth0", "::ffff:1.2.3.4", "1::2::3", "[::1]",
	"10.0.0.0/8", "10.0.0.1/8", "::/0", "2001:db8::/32", "2001:db8::1/32", "1.2.3.4/33",
	"https://example.com/a?b#c", "http://[::1]:80/", "http://[v1.x]/", "mailto:a@b.c", "urn:x:y", "foo/bar", "../x", "//host/x", "http://a b", "http://x/%zz", "http://x/%41", "https://example.com/é", "a:b:c", "#frag", "https://u:p@h:99999/",
	"8b208305-00e8-4460-a440-5e0dcd83bb0a", "8B208305-00E8-4460-A440-5E0DCD83BB0A", "8b20830500e84460a4405e0dcd83bb0a", "{8b208305-00e8-4460-a440-5e0dcd83bb0a}", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "81ARZ3NDEKTSV4RRFFQ69G5FAV",
	"example.com:80", "127.0.0.1:65536", "[::1]:443", "host:", "X-Header", ":path", "bad header", "value\x00",
	"abcde", "abcdef", "あいうえお", "aaaaaaaaaaaaaaaaaaaa",
}

// constants are the scalars that a message of rules holds, at any depth, as text, numbers and bytes.
type constants struct {
	texts    []string
	numbers  []float64
	integers []int64
	bytes    [][]byte
}

func (c *constants) collect(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		each := func(v protoreflect.Value) {
			switch x := v.Interface().(type) {
			case protoreflect.Message:
				c.collect(x)
			case string:
				c.texts = append(c.texts, x)
			case []byte:
				c.bytes = append(c.bytes, x)
			case float32:
				c.numbers = append(c.numbers, float64(x))
			case float64:
				c.numbers = append(c.numbers, x)
			case int32:
				c.integers = append(c.integers, int64(x))
			case int64:
				c.integers = append(c.integers, x)
			case uint32:
				c.integers = append(c.integers, int64(x))
			case uint64:
				c.integers = append(c.integers, int64(x))
			}
		}
		if fd.IsList() {
			for i := range v.List().Len() {
				each(v.List().Get(i))
			}
		} else if !fd.IsMap() {
			each(v)
		}
		return true
	})
}

// lengths are the sizes worth giving: small ones, and those at and beside the integers of the rules.
func (c *constants) lengths() []int {
	list := []int{0, 1, 2, 3}
	for _, n := range c.integers {
		for _, near := range []int64{n - 1, n, n + 1} {
			if 0 <= near && near <= 24 {
				list = append(list, int(near))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// candidates makes messages of which some keep the rules and some break them: the values at and beside every constant
// of the rules, and values of every form that a rule names.
type candidates struct {
	random *rand.Rand
	// payloads are what an Any may be given.
	payloads []protoreflect.MessageDescriptor
}

// messages lists candidates for a message, at most limit of them.
func (c *candidates) messages(md protoreflect.MessageDescriptor, depth, limit int) []protoreflect.Message {
	list := []protoreflect.Message{dynamicpb.NewMessage(md)}
	if special := c.special(md); special != nil {
		return append(list, special...)
	}
	values := map[protoreflect.FieldDescriptor][]protoreflect.Value{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		values[fd] = c.field(list[0], fd, depth)
		for _, v := range values[fd] {
			m := dynamicpb.NewMessage(md)
			m.Set(fd, v)
			list = append(list, m)
		}
	}
	if md.Fields().Len() > 1 {
		// All fields at once: rules that are broken elsewhere hide what each of them does.
		for range 4 * limit {
			m := dynamicpb.NewMessage(md)
			for i := range md.Fields().Len() {
				fd := md.Fields().Get(i)
				if len(values[fd]) > 0 && c.random.IntN(4) > 0 {
					m.Set(fd, values[fd][c.random.IntN(len(values[fd]))])
				}
			}
			list = append(list, m)
		}
	}
	if len(list) > limit {
		c.random.Shuffle(len(list)-1, func(i, j int) { list[i+1], list[j+1] = list[j+1], list[i+1] })
		list = list[:limit]
	}
	return list
}

func (c *candidates) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, depth int) (list []protoreflect.Value) {
	rules, _ := protovalidate.ResolveFieldRules(fd)
	var known constants
	if rules != nil {
		known.collect(rules.ProtoReflect())
	}
	known.foreign(rules)
	if fd.Message() != nil && depth == 0 {
		return nil
	}
	switch {
	case fd.IsMap():
		keys, values := c.values(m, fd.MapKey(), &known, depth), c.values(m, fd.MapValue(), &known, depth)
		if len(values) == 0 {
			return nil
		}
		entries := func(n, from int) {
			entry := m.NewField(fd)
			for i := range n {
				k, v := keys[(from+i)%len(keys)], values[(from+i)%len(values)]
				entry.Map().Set(k.MapKey(), v)
			}
			list = append(list, entry)
		}
		for i := range max(len(keys), len(values)) {
			entries(1, i)
		}
		for _, n := range known.lengths() {
			entries(n, 0)
		}
	case fd.IsList():
		items := c.values(m, fd, &known, depth)
		if len(items) == 0 {
			return nil
		}
		give := func(pick ...protoreflect.Value) {
			value := m.NewField(fd)
			for _, v := range pick {
				value.List().Append(v)
			}
			list = append(list, value)
		}
		for _, v := range items {
			give(v)
		}
		give(items[0], items[0])
		give(items[len(items)-1], items[len(items)-1])
		for _, n := range known.lengths() {
			var pick []protoreflect.Value
			for i := range n {
				pick = append(pick, items[i%len(items)])
			}
			give(pick...)
		}
	default:
		list = c.values(m, fd, &known, depth)
	}
	return list
}

// foreign adds numbers for predefined rules, whose values are not parsed here.
func (c *constants) foreign(rules *validate.FieldRules) {
	c.integers = append(c.integers, 0, 1, 2, 3, 5, 10, -1, -2, -5, -10, 100, 256, 999)
	c.numbers = append(c.numbers, 0, math.Copysign(0, -1), 0.1, 0.5, 1, 1.5, -1, -2.25, 3, 10, 1e10, math.Inf(1), math.Inf(-1), math.NaN())
}

// values lists single values of a field's kind.
func (c *candidates) values(m protoreflect.Message, fd protoreflect.FieldDescriptor, known *constants, depth int) (list []protoreflect.Value) {
	integers := func(low, high int64, value func(int64) protoreflect.Value) {
		seen := map[int64]bool{}
		for _, n := range append([]int64{low, high}, known.integers...) {
			for _, near := range []int64{n - 1, n, n + 1} {
				if low <= near && near <= high && !seen[near] {
					seen[near] = true
					list = append(list, value(near))
				}
			}
		}
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(true), protoreflect.ValueOfBool(false)}
	case protoreflect.EnumKind:
		for i := range fd.Enum().Values().Len() {
			list = append(list, protoreflect.ValueOfEnum(fd.Enum().Values().Get(i).Number()))
		}
		return append(list, protoreflect.ValueOfEnum(math.MaxInt32))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		integers(math.MinInt32, math.MaxInt32, func(v int64) protoreflect.Value { return protoreflect.ValueOfInt32(int32(v)) })
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		integers(0, math.MaxUint32, func(v int64) protoreflect.Value { return protoreflect.ValueOfUint32(uint32(v)) })
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		integers(math.MinInt64, math.MaxInt64, protoreflect.ValueOfInt64)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		integers(0, math.MaxInt64, func(v int64) protoreflect.Value { return protoreflect.ValueOfUint64(uint64(v)) })
		list = append(list, protoreflect.ValueOfUint64(math.MaxUint64))
	case protoreflect.FloatKind:
		for _, n := range known.numbers {
			v := float32(n)
			for _, near := range []float32{v, math.Nextafter32(v, -1e30), math.Nextafter32(v, 1e30), v + 1, v - 1} {
				list = append(list, protoreflect.ValueOfFloat32(near))
			}
		}
	case protoreflect.DoubleKind:
		for _, v := range known.numbers {
			for _, near := range []float64{v, math.Nextafter(v, -1e300), math.Nextafter(v, 1e300), v + 1, v - 1} {
				list = append(list, protoreflect.ValueOfFloat64(near))
			}
		}
	case protoreflect.StringKind:
		for _, s := range c.texts(known) {
			list = append(list, protoreflect.ValueOfString(s))
		}
	case protoreflect.BytesKind:
		for _, s := range append(c.texts(known), "\xff\xfe", "\x7f\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01") {
			list = append(list, protoreflect.ValueOfBytes([]byte(s)))
		}
	default:
		var inner []protoreflect.Message
		switch name := fd.Message().FullName(); {
		case schema.IsWrapper(fd.Message()):
			value := fd.Message().Fields().ByName("value")
			for _, v := range c.values(dynamicpb.NewMessage(fd.Message()), value, known, depth) {
				w := dynamicpb.NewMessage(fd.Message())
				w.Set(value, v)
				inner = append(inner, w)
			}
		case name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration":
			inner = c.times(fd.Message(), known)
		case name == "google.protobuf.FieldMask":
			inner = c.masks(fd.Message(), known)
		case name == "google.protobuf.Any":
			inner = c.anys(fd.Message(), known)
		default:
			inner = c.messages(fd.Message(), depth-1, 40)
		}
		for _, v := range inner {
			list = append(list, protoreflect.ValueOfMessage(v))
		}
	}
	return list
}

func (c *candidates) texts(known *constants) []string {
	list := slices.Clone(texts)
	for _, s := range known.texts {
		list = append(list, s, s+"x", "x"+s, "x"+s+"x", s+s)
	}
	for _, b := range known.bytes {
		s := string(b)
		list = append(list, s, s+"x", "x"+s, "x"+s+"x")
	}
	for _, n := range known.lengths() {
		list = append(list, strings.Repeat("b", n), strings.Repeat("ü", n))
	}
	return list
}

// special lists candidates for a message with a JSON form of its own where it is not ruled by its field.
func (c *candidates) special(md protoreflect.MessageDescriptor) []protoreflect.Message {
	var known constants
	switch name := md.FullName(); {
	case schema.IsWrapper(md):
		known.foreign(nil)
		value := md.Fields().ByName("value")
		var list []protoreflect.Message
		for _, v := range c.values(nil, value, &known, 1) {
			m := dynamicpb.NewMessage(md)
			m.Set(value, v)
			list = append(list, m)
		}
		return list
	case name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration":
		return c.times(md, &known)
	case name == "google.protobuf.FieldMask":
		return c.masks(md, &known)
	case name == "google.protobuf.Any":
		return c.anys(md, &known)
	case strings.HasPrefix(string(name), "google.protobuf."):
		return []protoreflect.Message{dynamicpb.NewMessage(md)}
	}
	return nil
}

func (c *candidates) times(md protoreflect.MessageDescriptor, known *constants) (list []protoreflect.Message) {
	give := func(seconds int64, nanos int32) {
		m := dynamicpb.NewMessage(md)
		m.Set(md.Fields().ByName("seconds"), protoreflect.ValueOfInt64(seconds))
		m.Set(md.Fields().ByName("nanos"), protoreflect.ValueOfInt32(nanos))
		list = append(list, m)
	}
	seconds := append([]int64{0, 1, 60, 3600, 999999999}, known.integers...)
	if md.Name() == "Timestamp" {
		now := time.Now().Unix()
		// Far enough from every bound that the suite sets by the clock for the test to be slow.
		seconds = append(seconds, now-1800, now+1800, now-30*3600, now+30*3600)
	}
	for _, s := range seconds {
		for _, near := range []int64{s - 1, s, s + 1} {
			give(near, 0)
			if near >= 0 {
				give(near, 1)
				give(near, 999999999)
			} else if md.Name() == "Duration" {
				give(near, -1)
			}
		}
	}
	return list
}

func (c *candidates) masks(md protoreflect.MessageDescriptor, known *constants) (list []protoreflect.Message) {
	paths := []string{"a", "b", "a.b", "a_b", "foo"}
	for _, s := range known.texts {
		paths = append(paths, s, s+".x", s+"x")
	}
	for i := range paths {
		for n := range 3 {
			m := dynamicpb.NewMessage(md)
			to := m.Mutable(md.Fields().ByName("paths")).List()
			for j := range n {
				to.Append(protoreflect.ValueOfString(paths[(i+j)%len(paths)]))
			}
			list = append(list, m)
		}
	}
	return list
}

func (c *candidates) anys(md protoreflect.MessageDescriptor, known *constants) (list []protoreflect.Message) {
	give := func(url string, value []byte) {
		m := dynamicpb.NewMessage(md)
		m.Set(md.Fields().ByName("type_url"), protoreflect.ValueOfString(url))
		m.Set(md.Fields().ByName("value"), protoreflect.ValueOfBytes(value))
		list = append(list, m)
	}
	for _, url := range known.texts {
		give(url, nil)
	}
	give("", nil)
	for _, payload := range c.payloads {
		if schema.HasOwnForm(payload) {
			continue
		}
		for _, m := range c.messages(payload, 0, 3) {
			if wire, err := (proto.MarshalOptions{AllowPartial: true}).Marshal(m.Interface()); err == nil {
				give(fmt.Sprint(schema.TypeURLPrefix, payload.FullName()), wire)
			}
		}
	}
	return list
}
