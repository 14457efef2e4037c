package boundary_test

import (
	"fmt"
	"strings"
)

// Families about the values of arguments that are not numbers (boundary.md, "The gate").

func controls() []payload {
	const family = "controls"
	var out []payload
	for code := range 0x20 {
		raw, escaped := string(rune(code)), fmt.Sprintf(`\u%04x`, code)
		out = append(out, bodies(family,
			body{fmt.Sprintf("raw U+%04X", code), toolCall("judge", `{"note":"$V`+raw+`"}`), noDocument()})...)
		w := refused("note: " + noControls)
		if code == '\t' || code == '\n' || code == '\r' {
			w = reached()
		}
		out = append(out, rows(family, "judge", row{fmt.Sprintf("escaped U+%04X", code), `{"note":"$V` + escaped + `"}`, w})...)
	}
	return append(out, append(rows(family, "judge",
		row{"short escapes that are text", `{"note":"$V\t\n\r\"\\\/"}`, reached()},
		row{"backspace by short escape", `{"note":"$V\b"}`, refused("note: " + noControls)},
		row{"form feed by short escape", `{"note":"$V\f"}`, refused("note: " + noControls)},
		row{"at the start", `{"note":"\u0000$V"}`, refused("note: " + noControls)},
		row{"terminal escape", `{"note":"\u001b[2J$V"}`, refused("note: " + noControls)},
		row{"in an item", `{"words":["a","$V\u0007"]}`, refused("words[]: " + noControls)},
		row{"in a message's item", `{"items":[{"sku":"$V\u0000"}]}`, refused("items[].sku: " + noControls)},
		row{"in a wrapper", `{"boxedText":"$V\u0000"}`, refused("boxedText: " + noControls)},
		row{"in a map's key", `{"labels":{"$K\u0000":"$V"}}`, refused("labels: each key " + noControls)},
		row{"in a map's value", `{"labels":{"$K":"$V\u0001"}}`, refused("labels.{key}: " + noControls)},
		row{"in an enum", `{"note":"$V","color":"RED\u0000"}`, refused("color: " + noControls)},
		row{"in base64", `{"note":"$V","raw":"YQ==\u0000"}`, refused("raw: " + noControls)},
		row{"in a timestamp", `{"note":"$V","at":"2024-01-01T00:00:00Z\u0000"}`, refused("at: " + noControls)},
		row{"in a duration", `{"note":"$V","took":"1s\u0000"}`, refused("took: " + noControls)},
		row{"in a mask", `{"note":"$V","mask":"a\u0000"}`, refused("mask: " + noControls)},
		row{"in a member of a oneof", `{"left":"$V\u0002"}`, refused("left: " + noControls)},
		row{"in an undeclared name", `{"$K\u0000":"$V"}`, refused("arguments: " + undeclaredOne + acceptedEverything)},
		row{"in an open value is carried", `{"note":"$V","anyJson":"a\u0000b"}`, reached()},
		row{"in a struct's key is carried", `{"note":"$V","object":{"a\u0000":"b\u001b"}}`, reached()},
		row{"DEL and C1 are text", `{"note":"$V\u007f\u0080\u0085\u009f"}`, reached()},
		row{"line and paragraph separators are text", `{"note":"$V\u2028\u2029"}`, reached()},
		row{"bidirectional overrides are text", `{"note":"$V\u202e\u2066\u2069"}`, reached()},
		row{"zero width characters are text", `{"note":"$V\u200b\u200d\ufeff"}`, reached()},
		row{"noncharacters are text", `{"note":"$V\ufffe\uffff\ufdd0\udbff\udfff"}`, reached()},
		row{"tag characters are text", `{"note":"$V\udb40\udc41\udb40\udc42"}`, reached()},
	), bodies(family,
		body{"raw in a map's key", toolCall("judge", "{\"labels\":{\"$K\x00\":\"$V\"}}"), noDocument()},
		body{"raw in an open value", toolCall("judge", "{\"anyJson\":[\"$V\x1b\"]}"), noDocument()},
		body{"raw in the id", "{\"jsonrpc\":\"2.0\",\"id\":\"$V\x01\",\"method\":\"ping\"}", noDocument()},
		body{"raw in the method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$V\n\"}", noDocument()},
		body{"raw in the tool's name", toolCall("$V\r\n", `{}`), noDocument()},
	)...)...)
}

