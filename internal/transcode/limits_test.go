package transcode_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// enclose puts n heads before a wire, the inmost first: head is given the length of what it encloses.
func enclose(n int, wire []byte, head func(size int) []byte) []byte {
	var heads [][]byte
	size := len(wire)
	for range n {
		heads = append(heads, head(size))
		size += len(heads[len(heads)-1])
	}
	slices.Reverse(heads)
	return join(join(heads...), wire)
}

func lengthHead(number protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(size))
}

// wrap nests a wire n times as the bytes of a field.
func wrap(number protowire.Number, n int, wire []byte) []byte {
	return enclose(n, wire, func(size int) []byte { return lengthHead(number, size) })
}

// wrapEntries nests entries of a map of messages.
func wrapEntries(n int) []byte {
	return enclose(n, nil, func(size int) []byte {
		value := lengthHead(2, size)
		return append(lengthHead(15, size+len(value)), value...)
	})
}

// wrapAny nests an empty Any in n others, in a field.
func wrapAny(n int) []byte {
	url := text(1, "google.protobuf.Any")
	return nested(7, enclose(n, nil, func(size int) []byte { return append(bytes.Clone(url), lengthHead(2, size)...) }))
}

// wrapGroup nests a wire n times as group number.
func wrapGroup(number protowire.Number, n int, wire []byte) []byte {
	start := protowire.AppendTag(nil, number, protowire.StartGroupType)
	end := protowire.AppendTag(nil, number, protowire.EndGroupType)
	return join(bytes.Repeat(start, n), wire, bytes.Repeat(end, n))
}

// TestResults_depth holds the limits of nesting: 10,000 messages deep, a map counting as one and an Any as one.
func TestResults_depth(t *testing.T) {
	mds := messages(t)
	for _, row := range []struct {
		name, message string
		wire          []byte
		accepted      bool
	}{
		{"messages", "proto3", wrap(17, 9999, nil), true},
		{"one message more", "proto3", wrap(17, 10000, nil), false},
		{"a hundred thousand messages", "proto3", wrap(17, 100000, nil), false},
		{"lists of messages", "proto3", wrap(31, 9999, nil), true},
		{"one message more in lists", "proto3", wrap(31, 10000, nil), false},
		{"messages in what is not written", "proto3", join(nested(47, wrap(17, 9998, nil)), varint(48, 1)), true},
		{"one message more in what is not written", "proto3", join(nested(47, wrap(17, 9999, nil)), varint(48, 1)), false},
		{"maps of messages", "maps", wrapEntries(4999), true},
		{"one map more", "maps", wrapEntries(5000), false},
		{"groups without end", "proto2", bytes.Repeat(protowire.AppendTag(nil, 5, protowire.StartGroupType), 100000), false},
		{"delimited messages", "editions", wrapGroup(4, 3000, nil), true},
		{"too many of them", "editions", wrapGroup(4, 20000, nil), false},
		{"unknown groups", "proto3", wrapGroup(700, 9999, nil), true},
		{"Anys", "well-known types", wrapAny(9998), true},
		{"one Any more, which protobuf-go would follow", "well-known types", wrapAny(9999), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := compileResults(t, mds[row.message], "compact").AppendJSON(nil, row.wire)
			if (err == nil) != row.accepted {
				t.Errorf("error %v, %d bytes of JSON", err, len(got))
			}
			if row.accepted && (bytes.Count(got, []byte("{")) != bytes.Count(got, []byte("}")) || len(got) < 2) {
				t.Errorf("%d bytes of JSON", len(got))
			}
		})
	}
}

// TestResults_groupEffort demands that a response of groups within groups, each of which is long, is refused before its
// ends have been looked for thousands of times.
func TestResults_groupEffort(t *testing.T) {
	r := compileResults(t, schematest.Message(t, editionsText), "compact")
	bulk := bytes.Repeat(varint(19, 1), 1<<16)
	if _, err := r.AppendJSON(nil, wrapGroup(4, 10, bulk)); err != nil {
		t.Error(err)
	}
	if _, err := r.AppendJSON(nil, wrapGroup(4, 5000, bulk)); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("got %v", err)
	}
}

