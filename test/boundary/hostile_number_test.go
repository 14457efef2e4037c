package boundary_test

import (
	"fmt"
	"strings"
)

// Families about numbers: their size and spelling, the bounds of every kind, and the text of the 64-bit ones
// (boundary.md, "The gate").

// int32Range and the others are the limits that a refusal states.
const (
	int32Range  = "must be from -2147483648 to 2147483647"
	uint32Range = "must be from 0 to 4294967295"
	int64Text   = "must be an integer from -9223372036854775808 to 9223372036854775807, written as a string"
	uint64Text  = "must be an integer from 0 to 18446744073709551615, written as a string"
	floatMost   = "must be at most 3.4028235e+38"
	floatLeast  = "must be at least -3.4028235e+38"
	doubleHolds = "must be a number that a double can hold"
	openHolds   = "must hold no number that a double cannot"
)

func bounds() []payload {
	const family = "bounds"
	// at puts one value into a property beside the note.
	at := func(list *[]payload, tool, property string, values ...[2]string) {
		for _, v := range values {
			w := reached()
			if v[1] != "" {
				w = refused(property + ": " + v[1])
			}
			// An array's or a map's own value is written by the row.
			path, _, _ := strings.Cut(property, "[")
			path, _, _ = strings.Cut(path, ".")
			value := v[0]
			if strings.HasSuffix(property, "[]") {
				value = "[" + value + "]"
			}
			if strings.HasSuffix(property, ".{key}") {
				value = `{"7":` + value + "}"
			}
			name := fmt.Sprintf("%s: %s is %.40s", tool, property, v[0])
			*list = append(*list, rows(family, tool, row{name, `{"note":"$V","` + path + `":` + value + `}`, w})...)
		}
	}
	var out []payload
	for _, property := range []string{"i32", "s32", "x32", "boxedInt", "numbers[]"} {
		at(&out, "judge", property,
			[2]string{"-2147483649", int32Range}, [2]string{"-2147483648", ""}, [2]string{"2147483647", ""}, [2]string{"2147483648", int32Range})
	}
	for _, property := range []string{"u32", "f32", "boxedUint"} {
		at(&out, "judge", property,
			[2]string{"-1", uint32Range}, [2]string{"0", ""}, [2]string{"4294967295", ""}, [2]string{"4294967296", uint32Range})
	}
	for _, property := range []string{"i64", "s64", "x64", "boxedLong", "longs[]", "third"} {
		at(&out, "judge", property,
			[2]string{`"-9223372036854775809"`, int64Text}, [2]string{`"-9223372036854775808"`, ""},
			[2]string{`"9223372036854775807"`, ""}, [2]string{`"9223372036854775808"`, int64Text})
	}
	for _, property := range []string{"u64", "f64", "boxedUlong"} {
		at(&out, "judge", property,
			[2]string{`"-1"`, uint64Text}, [2]string{`"0"`, ""},
			[2]string{`"18446744073709551615"`, ""}, [2]string{`"18446744073709551616"`, uint64Text})
	}
	at(&out, "judge", "byUlong.{key}", [2]string{`"9223372036854775808"`, int64Text}, [2]string{`"9223372036854775807"`, ""})
	for _, property := range []string{"small", "boxedSmall"} {
		at(&out, "judge", property,
			[2]string{"3.4028235e38", ""}, [2]string{"3.4028236e38", floatMost},
			[2]string{"-3.4028235e38", ""}, [2]string{"-3.4028236e38", floatLeast})
	}
	for _, property := range []string{"num", "boxedNum"} {
		at(&out, "judge", property,
			[2]string{"1.7976931348623157e308", ""}, [2]string{"-1.7976931348623157e308", ""},
			[2]string{"1.8e308", doubleHolds}, [2]string{"-1.8e308", doubleHolds})
	}
	const long, ulong = "must be from -9223372036854775808 to 9223372036854775807", "must be from 0 to 18446744073709551615"
	for _, property := range []string{"i64", "s64", "x64", "boxedLong", "longs[]"} {
		at(&out, "judge_numeric", property,
			[2]string{"-9223372036854775809", long}, [2]string{"-9223372036854775808", ""},
			[2]string{"9223372036854775807", ""}, [2]string{"9223372036854775808", long})
	}
	for _, property := range []string{"u64", "f64", "boxedUlong"} {
		at(&out, "judge_numeric", property,
			[2]string{"-1", ulong}, [2]string{"0", ""}, [2]string{"18446744073709551615", ""}, [2]string{"18446744073709551616", ulong})
	}
	at(&out, "judge_numeric", "i64", [2]string{`"1"`, "must be an integer"}, [2]string{"9007199254740993", ""})

	// The rules of protovalidate.
	at(&out, "bound", "inner", [2]string{"0", "must be from 1 to 9"}, [2]string{"1", ""}, [2]string{"9", ""}, [2]string{"10", "must be from 1 to 9"})
	at(&out, "bound", "ends",
		[2]string{`"-6"`, "must be an integer from -5 to 5, written as a string"}, [2]string{`"-5"`, ""},
		[2]string{`"5"`, ""}, [2]string{`"6"`, "must be an integer from -5 to 5, written as a string"})
	at(&out, "bound", "above",
		[2]string{`"18446744073709551614"`, "must be an integer from 18446744073709551615 to 18446744073709551615, written as a string"},
		[2]string{`"18446744073709551615"`, ""})
	at(&out, "bound", "ratio",
		[2]string{"0.49999999999999994", "must be at least 0.5"}, [2]string{"0.5", ""},
		[2]string{"1.4999999999999998", ""}, [2]string{"1.5", "must be less than 1.5"}, [2]string{"15e-1", "must be less than 1.5"})
	at(&out, "bound", "slim", [2]string{"0", "must be greater than 0"}, [2]string{"-0", "must be greater than 0"}, [2]string{"1e-30", ""})
	at(&out, "bound", "even", [2]string{"3", "must be one of: 2, 4"}, [2]string{"2", ""}, [2]string{"4.0", ""}, [2]string{"40e-1", ""})
	at(&out, "bound", "odd", [2]string{"2", "must be none of: 2, 4"}, [2]string{"4.0", "must be none of: 2, 4"}, [2]string{"3", ""})
	at(&out, "bound", "on", [2]string{"false", "must be true"}, [2]string{"true", ""})
	at(&out, "bound", "short", [2]string{`"abcd"`, ""}, [2]string{`"abcde"`, "must have at most 4 characters"},
		[2]string{`"😀😀😀😀"`, ""}, [2]string{`"\ud83d\ude00éab"`, ""}, [2]string{`"e\u0301abc"`, "must have at most 4 characters"})
	at(&out, "bound", "long", [2]string{`"ab"`, "must have at least 3 characters"}, [2]string{`"abc"`, ""},
		[2]string{`"😀"`, "must have at least 3 characters"}, [2]string{`""`, "must have at least 3 characters"})
	at(&out, "bound", "exact", [2]string{`"a"`, "must have at least 2 characters"}, [2]string{`"ab"`, ""}, [2]string{`"abc"`, "must have at most 2 characters"})
	at(&out, "bound", "form", [2]string{`"ab"`, ""}, [2]string{`"a"`, "must match the pattern ^[a-z]{2,4}$"},
		[2]string{`"abcde"`, "must match the pattern ^[a-z]{2,4}$"}, [2]string{`"ab\n"`, "must match the pattern ^[a-z]{2,4}$"},
		[2]string{`"AB"`, "must match the pattern ^[a-z]{2,4}$"})
	at(&out, "bound", "choice", [2]string{`"x"`, ""}, [2]string{`"X"`, "must be one of: x, y"}, [2]string{`"x "`, "must be one of: x, y"})
	at(&out, "bound", "banned", [2]string{`"x"`, "must be none of: x, y"}, [2]string{`"\u0078"`, "must be none of: x, y"}, [2]string{`"z"`, ""})
	at(&out, "bound", "fixed", [2]string{`"on"`, ""}, [2]string{`"On"`, `must be "on"`}, [2]string{`""`, `must be "on"`})
	at(&out, "bound", "mail", [2]string{`"a@b.example"`, ""}, [2]string{`"a@b@c"`, "must be of the format email"}, [2]string{`"a b@c"`, "must be of the format email"})
	at(&out, "bound", "host", [2]string{`"a.example"`, ""}, [2]string{`"-a.example"`, "must be of the format hostname"}, [2]string{`"a_b"`, "must be of the format hostname"})
	at(&out, "bound", "four", [2]string{`"192.0.2.255"`, ""}, [2]string{`"192.0.2.256"`, "must be of the format ipv4"}, [2]string{`"192.0.2.01"`, "must be of the format ipv4"})
	at(&out, "bound", "six", [2]string{`"::1"`, ""}, [2]string{`"fe80::1%eth0"`, "must be of the format ipv6"}, [2]string{`":::"`, "must be of the format ipv6"})
	at(&out, "bound", "link", [2]string{`"https://a.example/b?c#d"`, ""}, [2]string{`"/relative"`, "must be of the format uri"}, [2]string{`"http://a b"`, "must be of the format uri"})
	at(&out, "bound", "ident", [2]string{`"0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e"`, ""}, [2]string{`"{0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e}"`, "must be of the format uuid"})
	at(&out, "bound", "unique", [2]string{"[1,2]", ""}, [2]string{"[1,2,1]", "must have no two equal items"}, [2]string{"[10,1e1]", "must have no two equal items"})
	at(&out, "bound", "each[]", [2]string{`"abc"`, ""}, [2]string{`"abcd"`, "must have at most 3 characters"})
	at(&out, "bound", "keyed.{key}", [2]string{"0", ""}, [2]string{"-1", "must be from 0 to 2147483647"})
	out = append(out, rows(family, "bound",
		row{"a key of 3 characters", `{"note":"$V","keyed":{"abc":1}}`, reached()},
		row{"a key of 4 characters", `{"note":"$V","keyed":{"$K":1}}`, refused("keyed: each key must have at most 3 characters")},
		row{"1 item of 2", `{"note":"$V","counted":{"list":["$K"],"pairs":{"a":"b"}}}`, refused("counted.list: must have at least 2 items")},
		row{"2 items", `{"note":"$V","counted":{"list":["a","b"],"pairs":{"a":"b"}}}`, reached()},
		row{"3 items", `{"note":"$V","counted":{"list":["a","b","c"],"pairs":{"a":"b"}}}`, reached()},
		row{"4 items", `{"note":"$V","counted":{"list":["a","b","c","$K"],"pairs":{"a":"b"}}}`, refused("counted.list: must have at most 3 items")},
		row{"0 pairs", `{"note":"$V","counted":{"list":["a","b"],"pairs":{}}}`, refused("counted.pairs: must have at least 1 entry")},
		row{"2 pairs", `{"note":"$V","counted":{"list":["a","b"],"pairs":{"a":"b","c":"d"}}}`, reached()},
		row{"3 pairs", `{"note":"$V","counted":{"list":["a","b"],"pairs":{"a":"b","c":"d","$K":"e"}}}`, refused("counted.pairs: must have at most 2 entries")},
		row{"hue outside", `{"note":"$V","hue":"RED"}`, refused(`hue: must be "GREEN"`)},
		row{"hue inside", `{"note":"$V","hue":"GREEN"}`, reached()},
	)...)
	return out
}