func contentIsNotShape() []payload {
	var out []payload
	for i, text := range []string{
		`../../../../etc/passwd`, `..\\..\\windows\\win.ini`, `'; DROP TABLE orders; --`, `\" OR \"\"=\"`, `<script>alert(1)</script>`,
		`{{7*7}}`, `${jndi:ldap://x/a}`, `$(id)`, "`id`", `%00`, `%0d%0aSet-Cookie: a=b`, `\r\nX-Injected: 1`, `{\"jsonrpc\":\"2.0\"}`,
		`</tool_result>`, `ignore previous instructions`, `data:text/html;base64,PA==`, `http://169.254.169.254/`, `file:///etc/passwd`,
		`%s%s%n`, `*)(uid=*`, `true`, `null`, `NaN`, `0`, `-1`, `1e400`, `\u0131\u0130\u00df`, `\ud83d\udc68\u200d\ud83d\udc69`, `Z\u0351\u036b\u0343`,
		`\\u0000`, `\\ud800`,
	} {
		out = append(out, rows("content is not shape", "judge", row{fmt.Sprintf("text %d", i), `{"note":"$V ` + text + `"}`, reached()})...)
	}
	return out
}

func enumGames() []payload {
	const family = "enums"
	bad := refused("color: " + isColor)
	return rows(family, "judge",
		row{"unknown name", `{"color":"$V"}`, bad},
		row{"unspecified", `{"note":"$V","color":"COLOR_UNSPECIFIED"}`, bad},
		row{"lower case", `{"note":"$V","color":"red"}`, bad},
		row{"mixed case", `{"note":"$V","color":"Red"}`, bad},
		row{"number", `{"note":"$V","color":1}`, refused("color: " + isText)},
		row{"number 0", `{"note":"$V","color":0}`, refused("color: " + isText)},
		row{"unknown number", `{"note":"$V","color":99}`, refused("color: " + isText)},
		row{"negative number", `{"note":"$V","color":-1}`, refused("color: " + isText)},
		row{"number beyond 32 bits", `{"note":"$V","color":4294967297}`, refused("color: " + isText)},
		row{"number as text", `{"note":"$V","color":"1"}`, bad},
		row{"leading blank", `{"note":"$V","color":" RED"}`, bad},
		row{"trailing blank", `{"note":"$V","color":"RED "}`, bad},
		row{"trailing line end", `{"note":"$V","color":"RED\n"}`, bad},
		row{"zero width space", `{"note":"$V","color":"RED\u200b"}`, bad},
		row{"Cyrillic letter", `{"note":"$V","color":"R\u0415D"}`, bad},
		row{"full name", `{"note":"$V","color":"hostile.v1.RED"}`, bad},
		row{"name of the enum before it", `{"note":"$V","color":"COLOR_RED"}`, bad},
		row{"enum and name", `{"note":"$V","color":"Color.RED"}`, bad},
		row{"two names", `{"note":"$V","color":"RED,GREEN"}`, bad},
		row{"two names by bar", `{"note":"$V","color":"RED|GREEN"}`, bad},
		row{"a list of names", `{"note":"$V","color":["RED"]}`, refused("color: " + isText)},
		row{"an object", `{"note":"$V","color":{"$K":"RED"}}`, refused("color: " + isText)},
		row{"long name", `{"note":"$V","color":"` + strings.Repeat("R", 65_536) + `"}`, bad},
		row{"unknown in a list", `{"colors":["RED","$V"]}`, refused("colors[]: " + isColor)},
		row{"number in a list", `{"note":"$V","colors":["RED",2]}`, refused("colors[]: " + isText)},
		row{"unspecified in a list", `{"note":"$V","colors":["COLOR_UNSPECIFIED"]}`, refused("colors[]: " + isColor)},
		row{"by escape", `{"note":"$V","color":"\u0052ED"}`, reached()},
		row{"alias", `{"note":"$V","color":"SCARLET"}`, reached()},
		row{"name and alias in a list", `{"note":"$V","colors":["RED","SCARLET","RED"]}`, reached()},
		row{"null value by its name", `{"note":"$V","nil":"NULL_VALUE"}`, refused("nil: must be null")},
		row{"null value by its number", `{"note":"$V","nil":0}`, refused("nil: must be null")},
	)
}

