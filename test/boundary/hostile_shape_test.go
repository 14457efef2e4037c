package boundary_test

import (
	"fmt"
	"strings"
)

// Families about the shape of arguments: types, undeclared names, required ones, and names that some other program
// would take for more than names (boundary.md, "The gate").

// acceptedEverything is what a refusal lists as accepted by Everything: the first fifty, and how many more.
const acceptedEverything = "note, flag, raw, num, small, i32, s32, x32, u32, f32, i64, s64, x64, u64, f64, color, at, took, mask, object, list, " +
	"anyJson, nothing, nil, boxedNum, boxedSmall, boxedLong, boxedUlong, boxedInt, boxedUint, boxedFlag, boxedText, boxedRaw, item, items, " +
	"words, numbers, longs, colors, times, flags, byName, labels, byInt, byUint, byLong, byUlong, byFlag, openByName, orderId, and 8 more"

const acceptedItem = "sku, quantity, parts"

// shape is a kind of declared type: what it says of a value of a wrong kind, and of which values it says something else;
// a blank text accepts.
type shape struct {
	want   string
	except map[string]string
}

// forms of JSON value, by which each declared type is confused.
var jsonKinds = []struct{ name, value string }{
	{"null", `null`},
	{"true", `true`},
	{"false", `false`},
	{"zero with a point", `0.0`},
	{"integer", `7`},
	{"fraction", `1.5`},
	{"text", `"$V"`},
	{"empty text", `""`},
	{"number as text", `"7"`},
	{"boolean as text", `"true"`},
	{"empty array", `[]`},
	{"array of text", `["$V"]`},
	{"array of null", `[null]`},
	{"empty object", `{}`},
	{"object", `{"$K":"$V"}`},
}

const (
	toGiveNone  = "; to give none, leave it out"
	isText      = "must be a string"
	isInteger   = "must be an integer"
	isNumber    = "must be a number"
	isBoolean   = "must be true or false"
	isObject    = "must be an object"
	isArray     = "must be an array"
	isColor     = "must be one of: RED, SCARLET, GREEN"
	isTimestamp = "must be an RFC 3339 date and time with an offset, for example 2024-05-01T12:00:00Z: capital T and Z, " +
		"at most nine decimals, no leap second, years 0001 to 9999"
	isDuration    = "must be seconds with the suffix s, for example 1.5s, from -315576000000s to 315576000000s"
	isMask        = "must be field paths in lowerCamelCase, separated by commas"
	isBase64      = "must be base64 of the standard alphabet, with padding"
	isIntegerKey  = "each key must be an integer from "
	noControls    = "must not contain control characters other than tab, newline and carriage return"
	undeclaredOne = "1 undeclared property; accepted: "
)