// TestResults_growth demands that a response whose JSON is out of proportion is refused before it is written.
func TestResults_growth(t *testing.T) {
	long := strings.Repeat("X", 1000)
	md := schematest.Message(t, `message M { repeated E packed = 1; repeated M empty = 2; map<string, M> entries = 3; string text = 4; `+
		`int32 `+long+` = 5; } enum E { `+long+` = 0; }`)
	r := compileResults(t, md, "protojson")
	for _, row := range []struct {
		name     string
		wire     []byte
		accepted bool
	}{
		{"some names", text(1, strings.Repeat("\x00", 14000)), true},
		{"many names", text(1, strings.Repeat("\x00", 20000)), false},
		{"many names, each in its record", bytes.Repeat(varint(1, 0), 20000), false},
		{"some empty messages", bytes.Repeat(nested(2), 12000), true},
		{"many empty messages", bytes.Repeat(nested(2), 20000), false},
		{"a long text of control characters", text(4, strings.Repeat("\x00", 2<<20)), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := r.AppendJSON(nil, row.wire)
			if (err == nil) != row.accepted || err != nil && !strings.Contains(err.Error(), "out of proportion") {
				t.Errorf("error %v, %d bytes of JSON", err, len(got))
			}
		})
	}
}

// TestResults_concurrentFirstUse has many calls meet tables that are not compiled yet.
func TestResults_concurrentFirstUse(t *testing.T) {
	md := schematest.Message(t, wellKnownText)
	wire := join(nested(7, text(1, "x/t.v1.M"), nested(2, nested(4, nested(1, text(1, "k"), nested(2, varint(4, 1)))))), nested(40, nested(1, varint(1, 1))))
	want, err := compileResults(t, md, "compact").AppendJSON(nil, wire)
	if err != nil {
		t.Fatal(err)
	}
	r := compileResults(t, md, "compact")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got, err := r.AppendJSON(nil, wire); err != nil || !bytes.Equal(got, want) {
					t.Errorf("got %s, %v, want %s", got, err, want)
				}
			}
		})
	}
	group.Wait()
}

// TestResults_allocate demands that a warm buffer is all that a response needs, whatever it holds.
func TestResults_allocate(t *testing.T) {
	if raceEnabled {
		t.Skip("SKIP: the race detector lets pools forget")
	}
	wires := map[string][]byte{
		"proto3": join(text(1, "a \"b\""), nested(17, nested(31, text(1, "x")), nested(31)), nested(17, varint(6, 1)), text(25, "\x01\x02"), varint(25, 3), text(60, "hidden"),
			text(46, "a"), nested(47, text(1, "x")), fixed64(4, 1), nested(2000, varint(2, 5))),
		"maps": join(nested(1, text(1, "b")), nested(1, text(1, "a")), nested(2, varint(1, 5)), nested(15, text(1, "k"), nested(2, nested(1))), nested(2, varint(1, 4)), nested(2, varint(1, 3))),
		"well-known types": join(nested(1, varint(1, 1)), nested(2, varint(1, 1)), nested(4, nested(1, text(1, "k"), nested(2, nested(6, nested(1, varint(4, 1)))))),
			nested(7, text(1, "x/t.v1.M"), nested(2, nested(6, text(3, "x")))), nested(12, varint(1, 5)), nested(3, text(1, "a_b"), text(1, "c"))),
		"proto2":   join(group(5, text(1, "a"), group(2, varint(1, 5))), group(8)),
		"editions": join(group(4, group(5, varint(2, 1))), text(7, "a")),
	}
	for name, md := range messages(t) {
		t.Run(name, func(t *testing.T) {
			r := compileResults(t, md, "protojson")
			dst, _, err := r.AppendResult(nil, wires[name])
			if err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { dst, _, err = r.AppendResult(dst[:0], wires[name]) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