func hugeNumbers() []payload {
	const family = "huge numbers"
	ones := func(n int) string { return strings.Repeat("1", n) }
	return append(rows(family, "judge",
		row{"exponent of a thousand million on an integer", `{"note":"$V","i32":1e1000000000}`, refused("i32: " + int32Range)},
		row{"exponent beyond 64 bits on an integer", `{"note":"$V","i32":1e99999999999999999999}`, refused("i32: " + int32Range)},
		row{"negative exponent of a thousand million on an integer", `{"note":"$V","i32":1e-1000000000}`, refused("i32: must be an integer")},
		row{"zero with an exponent of a thousand million", `{"note":"$V","i32":0e1000000000}`, reached()},
		row{"zero with a negative exponent beyond 64 bits", `{"note":"$V","i32":0e-99999999999999999999}`, reached()},
		row{"exponent of a thousand million on an unsigned integer", `{"note":"$V","u32":1e1000000000}`, refused("u32: " + uint32Range)},
		row{"exponent of a thousand million on a double", `{"note":"$V","num":1e1000000000}`, refused("num: " + doubleHolds)},
		row{"negative exponent of a thousand million on a double", `{"note":"$V","num":1e-1000000000}`, reached()},
		row{"exponent of a thousand million on a float", `{"note":"$V","small":-1e1000000000}`, refused("small: " + doubleHolds)},
		row{"1e400 on a double", `{"num":$Ne400}`, refused("num: " + doubleHolds)},
		row{"-1e400 on a double", `{"num":-$Ne400}`, refused("num: " + doubleHolds)},
		row{"1e400 in a value", `{"anyJson":$Ne400}`, refused("anyJson: " + openHolds)},
		row{"1e400 deep in a value", `{"anyJson":{"a":[{"$K":-$Ne400}]}}`, refused("anyJson: " + openHolds)},
		row{"1e400 in a struct", `{"object":{"$K":$Ne400}}`, refused("object: " + openHolds)},
		row{"1e400 in a list value", `{"list":[[$Ne400]]}`, refused("list: " + openHolds)},
		row{"1e400 in a map of values", `{"openByName":{"$K":$Ne400}}`, refused("openByName.{key}: " + openHolds)},
		row{"1e400 in a property of another type", `{"note":$Ne400}`, refused("note: must be a string")},
		row{"1,000 characters on an integer", `{"note":"$V","i32":` + ones(1000) + `}`, refused("i32: " + int32Range)},
		row{"1,000 characters on a double", `{"note":"$V","num":0.` + ones(998) + `}`, reached()},
		row{"1,000 characters of zeros after the point", `{"note":"$V","i32":7.` + strings.Repeat("0", 998) + `}`, reached()},
		row{"a one after 997 zeros", `{"note":"$V","i32":7.` + strings.Repeat("0", 997) + `1}`, refused("i32: must be an integer")},
		row{"310 digits in a value", `{"note":"$V","anyJson":` + ones(310) + `}`, refused("anyJson: " + openHolds)},
		row{"309 digits in a value", `{"note":"$V","anyJson":` + ones(309) + `}`, reached()},
		row{"minus zero on an unsigned integer", `{"note":"$V","u32":-0}`, reached()},
		row{"minus zero with a point on an unsigned integer", `{"note":"$V","u32":-0.0}`, reached()},
		row{"an integer by exponent", `{"note":"$V","i32":1E+5}`, reached()},
		row{"an integer by negative exponent", `{"note":"$V","i32":7000e-3}`, reached()},
		row{"a fraction by negative exponent", `{"note":"$V","i32":7001e-3}`, refused("i32: must be an integer")},
		row{"a fraction below a double's precision", `{"note":"$V","i32":1.00000000000000000001}`, refused("i32: must be an integer")},
		row{"one more than the bound, below a double's precision", `{"note":"$V","i32":2147483647.0000000000000001}`, refused("i32: must be an integer")},
		row{"many digits on an integer", `{"i32":$N$N$N}`, refused("i32: " + int32Range)},
		row{"many digits in an item", `{"items":[{"quantity":$N$N}]}`, refused("items[].quantity: " + int32Range)},
		row{"many digits on a boolean", `{"flag":$N}`, refused("flag: must be true or false")},
		row{"many digits on an enum", `{"color":$N}`, refused("color: must be a string")},
		row{"many digits on a string", `{"note":$N}`, refused("note: must be a string")},
		row{"many digits on an object", `{"item":$N}`, refused("item: must be an object")},
		row{"many digits on a list", `{"words":$N}`, refused("words: must be an array")},
	), bodies(family,
		body{"1,001 characters on an integer", toolCall("judge", `{"note":"$V","i32":`+ones(1001)+`}`), noDocument()},
		body{"1,001 characters deep in a value", toolCall("judge", `{"note":"$V","anyJson":[{"a":[`+ones(1001)+`]}]}`), noDocument()},
		body{"1,001 characters in a fraction", toolCall("judge", `{"note":"$V","num":0.`+ones(999)+`}`), noDocument()},
		body{"1,001 characters in an exponent", toolCall("judge", `{"note":"$V","num":1e`+strings.Repeat("0", 998)+`1}`), noDocument()},
		body{"1,001 characters in an undeclared property", toolCall("judge", `{"$K":`+ones(1001)+`}`), noDocument()},
		body{"1,001 characters in the envelope", `{"jsonrpc":"2.0","id":1,"method":"ping","$K":"$V","x":` + ones(1001) + `}`, noDocument()},
		body{"1,001 characters in _meta", rpc("ping", `{"_meta":{"progressToken":`+ones(1001)+`,"x":"$V"}}`), noDocument()},
		body{"1,001 characters for an id", `{"jsonrpc":"2.0","id":` + ones(1001) + `,"method":"ping","x":"$V"}`, noDocument()},
		body{"1,001 characters for a tool's name", rpc("tools/call", `{"name":`+ones(1001)+`,"x":"$V"}`), noDocument()},
		body{"a million characters", toolCall("judge", `{"note":"$V","num":`+ones(1_000_000)+`}`), noDocument()},
	)...)
}