func typeConfusion() []payload {
	accepts := func(kinds ...string) map[string]string {
		m := make(map[string]string)
		for _, kind := range kinds {
			m[kind] = ""
		}
		return m
	}
	with := func(m map[string]string, also map[string]string) map[string]string {
		for kind, text := range also {
			m[kind] = text
		}
		return m
	}
	everyText := func(text string) map[string]string {
		return map[string]string{"text": text, "empty text": text, "number as text": text, "boolean as text": text}
	}
	textShape := shape{isText, accepts("text", "empty text", "number as text", "boolean as text")}
	booleanShape := shape{isBoolean, accepts("true", "false")}
	integerShape := shape{isInteger, accepts("zero with a point", "integer")}
	numberShape := shape{isNumber, accepts("zero with a point", "integer", "fraction")}
	longShape := func(text string) shape {
		return shape{isText, with(everyText(text), map[string]string{"number as text": ""})}
	}
	// A canary is no base64: its length is none that padding could leave out.
	bytesShape := shape{isText, map[string]string{"text": isBase64, "empty text": "", "number as text": isBase64, "boolean as text": ""}}
	itemShape := shape{isObject, map[string]string{"empty object": "", "object": "%s: " + undeclaredOne + acceptedItem}}
	array := func(ofText, ofNull string) shape {
		return shape{isArray, map[string]string{"empty array": "", "array of text": ofText, "array of null": ofNull}}
	}
	mapping := func(ofText string) shape {
		return shape{isObject, map[string]string{"empty object": "", "object": ofText}}
	}
	shapes := []struct {
		property string
		shape    shape
	}{
		{"note", textShape},
		{"flag", booleanShape},
		{"raw", bytesShape},
		{"num", numberShape},
		{"small", numberShape},
		{"i32", integerShape},
		{"s32", integerShape},
		{"x32", integerShape},
		{"u32", integerShape},
		{"f32", integerShape},
		{"i64", longShape(int64Text)},
		{"s64", longShape(int64Text)},
		{"x64", longShape(int64Text)},
		{"u64", longShape(uint64Text)},
		{"f64", longShape(uint64Text)},
		{"color", shape{isText, everyText(isColor)}},
		{"at", shape{isText, everyText(isTimestamp)}},
		{"took", shape{isText, everyText(isDuration)}},
		{"mask", shape{isText, with(accepts("text", "empty text", "boolean as text"), map[string]string{"number as text": isMask})}},
		{"object", shape{isObject, accepts("empty object", "object")}},
		{"list", shape{isArray, accepts("empty array", "array of text", "array of null")}},
		{"anyJson", shape{"", nil}},
		{"nothing", shape{isObject, map[string]string{"empty object": "", "object": "nothing: 1 undeclared property; none is accepted here"}}},
		{"nil", shape{"must be null", accepts("null")}},
		{"boxedNum", numberShape},
		{"boxedSmall", numberShape},
		{"boxedLong", longShape(int64Text)},
		{"boxedUlong", longShape(uint64Text)},
		{"boxedInt", integerShape},
		{"boxedUint", integerShape},
		{"boxedFlag", booleanShape},
		{"boxedText", textShape},
		{"boxedRaw", bytesShape},
		{"item", itemShape},
		{"items", array("items[]: "+isObject, "items[]: "+isObject+toGiveNone)},
		{"words", array("", "words[]: "+isText+toGiveNone)},
		{"numbers", array("numbers[]: "+isInteger, "numbers[]: "+isInteger+toGiveNone)},
		{"longs", array("longs[]: "+int64Text, "longs[]: "+isText+toGiveNone)},
		{"colors", array("colors[]: "+isColor, "colors[]: "+isText+toGiveNone)},
		{"times", array("times[]: "+isTimestamp, "times[]: "+isText+toGiveNone)},
		{"flags", array("flags[]: "+isBoolean, "flags[]: "+isBoolean+toGiveNone)},
		{"byName", mapping("byName.{key}: " + isObject)},
		{"labels", mapping("")},
		{"byInt", mapping("byInt: " + isIntegerKey + "-2147483648 to 2147483647, written as a string")},
		{"byUint", mapping("byUint: " + isIntegerKey + "0 to 4294967295, written as a string")},
		{"byLong", mapping("byLong: " + isIntegerKey + "-9223372036854775808 to 9223372036854775807, written as a string")},
		{"byUlong", mapping("byUlong: " + isIntegerKey + "0 to 18446744073709551615, written as a string\n- byUlong.{key}: " + int64Text)},
		{"byFlag", mapping(`byFlag: each key must be "true" or "false"`)},
		{"openByName", mapping("")},
		{"left", textShape},
		{"third", longShape(int64Text)},
		{"fourth", itemShape},
		{"up", booleanShape},
		{"maybe", textShape},
		{"called", textShape},
	}
	var out []payload
	for _, s := range shapes {
		for _, kind := range jsonKinds {
			name := s.property + " is " + kind.name
			w := s.shape.judge(s.property, kind.name)
			arguments := `{"note":"$V","` + s.property + `":` + kind.value + `}`
			if s.property == "note" {
				// The canary needs another place.
				arguments = `{"note":` + kind.value + `,"orderId":"$V"}`
			}
			out = append(out, rows("type confusion", "judge", row{name, arguments, w})...)
		}
	}
	return out
}

// judge is the answer to a value of a kind.
func (s shape) judge(property, kind string) want {
	text, special := s.except[kind]
	switch {
	case s.want == "" || special && text == "":
		return reached()
	case special && strings.Contains(text, "%s"):
		return refused(fmt.Sprintf(text, property))
	case special && strings.HasPrefix(text, property):
		return refused(text)
	case special:
		return refused(property + ": " + text)
	case kind == "null":
		return refused(property + ": " + s.want + toGiveNone)
	default:
		return refused(property + ": " + s.want)
	}
}

