package transcode_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestResults_wire holds what protobuf says of wires that no serializer writes, under the compact profile. The numbers
// are those of protos_test.go. The oracle must agree with every row.
func TestResults_wire(t *testing.T) {
	const max = math.MaxUint64
	mds := messages(t)
	for _, row := range []struct {
		name, message string
		wire          []byte
		want          string
	}{
		{"of a scalar the last holds", "proto3", join(text(1, "a"), varint(6, 1), text(1, "b"), varint(6, 2)), `{"str":"b","i32":2}`},
		{"of a scalar without presence the last holds, even zero", "proto3", join(text(1, "a"), varint(6, 1), text(1, ""), varint(6, 0)), `{}`},
		{"with presence, zero is written", "proto3", join(text(40, ""), varint(41, 0), fixed64(42, 0), varint(43, 0), text(44, ""), varint(45, 0)),
			`{"oStr":"","oI64":"0","oNum":0,"oState":"E_UNSPECIFIED","oRaw":"","oFlag":false}`},
		{"negative zero is no zero", "proto3", join(fixed64(4, 1<<63), fixed32(5, 1<<31)), `{"num":-0,"small":-0}`},
		{"pieces of a message are one", "proto3", join(nested(17, text(1, "a"), varint(6, 1)), varint(2, 1), nested(17, varint(6, 2), text(20, "x")), nested(17, text(20, "y"))),
			`{"flag":true,"child":{"str":"a","i32":2,"strs":["x","y"]}}`},
		{"pieces within pieces", "proto3", join(nested(17, nested(17, text(20, "a"))), nested(17), nested(17, nested(17, text(20, "b")), nested(17, text(20, "c")))),
			`{"child":{"child":{"strs":["a","b","c"]}}}`},
		{"an empty message is present", "proto3", nested(17), `{"child":{}}`},
		{"fields in any order", "proto3", join(text(20, "x"), varint(6, 1), text(1, "a")), `{"str":"a","i32":1,"strs":["x"]}`},
		{"a list in pieces", "proto3", join(text(20, "a"), text(1, "x"), text(20, "b"), text(20, "c"), varint(6, 1), text(20, "d")), `{"str":"x","i32":1,"strs":["a","b","c","d"]}`},
		{"a list packed and not", "proto3", join(varint(25, 1), text(25, "\x02\x03"), varint(25, 4), text(25, "")), `{"i32s":[1,2,3,4]}`},
		{"a list declared unpacked, packed", "proto3", text(32, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), `{"expanded":["1","-1"]}`},
		{"a list of nothing, packed", "proto3", join(text(25, ""), text(23, "")), `{}`},
		{"fixed numbers packed", "proto3", join(text(28, "\x01\x00\x00\x00\xff\xff\xff\xff"), text(29, "\xff\xff\xff\xff\xff\xff\xff\xff")), `{"f32s":[1,4294967295],"sf64s":["-1"]}`},
		{"another wire type makes a field unknown", "proto3", join(fixed32(1, 1), varint(4, 1), text(6, "\x01"), fixed64(17, 1), group(17), varint(20, 1), fixed32(25, 1), varint(23, 1)), `{}`},
		{"the fields nobody knows", "proto3", join(varint(700, 1), text(701, "\xff"), fixed32(702, 1), fixed64(703, 1), group(704, varint(1, 1), group(705, text(1, "x"))), text(1, "a")), `{"str":"a"}`},
		{"numbers are cut to their width", "proto3", join(varint(6, 1<<32|5), varint(7, 1<<32|3), varint(8, 1<<32|5), varint(16, 1<<32|1), varint(2, 1<<32)), `{"flag":true,"i32":5,"s32":-2,"u32":5,"state":"OPEN"}`},
		{"numbers cut to zero are zero", "proto3", join(varint(6, 1<<32), varint(7, 1<<32), varint(8, 1<<32), varint(16, 1<<32)), `{}`},
		{"negative numbers", "proto3", join(varint(6, max), varint(7, 1), varint(11, max), varint(12, 3), fixed32(10, math.MaxUint32), fixed64(15, max), varint(8, max), varint(13, max)),
			`{"i32":-1,"s32":-1,"u32":4294967295,"sf32":-1,"i64":"-1","s64":"-2","u64":"18446744073709551615","sf64":"-1"}`},
		{"longer varints than needed", "proto3", join([]byte("\xb0\x80\x00\x81\x80\x80\x80\x00"), []byte("\x0a\x81\x80\x00a")), `{"str":"a","i32":1}`},
		{"of a oneof the last member holds", "proto3", join(text(46, "a"), varint(48, 1), text(46, "b")), `{"a":"b"}`},
		{"a oneof's message starts anew after another member", "proto3", join(nested(47, text(1, "a")), nested(47, varint(6, 1)), varint(48, 1), nested(47, text(20, "x"))), `{"b":{"strs":["x"]}}`},
		{"a oneof's message in pieces", "proto3", join(nested(47, text(1, "a")), nested(47, varint(6, 1))), `{"b":{"str":"a","i32":1}}`},
		{"a oneof's member under another wire type is no member", "proto3", join(text(46, "a"), text(48, "")), `{"a":"a"}`},
		{"a oneof's zero", "proto3", join(text(46, "a"), varint(48, 0)), `{"c":"0"}`},
		{"a oneof's null", "proto3", varint(49, 7), `{"d":null}`},
		{"the first name of an enum's number", "proto3", join(varint(16, 1), text(30, "\x00\x01\x02\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x80\x40")), `{"state":"OPEN","states":["E_UNSPECIFIED","OPEN","SHUT",3,"LAST","FAR"]}`},
		{"nulls", "proto3", text(33, "\x00\x05"), `{"nulls":[null,null]}`},
		{"names", "proto3", join(text(64, "a"), text(65, "b"), text(536870911, "c"), nested(2000, text(3, "d"))), `{"e":{"the.name":"d"},"called-this":"a","out":"b","json.Name":"c"}`},
		{"what is in no result", "proto3", join(text(60, "a"), nested(61, text(1, "x")), nested(62, varint(1, 0)), nested(63, text(1, "k")), nested(2000, text(4, "d"))), `{"e":{}}`},

		{"maps are sorted", "maps", join(nested(1, text(1, "b")), nested(1, text(1, "a")), nested(1, text(1, "")), nested(1, text(1, "é")), nested(1, text(1, "aa"))), `{"s":{"":"","a":"","aa":"","b":"","é":""}}`},
		{"numbers by size", "maps", join(nested(2, varint(1, 10)), nested(2, varint(1, max)), nested(2, varint(1, 9)), nested(8, varint(1, 3)), nested(8, varint(1, 1)), nested(8, varint(1, 2)), nested(9, varint(1, max)), nested(9, varint(1, 1))),
			`{"i32":{"-1":"","9":"","10":""},"s64":{"-2":"E_UNSPECIFIED","-1":"E_UNSPECIFIED","1":"E_UNSPECIFIED"},"u64":{"1":"1970-01-01T00:00:00Z","18446744073709551615":"1970-01-01T00:00:00Z"}}`},
		{"false before true", "maps", join(nested(12, varint(1, 2)), nested(12)), `{"flag":{"false":{},"true":{}}}`},
		{"of a key the last entry holds", "maps", join(nested(1, text(1, "k"), text(2, "a")), nested(2, varint(1, 5)), nested(1, text(1, "k"), text(2, "b"))), `{"s":{"k":"b"},"i32":{"5":""}}`},
		{"entries of a key do not merge", "maps", join(nested(15, text(1, "k"), nested(2, nested(1))), nested(15, text(1, "k"), nested(2, nested(2)))), `{"deep":{"k":{"i32":{"0":""}}}}`},
		{"pieces of an entry's message do", "maps", nested(15, nested(2, nested(1)), text(1, "k"), nested(2, nested(2))), `{"deep":{"k":{"s":{"":""},"i32":{"0":""}}}}`},
		{"key and value twice in an entry", "maps", nested(1, text(1, "a"), text(2, "x"), text(1, "b"), text(2, "y")), `{"s":{"b":"y"}}`},
		{"an entry without key, value, or both", "maps", join(nested(1), nested(3, varint(1, 1)), nested(4, varint(2, 1)), nested(17), nested(18, text(1, "k"))), `{"s":{"":""},"s32":{"-1":"0"},"u32":{"0":true},"boxed":{"":"0"},"empty":{"k":{}}}`},
		{"unknown fields in an entry", "maps", nested(1, text(3, "x"), varint(2, 1), text(1, "k"), group(4)), `{"s":{"k":""}}`},
		{"a map under another wire type is unknown", "maps", join(varint(1, 1), group(1)), `{}`},
		{"an entry's Any that holds nothing", "maps", nested(13, text(1, "k")), `{"any":{"k":{}}}`},
		{"an entry's null", "maps", nested(14, text(1, "k"), varint(2, 3)), `{"null":{"k":null}}`},

		{"groups", "proto2", join(group(5, text(1, "a"), group(2, varint(1, 5)), group(2)), group(8, text(9, "a")), group(5, text(1, "b"))), `{"part":{"text":"b","sub":[{"n":"5"},{}]},"parts":[{"raw":"YQ=="}]}`},
		{"groups within groups of one number", "proto2", group(5, nested(3, group(5, text(1, "x")))), `{"part":{"back":{"part":{"text":"x"}}}}`},
		{"an end tag longer than needed", "proto2", []byte("\x2b\x0a\x01a\xac\x80\x00"), `{"part":{"text":"a"}}`},
		{"a group with its length is unknown", "proto2", nested(5, text(1, "a")), `{}`},
		{"a required field may be missing", "proto2", text(1, "a"), `{"lax":"a"}`},
		{"defaults are not written", "proto2", nil, `{}`},
		{"a closed enum's unknown number", "proto2", join(varint(3, 2), text(16, "\x00\x02\x03"), nested(14, text(1, "k"), varint(2, 2))), `{"state":2,"byState":{"k":2},"states":["SHUT",2,"OPEN"]}`},
		{"extensions are left out", "proto2", join(text(100, "\xff"), nested(101)), `{}`},
		{"a hidden field may hold anything", "proto2", text(18, "a"), `{}`},
		{"a string that was replaced may be anything in proto2", "proto2", join(text(1, "\xff"), text(1, "a")), `{"lax":"a"}`},

		{"delimited messages", "editions", join(group(4, text(1, "a")), group(5, varint(2, 1)), nested(6, varint(2, 2)), group(5), group(4, text(2, "b"))), `{"child":{"present":"a","implicit":"b"},"items":[{"n":"1"},{}],"plain":{"n":"2"}}`},
		{"delimited ones with a length are unknown", "editions", join(nested(4), nested(5), group(6)), `{}`},
		{"presence and its lack", "editions", join(text(1, ""), text(2, ""), text(3, ""), varint(13, 0), varint(14, 0), fixed64(20, 0), text(21, "")), `{"present":"","must":"","open":"UNSPECIFIED"}`},
		{"a string that was replaced, unverified", "editions", join(text(7, "\xff"), text(7, "a"), text(18, "\xff"), varint(19, 1)), `{"lax":"a","count":"1"}`},

		{"instants", "well-known types", join(nested(21), nested(21, varint(1, 1)), nested(21, varint(2, 999999999)), nested(21, varint(2, 1000)), nested(21, varint(2, 120000000)), nested(21, varint(1, 253402300799)), nested(21, varint(1, ^uint64(62135596800-1)))),
			`{"ats":["1970-01-01T00:00:00Z","1970-01-01T00:00:01Z","1970-01-01T00:00:00.999999999Z","1970-01-01T00:00:00.000001Z","1970-01-01T00:00:00.120Z","9999-12-31T23:59:59Z","0001-01-01T00:00:00Z"]}`},
		{"durations", "well-known types", join(nested(22), nested(22, varint(1, 315576000000)), nested(22, varint(1, ^uint64(315576000000-1)), varint(2, ^uint64(0))), nested(22, varint(2, ^uint64(0))), nested(22, varint(1, 3), varint(2, 1000))),
			`{"tooks":["0s","315576000000s","-315576000000.000000001s","-0.000000001s","3.000001s"]}`},
		{"masks", "well-known types", join(nested(23), nested(23, text(1, "a"), text(1, "foo_bar.b_c2"), text(1, "_x"))), `{"masks":["","a,fooBar.bC2,X"]}`},
		{"values", "well-known types", join(nested(26, varint(1, 9)), nested(26, fixed64(2, math.Float64bits(1.5))), nested(26, text(3, "")), nested(26, varint(4, 0)), nested(26, nested(5)), nested(26, nested(6))), `{"values":[null,1.5,"",false,{},[]]}`},
		{"of a value the last kind holds", "well-known types", nested(6, text(3, "a"), nested(6), varint(4, 1)), `{"value":true}`},
		{"a value in pieces", "well-known types", join(nested(6, nested(6, nested(1, varint(4, 1)))), nested(6, nested(6, nested(1, varint(1, 0))))), `{"value":[true,null]}`},
		{"an instant in pieces", "well-known types", join(nested(1, varint(1, 1)), nested(1, varint(2, 5000000))), `{"at":"1970-01-01T00:00:01.005Z"}`},
		{"wrappers", "well-known types", join(nested(10), nested(11, fixed32(1, math.Float32bits(0.1))), nested(12), nested(13, varint(1, max)), nested(14, varint(1, max)), nested(15), nested(16), nested(17), nested(18, text(1, "a"))),
			`{"wDouble":0,"wFloat":0.1,"wI64":"0","wU64":"18446744073709551615","wI32":-1,"wU32":0,"wBool":false,"wStr":"","wBytes":"YQ=="}`},
		{"an Any that holds nothing", "well-known types", nested(7), `{"detail":{}}`},
		{"an Any of a message", "well-known types", nested(7, text(1, "type.googleapis.com/t.v1.M"), nested(2, nested(17, text(1, "a")))), `{"detail":{"@type":"type.googleapis.com/t.v1.M","wStr":"a"}}`},
		{"an Any under any host", "well-known types", join(nested(27, text(1, "t.v1.M")), nested(27, text(1, "a/\"b\"/t.v1.M"))), `{"details":[{"@type":"t.v1.M"},{"@type":"a/\"b\"/t.v1.M"}]}`},
		{"an Any of a form of its own", "well-known types", nested(7, text(1, "x/google.protobuf.Duration"), nested(2, varint(1, 1))), `{"detail":{"@type":"x/google.protobuf.Duration","value":"1s"}}`},
		{"an Any of Empty", "well-known types", nested(7, text(1, "x/google.protobuf.Empty"), text(2, "")), `{"detail":{"@type":"x/google.protobuf.Empty"}}`},
		{"an Any of an Any", "well-known types", nested(7, text(1, "x/google.protobuf.Any"), nested(2, text(1, "x/google.protobuf.BoolValue"))), `{"detail":{"@type":"x/google.protobuf.Any","value":{"@type":"x/google.protobuf.BoolValue","value":false}}}`},
		{"an Any whose type comes last", "well-known types", nested(7, nested(2, nested(17, text(1, "a"))), text(1, "x/t.v1.M")), `{"detail":{"@type":"x/t.v1.M","wStr":"a"}}`},
		{"of an Any's parts the last hold", "well-known types", join(nested(7, text(1, "x/foreign"), text(2, "\xff")), nested(7, text(1, "x/t.v1.M"), text(2, ""))), `{"detail":{"@type":"x/t.v1.M"}}`},
		{"an unknown field in Empty", "well-known types", nested(8, text(1, "x")), `{"nothing":{}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := mds[row.message]
			r, o := compileResults(t, md, "compact"), compileOracle(t, md, "compact")
			got, err := r.AppendJSON(nil, row.wire)
			if err != nil || string(got) != row.want {
				t.Errorf("got %s, %v\nwant %s", got, err, row.want)
			}
			agree(t, r, o, row.wire)
		})
	}
}

// TestResults_refuses holds what makes a response no response of its type, or one that JSON cannot say. The oracle
// refuses all of it as well.
func TestResults_refuses(t *testing.T) {
	const minus1 = ^uint64(0)
	mds := messages(t)
	for _, row := range []struct {
		name, message string
		wire          []byte
		where         string
	}{
		{"a tag cut off", "proto3", []byte("\x80"), "no protobuf message"},
		{"a number cut off", "proto3", []byte("\x30\x80"), "no protobuf message"},
		{"a number of eleven bytes", "proto3", []byte("\x30\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "no protobuf message"},
		{"a number beyond 64 bits", "proto3", []byte("\x30\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"), "no protobuf message"},
		{"a text cut off", "proto3", []byte("\x0a\x02a"), "no protobuf message"},
		{"a length beyond all bounds", "proto3", []byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "no protobuf message"},
		{"a fixed number cut off", "proto3", []byte("\x21\x00\x00\x00\x00"), "no protobuf message"},
		{"field 0", "proto3", []byte("\x00\x00"), "no protobuf message"},
		{"a field number beyond all", "proto3", varint(1<<29, 1), "no protobuf message"},
		{"a field number beyond 32 bits", "proto3", protowire.AppendVarint(nil, 1<<40), "no protobuf message"},
		{"a reserved wire type", "proto3", []byte("\x0e"), "no protobuf message"},
		{"the end of no group", "proto3", []byte("\x0c"), "no protobuf message"},
		{"an unknown group without end", "proto3", protowire.AppendTag(nil, 700, protowire.StartGroupType), "no protobuf message"},
		{"an unknown group with another's end", "proto3", join(protowire.AppendTag(nil, 700, protowire.StartGroupType), protowire.AppendTag(nil, 701, protowire.EndGroupType)), "no protobuf message"},
		{"a group without end", "proto2", []byte("\x2b\x0a\x01a"), "no protobuf message"},
		{"an item cut off", "proto3", join(nested(31), nested(31, []byte("\x0a\x02a"))), "no protobuf message"},
		{"a packed number cut off", "proto3", text(25, "\x01\x80"), "t.v1.M.i32s"},
		{"a packed fixed number cut off", "proto3", text(28, "\x01\x00\x00"), "t.v1.M.f32s"},
		{"a piece of a message that is none", "proto3", join(nested(17, []byte("\x80")), nested(17)), "no protobuf message"},
		{"a hidden message that is none", "proto3", nested(61, []byte("\x80")), "no protobuf message"},
		{"a hidden message that JSON cannot say", "proto3", nested(62), "google.protobuf.Value"},
		{"an entry that is no message", "maps", text(1, "\x80"), "no protobuf message"},
		{"an entry with field 0", "maps", nested(1, []byte("\x00\x00")), "no protobuf message"},
		{"an entry's message that is none", "maps", nested(15, nested(2, []byte("\x80"))), "no protobuf message"},

		{"not UTF-8", "proto3", text(1, "a\xff"), "t.v1.M.str"},
		{"not UTF-8 in a list", "proto3", join(text(20, "a"), text(20, "a\xed\xa0\x80")), "t.v1.M.strs"},
		{"not UTF-8 in a hidden field", "proto3", text(60, "\xff"), "t.v1.M.secret"},
		{"not UTF-8 in a string that was replaced", "proto3", join(text(1, "\xff"), text(1, "a")), "t.v1.M.str"},
		{"not UTF-8 in a member that was replaced", "proto3", join(text(46, "\xff"), varint(48, 1)), "t.v1.M.a"},
		{"not UTF-8 in a message that was replaced", "proto3", join(nested(47, text(1, "\xff")), varint(48, 1)), "t.v1.M.str"},
		{"not UTF-8 in a piece of a message that was replaced", "proto3", join(nested(47, nested(31, text(1, "\xff"))), nested(47), varint(48, 1)), "t.v1.M.str"},
		{"a packed number cut off in a message that was replaced", "proto3", join(nested(47, text(25, "\x80")), varint(48, 1)), "t.v1.M.i32s"},
		{"not UTF-8 in a key", "maps", nested(1, text(1, "\xff")), "t.v1.M.s"},
		{"not UTF-8 in a key that was replaced", "maps", nested(1, text(1, "\xff"), text(1, "a")), "t.v1.M.s"},
		{"not UTF-8 in a value", "maps", nested(1, text(2, "\xff")), "t.v1.M.s"},
		{"not UTF-8 in a value that was replaced", "maps", nested(1, text(2, "\xff"), text(2, "a")), "t.v1.M.s"},
		{"not UTF-8 in an entry that was replaced", "maps", join(nested(1, text(1, "k"), text(2, "\xff")), nested(1, text(1, "k"))), "t.v1.M.s"},
		{"not UTF-8 in the message of an entry that was replaced", "maps", join(nested(15, text(1, "k"), nested(2, nested(1, text(2, "\xff")))), nested(15, text(1, "k"))), "t.v1.M.s"},
		{"not UTF-8 in a proto2 string", "proto2", text(1, "\xff"), "t.v1.M.lax"},
		{"not UTF-8 in a proto2 key", "proto2", nested(15, text(1, "\xff")), "t.v1.M.lax_map"},
		{"not UTF-8 in a hidden proto2 string", "proto2", text(18, "\xff"), "t.v1.M.lax_secret"},
		{"not UTF-8 in an unverified string", "editions", text(7, "\xff"), "t.v1.M.lax"},
		{"not UTF-8 in a delimited message that was replaced", "editions", join(group(17, text(3, "\xff")), varint(19, 1)), "t.v1.Item.text"},

		{"an instant before year 1", "well-known types", nested(1, varint(1, ^uint64(62135596801-1))), "google.protobuf.Timestamp"},
		{"an instant after year 9999", "well-known types", nested(1, varint(1, 253402300800)), "google.protobuf.Timestamp"},
		{"an instant with negative nanos", "well-known types", nested(1, varint(2, minus1)), "google.protobuf.Timestamp"},
		{"an instant with a second of nanos", "well-known types", nested(1, varint(2, 1000000000)), "google.protobuf.Timestamp"},
		{"a duration beyond its range", "well-known types", nested(2, varint(1, 315576000001)), "google.protobuf.Duration"},
		{"a duration with a second of nanos", "well-known types", nested(2, varint(2, 1000000000)), "google.protobuf.Duration"},
		{"a duration of two signs", "well-known types", nested(2, varint(1, 1), varint(2, minus1)), "google.protobuf.Duration"},
		{"a duration of two signs, the other way", "well-known types", nested(2, varint(1, minus1), varint(2, 1)), "google.protobuf.Duration"},
		{"a mask with a capital", "well-known types", nested(3, text(1, "aB")), "google.protobuf.FieldMask"},
		{"a mask with two underscores", "well-known types", nested(3, text(1, "a__b")), "google.protobuf.FieldMask"},
		{"a mask with an underscore before a digit", "well-known types", nested(3, text(1, "a_1")), "google.protobuf.FieldMask"},
		{"a mask with an underscore at the end", "well-known types", nested(3, text(1, "a_")), "google.protobuf.FieldMask"},
		{"a mask of an empty path", "well-known types", nested(3, text(1, "")), "google.protobuf.FieldMask"},
		{"a mask of an empty name", "well-known types", nested(3, text(1, "a..b")), "google.protobuf.FieldMask"},
		{"a mask that ends in a dot", "well-known types", nested(3, text(1, "a.")), "google.protobuf.FieldMask"},
		{"a mask whose name starts with a digit", "well-known types", nested(3, text(1, "a.1b")), "google.protobuf.FieldMask"},
		{"a mask of other characters", "well-known types", nested(3, text(1, "a-b")), "google.protobuf.FieldMask"},
		{"a mask that is not UTF-8", "well-known types", nested(3, text(1, "\xff")), "google.protobuf.FieldMask"},
		{"a value of nothing", "well-known types", nested(6), "google.protobuf.Value"},
		{"a value of nothing in a list", "well-known types", nested(5, nested(1)), "google.protobuf.Value"},
		{"a value of nothing in an object", "well-known types", nested(4, nested(1, text(1, "k"))), "google.protobuf.Value"},
		{"a value that is not finite", "well-known types", nested(6, fixed64(2, math.Float64bits(math.Inf(1)))), "google.protobuf.Value"},
		{"an Any of a foreign type", "well-known types", nested(7, text(1, "type.googleapis.com/google.rpc.Status")), "google.protobuf.Any"},
		{"an Any without a type", "well-known types", nested(7, text(2, "a")), "google.protobuf.Any"},
		{"an Any of no message", "well-known types", nested(7, text(1, "x/t.v1.M"), text(2, "\xff")), "no protobuf message"},
		{"an Any of what JSON cannot say", "well-known types", nested(7, text(1, "x/google.protobuf.Value")), "google.protobuf.Value"},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := mds[row.message]
			r, o := compileResults(t, md, "protojson"), compileOracle(t, md, "protojson")
			got, err := r.AppendJSON(nil, row.wire)
			if err == nil || !strings.Contains(err.Error(), row.where) {
				t.Errorf("got %s, %v, want an error with %s", got, err, row.where)
			}
			if result, _, err := r.AppendResult([]byte("before "), row.wire); err == nil || string(result) != "before " {
				t.Errorf("the result is %s, %v", result, err)
			}
			agree(t, r, o, row.wire)
		})
	}
}