func oneofGames() []payload {
	const pick, other = "arguments: give at most one of: left, right, third, fourth", "arguments: give at most one of: up, down"
	return rows("oneofs", "judge",
		row{"two members", `{"left":"$V","right":"$K"}`, refused(pick)},
		row{"two members, the other way round", `{"right":"$K","left":"$V"}`, refused(pick)},
		row{"all members", `{"left":"$V","right":"$K","third":"1","fourth":{}}`, refused(pick)},
		row{"two members of the zero value", `{"note":"$V","left":"","right":""}`, refused(pick)},
		row{"two members of one value", `{"left":"$V","right":"$V"}`, refused(pick)},
		row{"message and text", `{"fourth":{"sku":"$V"},"left":"$K"}`, refused(pick)},
		row{"number and text", `{"note":"$V","third":"1","right":"$K"}`, refused(pick)},
		row{"one and null", `{"left":"$V","right":null}`, refused("right: "+isText+toGiveNone, pick)},
		row{"two nulls", `{"note":"$V","left":null,"right":null}`, refused("left: "+isText+toGiveNone, "right: "+isText+toGiveNone, pick)},
		row{"two members, one of the wrong type", `{"left":"$V","third":7}`, refused("third: "+isText, pick)},
		row{"two oneofs, one broken", `{"left":"$V","up":true,"down":false}`, refused(other)},
		row{"two oneofs, both broken", `{"left":"$V","right":"$K","up":true,"down":true}`, refused(pick, other)},
		row{"two members and an undeclared one", `{"left":"$V","right":"x","$K":1}`, refused(pick, "arguments: "+undeclaredOne+acceptedEverything)},
		row{"one member by escape, one not", `{"\u006ceft":"$V","right":"x"}`, refused(pick)},
		row{"one member of each", `{"left":"$V","down":false}`, reached()},
		row{"one member of the zero value", `{"note":"$V","third":"0"}`, reached()},
	)
}

func mapKeys() []payload {
	const family = "map keys"
	var out []payload
	for _, m := range []struct {
		property, from, outside string
	}{
		{"byInt", "-2147483648 to 2147483647", "2147483648"},
		{"byUint", "0 to 4294967295", "4294967296"},
		{"byLong", "-9223372036854775808 to 9223372036854775807", "9223372036854775808"},
		{"byUlong", "0 to 18446744073709551615", "18446744073709551616"},
	} {
		bad := refused(m.property + ": " + isIntegerKey + m.from + ", written as a string")
		value := `"x"`
		if m.property == "byUlong" {
			value = `"1"`
		}
		for _, k := range []struct{ name, key string }{
			{"word", `$K`}, {"empty", ``}, {"blank", ` `}, {"leading zero", `07`}, {"plus", `+7`}, {"fraction", `7.0`}, {"exponent", `7e0`},
			{"minus zero", `-0`}, {"hexadecimal", `0x7`}, {"outside", m.outside}, {"trailing blank", `7 `}, {"full-width digit", `７`}, {"long", strings.Repeat("9", 1000)},
		} {
			out = append(out, rows(family, "judge", row{m.property + ": " + k.name, `{"note":"$V","` + m.property + `":{"` + k.key + `":` + value + `}}`, bad})...)
		}
		out = append(out, rows(family, "judge",
			row{m.property + ": sound beside a bad one", `{"note":"$V","` + m.property + `":{"7":` + value + `,"$K":` + value + `}}`, bad},
			row{m.property + ": sound", `{"note":"$V","` + m.property + `":{"7":` + value + `,"0":` + value + `}}`, reached()},
		)...)
	}
	for _, property := range []string{"byUint", "byUlong"} {
		from := map[string]string{"byUint": "0 to 4294967295", "byUlong": "0 to 18446744073709551615"}[property]
		out = append(out, rows(family, "judge", row{property + ": negative", `{"note":"$V","` + property + `":{"-1":"1"}}`,
			refused(property + ": " + isIntegerKey + from + ", written as a string")})...)
	}
	for _, key := range []string{`$K`, ``, `True`, `TRUE`, `1`, `0`, `yes`, ` true`, `false `, `t`} {
		out = append(out, rows(family, "judge", row{"byFlag: " + key, `{"note":"$V","byFlag":{"` + key + `":"x"}}`,
			refused(`byFlag: each key must be "true" or "false"`)})...)
	}
	return append(out, rows(family, "judge",
		row{"byFlag: sound", `{"note":"$V","byFlag":{"true":"x","false":"y"}}`, reached()},
		row{"one number in two spellings", `{"note":"$V","byInt":{"7":"a","\u0037 ":"b"}}`, refused("byInt: " + isIntegerKey + "-2147483648 to 2147483647, written as a string")},
		row{"empty key of text", `{"labels":{"":"$V"}}`, reached()},
		row{"a key that looks like a path", `{"labels":{"items[].sku":"$V","{key}":"x","$K.y":"z"}}`, reached()},
		row{"a key that looks like JSON", `{"labels":{"\"},{\"$K\":\"":"$V"}}`, reached()},
		row{"keys that differ by case", `{"labels":{"$K":"$V","x":"1","X":"2"}}`, reached()},
		row{"keys that differ by normalisation", `{"labels":{"\u00e9":"$V","e\u0301":"x"}}`, reached()},
		row{"a bad value under a long key", `{"note":"$V","byName":{"$K` + strings.Repeat("k", 10_000) + `":7}}`, refused("byName.{key}: " + isObject)},
		row{"a list of pairs for a map", `{"labels":[{"key":"$K","value":"$V"}]}`, refused("labels: " + isObject)},
		row{"null under a key", `{"note":"$V","labels":{"$K":null}}`, refused("labels.{key}: " + isText + toGiveNone)},
		row{"null under a key of a message", `{"note":"$V","byName":{"$K":null}}`, refused("byName.{key}: " + isObject + toGiveNone)},
		row{"a problem under each of two keys is one", `{"note":"$V","labels":{"$K":1,"x":2}}`, refused("labels.{key}: " + isText)},
		row{"null under a key of values", `{"note":"$V","openByName":{"$K":null}}`, reached()},
		row{"10,000 keys", `{"note":"$V","labels":{` + textMembers(10_000) + `}}`, reached()},
	)...)
}