func undeclared() []payload {
	const family = "undeclared"
	at := func(path, accepted string) want {
		if path == "" {
			path = "arguments"
		}
		return refused(path + ": " + undeclaredOne + accepted)
	}
	out := rows(family, "judge",
		row{"at the root", `{"$K":"$V"}`, at("", acceptedEverything)},
		row{"null at the root", `{"$K":null,"note":"$V"}`, at("", acceptedEverything)},
		row{"beside declared ones", `{"note":"$V","$K":{"a":["$V"]},"flag":true}`, at("", acceptedEverything)},
		row{"three at the root", `{"$K":1,"x$K":2,"y$K":"$V"}`, refused("arguments: 3 undeclared properties; accepted: " + acceptedEverything)},
		row{"1,000 at the root", `{"$K":"$V",` + members(999) + `}`, refused("arguments: 1000 undeclared properties; accepted: " + acceptedEverything)},
		row{"in a message", `{"item":{"$K":"$V"}}`, at("item", acceptedItem)},
		row{"in a message of a message", `{"item":{"parts":[{"$K":"$V"}]}}`, at("item.parts[]", acceptedItem)},
		row{"in an item", `{"items":[{"sku":"a"},{"$K":"$V"}]}`, at("items[]", acceptedItem)},
		row{"in two items", `{"items":[{"$K":"$V"},{"x$K":"$V"}]}`, at("items[]", acceptedItem)},
		row{"one and two in items", `{"items":[{"$K":"$V"},{"$K":"$V","x":1}]}`,
			refused("items[]: "+undeclaredOne+acceptedItem, "items[]: 2 undeclared properties; accepted: "+acceptedItem)},
		row{"in a map's value", `{"byName":{"$K":{"x$K":"$V"}}}`, at("byName.{key}", acceptedItem)},
		row{"deep in a map's value", `{"byName":{"$K":{"parts":[{"parts":[{"x":"$V"}]}]}}}`, at("byName.{key}.parts[].parts[]", acceptedItem)},
		row{"ten messages deep", `{"item":` + nested(`{"parts":[`, `{"$K":"$V"}`, `]}`, 10) + `}`, at("item"+strings.Repeat(".parts[]", 10), acceptedItem)},
		row{"in a member of a oneof", `{"fourth":{"$K":"$V"}}`, at("fourth", acceptedItem)},
		row{"where none is declared", `{"nothing":{"$K":"$V"}}`, refused("nothing: 1 undeclared property; none is accepted here")},
		row{"two where none is declared", `{"nothing":{"$K":"$V","x":1}}`, refused("nothing: 2 undeclared properties; none is accepted here")},
		row{"at every depth at once", `{"$K":1,"item":{"$K":1,"parts":[{"$K":"$V"}]}}`,
			refused("item.parts[]: "+undeclaredOne+acceptedItem, "item: "+undeclaredOne+acceptedItem, "arguments: "+undeclaredOne+acceptedEverything)},
		row{"hidden", `{"secret":"$V"}`, at("", acceptedEverything)},
		row{"output only", `{"stamp":"$V"}`, at("", acceptedEverything)},
		row{"a oneof by its own name", `{"pick":{"left":"$V"}}`, at("", acceptedEverything)},
		row{"a field by its number", `{"1":"$V"}`, at("", acceptedEverything)},
		row{"a field by its full name", `{"hostile.v1.Everything.note":"$V"}`, at("", acceptedEverything)},
		row{"an extension", `{"[hostile.v1.ext]":"$V"}`, at("", acceptedEverything)},
		row{"the type of an any", `{"@type":"type.googleapis.com/$V"}`, at("", acceptedEverything)},
	)
	for _, r := range []struct{ name, key string }{
		{"empty", ``}, {"blank", ` `}, {"capital", `Note`}, {"capitals", `NOTE`}, {"leading blank", ` note`}, {"trailing blank", `note `},
		{"trailing line end", `note\n`}, {"trailing NUL", `note\u0000`}, {"trailing zero width space", `note\u200b`}, {"byte order mark", `\ufeffnote`},
		{"Cyrillic letter", `n\u043ete`}, {"full-width letters", `ｎｏｔｅ`}, {"combining mark", `note\u0301`}, {"right-to-left override", `\u202enote`},
		{"soft hyphen", `no\u00adte`}, {"path", `item.sku`}, {"path with brackets", `items[]`}, {"index", `items[0]`}, {"pointer", `/note`},
		{"braces", `{key}`}, {"template", `{{note}}`}, {"dollar", `$`}, {"traversal", `../note`}, {"query", `note?x=1`}, {"percent", `%6eote`},
		{"markup", `<script>`}, {"SQL", `note' OR 1=1 --`}, {"format verb", `%s%n%x`}, {"shell", "`id`"}, {"line ends", `a\r\nX-Injected: 1`},
		{"emoji", `\ud83d\ude00`}, {"escaped quote", `\"note\"`}, {"replacement character", `\ufffd`}, {"65,536 characters", strings.Repeat("n", 65_536)},
	} {
		out = append(out, rows(family, "judge", row{"name: " + r.name, `{"note":"$V","` + r.key + `":"$V"}`, at("", acceptedEverything)})...)
	}
	return append(out, bodies(family,
		body{"in the envelope is not ours to judge", `{"jsonrpc":"2.0","id":1,"method":"ping","$K":{"a":["$V"]}}`, answered()},
		body{"in params is not ours to judge", rpc("tools/call", `{"name":"judge","arguments":{"note":"$V"},"$K":{"a":1}}`), reached()},
		body{"members of other versions", rpc("tools/call", `{"name":"judge","arguments":{"note":"$V"},"task":{"ttl":1,"$K":1},"inputResponses":{"$K":"x"},"requestState":"$K"}`), reached()},
	)...)
}