func integerText() []payload {
	const family = "64-bit text"
	var out []payload
	for _, r := range []struct{ name, text string }{
		{"blank", ` `}, {"leading blank", ` 5`}, {"trailing blank", `5 `}, {"trailing line end", `5\n`},
		{"plus", `+5`}, {"leading zero", `05`}, {"minus zero", `-0`}, {"minus leading zero", `-05`}, {"minus alone", `-`},
		{"fraction", `5.0`}, {"fraction that is none", `5.`}, {"exponent", `5e0`}, {"hexadecimal", `0x5`}, {"octal", `0o5`},
		{"underscore", `5_0`}, {"thousands", `5,000`}, {"suffix", `5n`}, {"two minuses", `--5`}, {"NaN", `NaN`}, {"Infinity", `Infinity`},
		{"full-width digits", `５`}, {"Arabic digits", `٥`}, {"minus sign U+2212", `\u22125`}, {"digits with a zero width space", `5\u200b`},
		{"NUL after", `5\u0000`}, {"null as text", `null`}, {"quoted twice", `\"5\"`},
		{"20 digits", `$N999999`}, {"400 digits", strings.Repeat("9", 400)}, {"10,000 digits", strings.Repeat("9", 10_000)},
	} {
		w := refused("i64: " + int64Text)
		if r.name == "NUL after" {
			w = refused("i64: must not contain control characters other than tab, newline and carriage return")
		}
		out = append(out, rows(family, "judge", row{r.name, `{"note":"$V","i64":"` + r.text + `"}`, w})...)
	}
	for _, property := range []string{"s64", "x64", "boxedLong", "third"} {
		out = append(out, rows(family, "judge", row{"words for " + property, `{"note":"$V","` + property + `":"$K"}`, refused(property + ": " + int64Text)})...)
	}
	return append(out, rows(family, "judge",
		row{"by escapes", `{"note":"$V","i64":"\u0035"}`, reached()},
		row{"digits of the canary", `{"note":"$V","i64":"$N"}`, reached()},
		row{"a number", `{"i64":$N}`, refused("i64: must be a string")},
		row{"a number above 2^53", `{"note":"$V","i64":9007199254740993}`, refused("i64: must be a string")},
		row{"a number in an array", `{"longs":["5",$N]}`, refused("longs[]: must be a string")},
		row{"a number for a map's value", `{"byUlong":{"5":$N}}`, refused("byUlong.{key}: must be a string")},
	)...)
}