// textMembers are n members of distinct names whose values are text.
func textMembers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"m%d":"x"`, i)
	}
	return strings.Join(list, ",")
}

const (
	leafURL     = "type.googleapis.com/parcel.v1.Leaf"
	durationURL = "type.googleapis.com/google.protobuf.Duration"
	anyURL      = "type.googleapis.com/google.protobuf.Any"
	parcelURL   = "type.googleapis.com/parcel.v1.Parcel"
)

func anyGames() []payload {
	const family = "any"
	const foreign = "must be one of: " + anyURL + ", " + durationURL + ", " + leafURL + ", " + parcelURL
	const acceptedLeaf, acceptedParcel = "sku, quantity", "note, detail, details, byKey"
	return rows(family, "parcel",
		row{"a foreign type", `{"detail":{"@type":"type.googleapis.com/$V"}}`, refused("detail.@type: " + foreign)},
		row{"a foreign type with members", `{"detail":{"@type":"type.googleapis.com/evil.v1.Type","$K":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a linked type that the contract does not carry", `{"note":"$V","detail":{"@type":"type.googleapis.com/google.protobuf.FileDescriptorProto","name":"x"}}`, refused("detail.@type: " + foreign)},
		row{"another prefix", `{"detail":{"@type":"$K.example/parcel.v1.Leaf","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a URL that would be fetched", `{"detail":{"@type":"http://169.254.169.254/parcel.v1.Leaf","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"no prefix", `{"detail":{"@type":"parcel.v1.Leaf","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a slash alone before it", `{"detail":{"@type":"/parcel.v1.Leaf","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"two slashes", `{"detail":{"@type":"type.googleapis.com//parcel.v1.Leaf","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"other case", `{"detail":{"@type":"type.googleapis.com/parcel.v1.leaf","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"blank after it", `{"detail":{"@type":"` + leafURL + ` ","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"an empty type", `{"detail":{"@type":"","sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a type that is null", `{"detail":{"@type":null,"sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a type that is a number", `{"detail":{"@type":7,"sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a type that is an array", `{"detail":{"@type":["` + leafURL + `"],"sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"a type that is an object", `{"detail":{"@type":{"$K":"` + leafURL + `"},"sku":"$V"}}`, refused("detail.@type: " + foreign)},
		row{"no type", `{"detail":{"sku":"$V"}}`, refused("detail.@type: is required")},
		row{"nothing at all", `{"note":"$V","detail":{}}`, refused("detail.@type: is required")},
		row{"type without the at sign", `{"detail":{"type":"` + leafURL + `","sku":"$V"}}`, refused("detail.@type: is required")},
		row{"type by another name", `{"detail":{"typeUrl":"` + leafURL + `","value":"$V"}}`, refused("detail.@type: is required")},
		row{"the wire form", `{"detail":{"type_url":"` + leafURL + `","value":"CgF4","x":"$V"}}`, refused("detail.@type: is required")},
		row{"undeclared within", `{"detail":{"@type":"` + leafURL + `","$K":"$V"}}`, refused("detail: " + undeclaredOne + acceptedLeaf)},
		row{"undeclared before the type", `{"detail":{"$K":"$V","@type":"` + leafURL + `"}}`, refused("detail: " + undeclaredOne + acceptedLeaf)},
		row{"wrong type within", `{"detail":{"@type":"` + leafURL + `","quantity":"$V"}}`, refused("detail.quantity: must be an integer")},
		row{"wrong type within, before the type", `{"detail":{"quantity":"$V","@type":"` + leafURL + `"}}`, refused("detail.quantity: must be an integer")},
		row{"out of bounds within", `{"note":"$V","detail":{"quantity":2147483648,"@type":"` + leafURL + `"}}`, refused("detail.quantity: " + int32Range)},
		row{"null within", `{"note":"$V","detail":{"sku":null,"@type":"` + leafURL + `"}}`, refused("detail.sku: " + isText + toGiveNone)},
		row{"control character within", `{"detail":{"sku":"$V\u0000","@type":"` + leafURL + `"}}`, refused("detail.sku: " + noControls)},
		row{"a plain message under value", `{"detail":{"@type":"` + leafURL + `","value":{"sku":"$V"}}}`, refused("detail: " + undeclaredOne + acceptedLeaf)},
		row{"a form of its own beside the type", `{"note":"$V","detail":{"@type":"` + durationURL + `","seconds":1}}`,
			refused("detail.value: is required", "detail: "+undeclaredOne+"value")},
		row{"a form of its own without value", `{"note":"$V","detail":{"@type":"` + durationURL + `"}}`, refused("detail.value: is required")},
		row{"a bad form of its own", `{"detail":{"@type":"` + durationURL + `","value":"$V"}}`, refused("detail.value: " + isDuration)},
		row{"an any in an any without value", `{"detail":{"@type":"` + anyURL + `","sku":"$V"}}`, refused("detail.value: is required", "detail: "+undeclaredOne+"value")},
		row{"a foreign type in an any in an any", `{"detail":{"@type":"` + anyURL + `","value":{"@type":"$V"}}}`, refused("detail.value.@type: " + foreign)},
		row{"an any in a message in an any", `{"detail":{"@type":"` + parcelURL + `","detail":{"@type":"$V"}}}`, refused("detail.detail.@type: " + foreign)},
		row{"undeclared in a message in an any", `{"detail":{"@type":"` + parcelURL + `","$K":"$V"}}`, refused("detail: " + undeclaredOne + acceptedParcel)},
		row{"foreign in a list", `{"details":[{"@type":"` + leafURL + `"},{"@type":"$V"}]}`, refused("details[].@type: " + foreign)},
		row{"foreign in a map", `{"byKey":{"$K":{"@type":"$V"}}}`, refused("byKey.{key}.@type: " + foreign)},
		row{"undeclared in a map", `{"byKey":{"$K":{"@type":"` + leafURL + `","x":"$V"}}}`, refused("byKey.{key}: " + undeclaredOne + acceptedLeaf)},
		row{"text", `{"detail":"$V"}`, refused("detail: " + isObject)},
		row{"array", `{"detail":["$V"]}`, refused("detail: " + isObject)},
		row{"null", `{"note":"$V","detail":null}`, refused("detail: " + isObject + toGiveNone)},
		row{"a type of 65,536 characters", `{"note":"$V","detail":{"@type":"type.googleapis.com/` + strings.Repeat("x", 65_536) + `"}}`, refused("detail.@type: " + foreign)},
		row{"40 any in each other", `{"note":"$V","detail":` + nested(`{"@type":"`+anyURL+`","value":`, `{"@type":"`+leafURL+`"}`, "}", 40) + `}`, reached()},
		row{"the type last", `{"detail":{"sku":"$V","@type":"` + leafURL + `"}}`, reached()},
		row{"the type in the middle", `{"detail":{"sku":"$V","@type":"` + leafURL + `","quantity":1}}`, reached()},
		row{"the type by escapes", `{"detail":{"\u0040type":"type.googleapis.com\/parcel.v1.Leaf","sku":"$V"}}`, reached()},
		row{"a form of its own", `{"note":"$V","detail":{"value":"1.5s","@type":"` + durationURL + `"}}`, reached()},
	)
}

func timeForms() []payload {
	const family = "forms of text"
	var out []payload
	refuse := func(property, text string, values ...string) {
		for _, v := range values {
			out = append(out, rows(family, "judge", row{fmt.Sprintf("%s is %.50q", property, v), `{"note":"$V","` + property + `":"` + v + `"}`, refused(property + ": " + text)})...)
		}
	}
	accept := func(property string, values ...string) {
		for _, v := range values {
			out = append(out, rows(family, "judge", row{fmt.Sprintf("%s is %.50q", property, v), `{"note":"$V","` + property + `":"` + v + `"}`, reached()})...)
		}
	}
	refuse("at", isTimestamp,
		"$K", "now", "2024", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00Z", "2024-01-01T00:00:00.Z",
		"2024-01-01T00:00:00,5Z", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00z", "2016-12-31T23:59:60Z", "2024-01-01T24:00:00Z",
		"2024-01-01T00:60:00Z", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z",
		"0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "+2024-01-01T00:00:00Z", "24-01-01T00:00:00Z",
		"0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+00:60", "2024-01-01T00:00:00+0000",
		"2024-01-01T00:00:00+00", "2024-01-01T00:00:00ZZ", "2024-01-01T00:00:00 Z", " 2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z ",
		"2024-01-01T00:00:00Z\\n", "2024-01-01T00:00:00.1234567890Z", "2024-01-01T00:00:00UTC", "2024-W01-1T00:00:00Z", "2024-001T00:00:00Z",
		"20240101T000000Z", "1704067200", "1704067200.5", "２０２４-01-01T00:00:00Z", "Mon, 01 Jan 2024 00:00:00 GMT", "2024-1-1T0:0:0Z",
		"2024-01-01T00:00:00[Europe/Berlin]", "2024-01-01T00:00:00+01:00[Europe/Berlin]", "2024\u201301\u201301T00:00:00Z")
	accept("at", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2024-02-29T00:00:00Z", "2024-01-01T00:00:00+23:59", "2024-01-01T00:00:00-00:00",
		"0001-01-01T00:00:00-00:01", "1969-12-31T23:59:59.999999999Z")
	refuse("took", isDuration,
		"$K", "s", "1", "1.5", "1 s", " 1s", "1s ", "1S", "1ms", "1m", "1h", "PT1S", "+1s", "--1s", ".5s", "1.s", "1.0123456789s", "1e3s", "0x1s", "01s",
		"1,5s", "1s\\n", "1ss", "-s", "Infinitys", "NaNs", "315576000001s", "-315576000001s", "315576000000.000000001s", "-315576000000.000000001s",
		"999999999999s", "9999999999999999999999s", "１s", "1s1s")
	accept("took", "0s", "-0s", "-0.5s", "0.000000001s", "315576000000s", "-315576000000s", "1.50s")
	refuse("mask", isMask,
		" ", "display_name", "DisplayName", "a,", ",a", "a,,b", "a, b", "a b", "a.", ".a", "a..b", "*", "a.*", "a[0]", "a-b", "1a", "a/b", "a\\n", "é", "a.B", "$K.", "a;b", "a,_b")
	accept("mask", "a", "a.b", "a,b.c", "note,item.sku")
	for _, property := range []string{"raw", "boxedRaw"} {
		refuse(property, isBase64,
			"$K", "YQ", "YQ=", "YQ===", "Y", "Y===", "=", "====", "YR==", "YWJ=", "YWI", "_-8=", "YQ==\\n", "YQ\\r\\n==", " YQ==", "YQ== ", "Y Q==", "YQ==YQ==", "YQ==x", "data:;base64,YQ==", "YQ%3D%3D", "ＹQ==", "é")
		accept(property, "YQ==", "YWI=", "YWJj", "+/8=", "AAAA")
	}
	return append(out, rows(family, "judge",
		row{"timestamps in a list", `{"times":["2024-01-01T00:00:00Z","$V"]}`, refused("times[]: " + isTimestamp)},
		row{"a timestamp as its fields", `{"note":"$V","at":{"seconds":"1","nanos":1}}`, refused("at: " + isText)},
		row{"a timestamp as a number", `{"at":$N}`, refused("at: " + isText)},
		row{"a duration as its fields", `{"note":"$V","took":{"seconds":"1","$K":1}}`, refused("took: " + isText)},
		row{"a duration as a number", `{"took":$N}`, refused("took: " + isText)},
		row{"a mask as a list", `{"mask":["$V"]}`, refused("mask: " + isText)},
		row{"a mask as its fields", `{"mask":{"paths":["$V"]}}`, refused("mask: " + isText)},
		row{"bytes as a list", `{"raw":[$N,1]}`, refused("raw: " + isText)},
		row{"a wrapper as its field", `{"boxedText":{"value":"$V"}}`, refused("boxedText: " + isText)},
		row{"a struct as its fields", `{"object":{"fields":{"$K":{"stringValue":"$V"}}}}`, reached()},
		row{"a value as its field", `{"anyJson":{"stringValue":"$V"}}`, reached()},
	)...)
}

func longOnes() []payload {
	const family = "long"
	long := strings.Repeat("A", 1<<20)
	list := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	return append(rows(family, "judge",
		row{"a text of a million characters", `{"note":"$V` + long + `"}`, reached()},
		row{"a text of a million characters where a number belongs", `{"note":"$V","i32":"` + long + `"}`, refused("i32: must be an integer")},
		row{"a key of a million characters", `{"note":"$V","labels":{"` + long + `":"x"}}`, reached()},
		row{"an undeclared name of a million characters", `{"note":"$V","` + long + `":"x"}`, refused("arguments: " + undeclaredOne + acceptedEverything)},
		row{"an enum of a million characters", `{"note":"$V","color":"` + long + `"}`, refused("color: " + isColor)},
		row{"10,000 undeclared names", `{"note":"$V",` + members(10_000) + `}`, refused("arguments: 10000 undeclared properties; accepted: " + acceptedEverything)},
		row{"50,000 wrong items", `{"note":"$V","numbers":[` + list(`"$K"`, 50_000) + `]}`, refused("numbers[]: must be an integer")},
		row{"50,000 empty items", `{"note":"$V","items":[` + list(`{}`, 50_000) + `]}`, reached()},
		row{"10,000 wrong values of a map", `{"note":"$V","labels":{` + members(10_000) + `}}`, refused("labels.{key}: must be a string")},
		row{"a million escapes", `{"note":"$V` + strings.Repeat(`\u0041`, 150_000) + `"}`, reached()},
		row{"a megabyte of white space", `{"note":` + strings.Repeat(" ", 1<<20) + `"$V"}`, reached()},
	), bodies(family,
		body{"a tool's name of a million characters", toolCall("$V"+long, `{}`), inBand(-32602).but(ofTheEnvelope(-32020))},
		body{"a method of a million characters", rpc("$V"+long, ``), inBand(-32601).but(ofTheEnvelope(-32020))},
		body{"a cursor of a million characters", rpc("tools/list", `{"cursor":"$V`+long+`"}`), inBand(-32602)},
		body{"a member of _meta of a million characters", rpc("ping", `{"_meta":{"$K`+long+`":"$V"}}`), answered()},
		body{"10,000 unknown members", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"$V"},` + members(10_000) + `}`, answered()},
	)...)
}

// afterTheGate are arguments that the published keywords accept and protovalidate refuses. What it says may be the rule's
// constant message or id, and never a message that CEL made.
func afterTheGate() []payload {
	const family = "after the gate"
	return rows(family, "constrain",
		row{"CEL with a constant message", `{"note":"$V","low":2,"high":1}`, refused("arguments: low must not be above high")},
		row{"CEL with a message that it makes", `{"note":"$V","low":3,"high":5}`, refused("arguments: must satisfy the rule told")},
		row{"both", `{"note":"$V","low":3,"high":1}`, refused("arguments: low must not be above high", "arguments: must satisfy the rule told")},
		row{"a prefix", `{"note":"$V","begins":"$K"}`, refused(`begins: must begin with "p-"`)},
		row{"a prefix beside CEL", `{"low":2,"high":1,"begins":"$K","note":"$V"}`, refused(`begins: must begin with "p-"`, "arguments: low must not be above high")},
		row{"the gate's refusal comes alone", `{"note":"$V","low":2,"high":1,"begins":7}`, refused("begins: must be a string")},
		row{"within the rules", `{"note":"$V","low":1,"high":2,"begins":"p-$K"}`, reached()},
	)
}