func requiredOnes() []payload {
	return append(append(rows("required", "need",
		row{"nothing but a note", `{"note":"$V"}`, refused("sku: is required", "count: is required", "inner: is required")},
		row{"null", `{"note":"$V","sku":null,"count":1,"inner":{"id":"x"}}`, refused("sku: must be a string" + toGiveNone)},
		row{"null for a message", `{"note":"$V","sku":"x","count":1,"inner":null}`, refused("inner: must be an object" + toGiveNone)},
		row{"missing within", `{"note":"$V","sku":"x","count":1,"inner":{}}`, refused("inner.id: is required")},
		row{"missing in items", `{"note":"$V","sku":"x","count":1,"inner":{"id":"x"},"more":[{"id":"y"},{},{}]}`, refused("more[].id: is required")},
		row{"missing in a map", `{"note":"$V","sku":"x","count":1,"inner":{"id":"x"},"byName":{"$K":{}}}`, refused("byName.{key}.id: is required")},
		row{"another spelling", `{"note":"$V","SKU":"x","count":1,"inner":{"id":"x"}}`,
			refused("sku: is required", "arguments: 1 undeclared property; accepted: note, sku, count, inner, more, byName")},
		row{"missing, beside an undeclared one", `{"note":"$V","$K":1,"count":1,"inner":{"id":"x"}}`,
			refused("sku: is required", "arguments: 1 undeclared property; accepted: note, sku, count, inner, more, byName")},
		row{"wrong type beside missing", `{"note":7,"count":"$V"}`, refused("note: must be a string", "sku: is required", "count: must be an integer", "inner: is required")},
		row{"zero is given", `{"note":"$V","sku":"x","count":0,"inner":{"id":"x"}}`, reached()},
		row{"all there", `{"note":"$V","sku":"x","count":1,"inner":{"id":"x"},"more":[],"byName":{}}`, reached()},
	), rows("required", "choose",
		row{"none of a required oneof", `{"note":"$V"}`, refused("arguments: give exactly one of: left, right")},
		row{"both of a required oneof", `{"note":"$V","left":"$K","right":"x"}`, refused("arguments: give exactly one of: left, right")},
		row{"null for one of a required oneof", `{"note":"$V","left":null}`, refused("left: must be a string" + toGiveNone)},
		row{"one of a required oneof", `{"note":"$V","right":""}`, reached()},
	)...), bodies("required",
		body{"no arguments at all", rpc("tools/call", `{"name":"need","x":"$V"}`), refused("sku: is required", "count: is required", "inner: is required")},
		body{"null for arguments", rpc("tools/call", `{"name":"need","arguments":null,"x":"$V"}`), refused("sku: is required", "count: is required", "inner: is required")},
	)...)
}

func bothSpellings() []payload {
	const family = "both spellings"
	one := refused("arguments: " + undeclaredOne + acceptedEverything)
	proto := strings.NewReplacer("anyJson", "any_json", "boxedNum", "boxed_num", "boxedSmall", "boxed_small", "boxedLong", "boxed_long",
		"boxedUlong", "boxed_ulong", "boxedInt", "boxed_int", "boxedUint", "boxed_uint", "boxedFlag", "boxed_flag", "boxedText", "boxed_text",
		"boxedRaw", "boxed_raw", "byName", "by_name", "byInt", "by_int", "byUint", "by_uint", "byLong", "by_long", "byUlong", "by_ulong",
		"byFlag", "by_flag", "openByName", "open_by_name", "orderId", "order_id").Replace(acceptedEverything)
	two := refused("arguments: " + undeclaredOne + proto)
	return append(rows(family, "judge",
		row{"the proto's alone", `{"order_id":"$V"}`, one},
		row{"both", `{"orderId":"$V","order_id":"$K"}`, one},
		row{"both, the other way round", `{"order_id":"$K","orderId":"$V"}`, one},
		row{"both, the same value", `{"orderId":"$V","order_id":"$V"}`, one},
		row{"both, one null", `{"orderId":"$V","order_id":null}`, one},
		row{"both, one null, the other way round", `{"note":"$V","orderId":null,"order_id":"$K"}`,
			refused("orderId: must be a string"+toGiveNone, "arguments: "+undeclaredOne+acceptedEverything)},
		row{"of a message", `{"boxedText":"$V","boxed_text":"$K"}`, one},
		row{"of a list within", `{"note":"$V","any_json":[1],"anyJson":[1]}`, one},
		row{"of a map", `{"byName":{"$K":{}},"by_name":{},"note":"$V"}`, one},
		row{"of a value", `{"anyJson":"$V","any_json":1}`, one},
		row{"a renamed field by its JSON name", `{"renamedField":"$V"}`, one},
		row{"a renamed field by its proto name", `{"renamed_field":"$V"}`, one},
		row{"a renamed field by all three names", `{"called":"$V","renamedField":"a","renamed_field":"b"}`,
			refused("arguments: 2 undeclared properties; accepted: " + acceptedEverything)},
		row{"capital first letter", `{"OrderId":"$V"}`, one},
		row{"dashes", `{"order-id":"$V"}`, one},
		row{"by escape", `{"order\u005fid":"$V"}`, one},
		row{"the published one", `{"orderId":"$V"}`, reached()},
		row{"the published one by escape", `{"order\u0049d":"$V"}`, reached()},
		row{"both as data", `{"object":{"orderId":"$V","order_id":"$V"}}`, reached()},
	), rows(family, "judge_proto",
		row{"under the profile proto, the JSON name", `{"orderId":"$V"}`, two},
		row{"under the profile proto, both", `{"order_id":"$V","orderId":"$K"}`, two},
		row{"under the profile proto, a nested JSON name", `{"note":"$V","byName":{}}`, two},
		row{"under the profile proto, a field's JSON name beside its own", `{"any_json":"$V","anyJson":1}`, two},
		row{"under the profile proto, the published one", `{"order_id":"$V"}`, reached()},
	)...)
}

// hostileNames are names that programs in other languages give a meaning.
var hostileNames = []string{
	"__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "__defineGetter__", "__class__", "__init__",
	"$ref", "$schema", "$defs", "@type", "@context", "length", "then", "toJSON", "null", "undefined", "NaN",
}

func prototypeNames() []payload {
	const family = "prototype names"
	one := refused("arguments: " + undeclaredOne + acceptedEverything)
	var out []payload
	for _, name := range hostileNames {
		out = append(out, rows(family, "judge",
			row{name + " at the root", `{"` + name + `":{"$K":"$V"}}`, one},
			row{name + " in an item", `{"items":[{"` + name + `":{"isAdmin":"$V"}}]}`, refused("items[]: " + undeclaredOne + acceptedItem)},
			row{name + " as a key", `{"labels":{"` + name + `":"$V"}}`, reached()},
			row{name + " as a key of messages", `{"byName":{"` + name + `":{"sku":"$V"}}}`, reached()},
			row{name + " in a struct", `{"object":{"` + name + `":{"$K":"$V"}}}`, reached()},
			row{name + " in a value", `{"anyJson":[{"` + name + `":"$V"}]}`, reached()},
		)...)
		out = append(out, bodies(family,
			body{name + " as a tool", rpc("tools/call", `{"name":"`+name+`","arguments":{"x":"$V"}}`), inBand(-32602)},
			body{name + " as a method", rpc(name, `{"x":"$V"}`), inBand(-32601)},
			body{name + " in _meta", rpc("ping", `{"_meta":{"`+name+`":{"$K":"$V"}}}`), answered()},
		)...)
	}
	return append(out, rows(family, "judge",
		row{"constructor.prototype", `{"constructor":{"prototype":{"isAdmin":"$V"}}}`, one},
		row{"__proto__ by escape", `{"\u005f\u005fproto__":{"isAdmin":"$V"}}`, one},
		row{"__proto__ null", `{"__proto__":null,"note":"$V"}`, one},
		row{"__proto__ in an enum", `{"note":"$V","color":"__proto__"}`, refused("color: " + isColor)},
		row{"__proto__ in a mask", `{"note":"$V","mask":"__proto__"}`, refused("mask: " + isMask)},
	)...)
}
