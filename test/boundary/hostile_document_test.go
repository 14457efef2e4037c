package boundary_test

import (
	"fmt"
	"strings"
)

// Families of bytes that are not one strict JSON document (boundary.md, "The decoder"), and of ones that look like it
// and are.

func duplicateKeys() []payload {
	const bad = "duplicate keys"
	var out []payload
	add := func(name, text string) {
		out = append(out, bodies(bad, body{name, text, noDocument()})...)
	}
	// In the envelope and what is beside it.
	add("id", `{"jsonrpc":"2.0","id":"$V","id":1,"method":"ping"}`)
	add("jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"ping","jsonrpc":"$V"}`)
	add("method", `{"jsonrpc":"2.0","id":1,"method":"$V","method":"ping"}`)
	add("params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{"x":"$V"}}`)
	add("undeclared in the envelope", `{"jsonrpc":"2.0","id":1,"method":"ping","$K":1,"$K":"$V"}`)
	add("empty name in the envelope", `{"jsonrpc":"2.0","id":1,"method":"ping","":1,"":"$V"}`)
	add("method by escape", `{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"$V"}`)
	add("params by capital escape", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"$V"},"\u0070\u0061\u0072\u0061\u006D\u0073":{}}`)
	add("in a member that nobody reads", `{"jsonrpc":"2.0","id":1,"method":"ping","x":{"$K":1,"$K":"$V"}}`)
	add("deep in a member that nobody reads", `{"jsonrpc":"2.0","id":1,"method":"ping","x":[[{"y":[{"$K":1,"$K":"$V"}]}]]}`)
	add("in a posted result", `{"jsonrpc":"2.0","id":5,"result":{"$K":1,"$K":"$V"}}`)
	add("in a posted error", `{"jsonrpc":"2.0","id":5,"error":{"code":1,"code":2,"message":"$V"}}`)
	add("in a notification", `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"$K":1,"$K":"$V"}}`)
	add("in an unknown method", `{"jsonrpc":"2.0","id":1,"method":"$V","params":{"$K":1,"$K":2}}`)
	add("in initialize", rpc("initialize", `{"protocolVersion":"2025-11-25","protocolVersion":"$V","capabilities":{}}`))
	add("in clientInfo", rpc("initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"$V","name":"x"}}`))
	add("cursor", rpc("tools/list", `{"cursor":"$V","cursor":"AWE"}`))
	add("name", rpc("tools/call", `{"name":"$V","name":"judge","arguments":{}}`))
	add("name twice the same", rpc("tools/call", `{"name":"judge","name":"judge","arguments":{"note":"$V"}}`))
	add("arguments", rpc("tools/call", `{"name":"judge","arguments":{"note":"$V"},"arguments":{}}`))
	add("arguments by escape", rpc("tools/call", `{"name":"judge","arguments":{},"\u0061rguments":{"note":"$V"}}`))
	add("undeclared in params", rpc("tools/call", `{"name":"judge","arguments":{},"$K":1,"$K":"$V"}`))
	add("_meta", rpc("tools/call", `{"name":"judge","arguments":{},"_meta":{},"_meta":{"x":"$V"}}`))
	add("in _meta", rpc("tools/call", `{"name":"judge","arguments":{},"_meta":{"$K":1,"$K":"$V"}}`))
	add("progressToken", rpc("tools/call", `{"name":"judge","arguments":{},"_meta":{"progressToken":1,"progressToken":"$V"}}`))
	add("deep in _meta", rpc("tools/call", `{"name":"judge","arguments":{},"_meta":{"a":[{"b":{"$K":1,"$K":"$V"}}]}}`))
	add("protocol version in _meta", rpc("tools/call", `{"name":"judge","_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/protocolVersion":"$V"}}`))
	add("_meta of a notification", `{"jsonrpc":"2.0","method":"x","params":{"_meta":{"$K":1,"$K":"$V"}}}`)

	// In the arguments, at every depth and in every kind of value.
	for _, r := range []struct{ name, arguments string }{
		{"declared", `{"note":"x","note":"$V"}`},
		{"declared, the same value", `{"note":"$V","note":"$V"}`},
		{"declared, another type", `{"i32":1,"i32":"$V"}`},
		{"declared, null first", `{"note":null,"note":"$V"}`},
		{"undeclared", `{"$K":1,"$K":"$V"}`},
		{"three times", `{"note":"a","note":"b","note":"$V"}`},
		{"far apart", `{"note":"a",` + members(1000) + `,"note":"$V"}`},
		{"in a nested message", `{"item":{"sku":"a","sku":"$V"}}`},
		{"undeclared in a nested message", `{"item":{"$K":1,"$K":"$V"}}`},
		{"in an item", `{"items":[{"sku":"a"},{"quantity":1,"quantity":2,"sku":"$V"}]}`},
		{"deep in items", `{"items":[{"parts":[{"parts":[{"sku":"a","sku":"$V"}]}]}]}`},
		{"key of a map", `{"labels":{"$K":"a","$K":"$V"}}`},
		{"key of a map of integers", `{"byInt":{"7":"a","7":"$V"}}`},
		{"key of a map of booleans", `{"byFlag":{"true":"a","true":"$V"}}`},
		{"in a map's value", `{"byName":{"$K":{"sku":"a","sku":"$V"}}}`},
		{"in a struct", `{"object":{"$K":1,"$K":"$V"}}`},
		{"deep in a struct", `{"object":{"a":{"b":[{"$K":1,"$K":"$V"}]}}}`},
		{"in a list value", `{"list":[[{"$K":1,"$K":"$V"}]]}`},
		{"in a value", `{"anyJson":{"$K":1,"$K":"$V"}}`},
		{"in a map of values", `{"openByName":{"x":{"$K":1,"$K":"$V"}}}`},
		{"where no member is declared", `{"nothing":{"$K":1,"$K":"$V"}}`},
		{"in a hidden property", `{"secret":{"$K":1,"$K":"$V"}}`},
		{"in a property of the wrong type", `{"i32":{"$K":1,"$K":"$V"}}`},
		{"at the deepest level", `{"anyJson":` + nested("[", `{"$K":1,"$K":"$V"}`, "]", 98) + `}`},
		{"by escape", `{"note":"a","\u006eote":"$V"}`},
		{"by escapes of both cases", `{"\u006E\u006fte":"a","\u006e\u006Fte":"$V"}`},
		{"by escaped solidus", `{"object":{"a/b":1,"a\/b":"$V"}}`},
		{"by escaped quote", `{"object":{"a\"b":1,"a\u0022b":"$V"}}`},
		{"by escaped backslash", `{"object":{"a\\b":1,"a\u005cb":"$V"}}`},
		{"by surrogate pair", `{"object":{"😀":1,"\ud83d\ude00":"$V"}}`},
		{"by escaped NUL", `{"object":{"a\u0000":1,"a\u0000":"$V"}}`},
		{"empty name", `{"object":{"":1,"":"$V"}}`},
		{"blank name", `{"object":{" ":1," ":"$V"}}`},
		{"prototype name", `{"object":{"__proto__":{},"__proto__":"$V"}}`},
		{"long name", `{"object":{"` + strings.Repeat("x", 65_536) + `":1,"` + strings.Repeat("x", 65_536) + `":"$V"}}`},
		{"both spellings and a duplicate", `{"orderId":"a","order_id":"b","orderId":"$V"}`},
		{"case does not fold, the duplicate does", `{"Note":"a","note":"b","Note":"$V"}`},
	} {
		add("arguments: "+r.name, toolCall("judge", r.arguments))
	}
	for _, r := range []struct{ name, arguments string }{
		{"type of an any", `{"detail":{"@type":"type.googleapis.com/parcel.v1.Leaf","@type":"$V"}}`},
		{"in an any", `{"detail":{"@type":"type.googleapis.com/parcel.v1.Leaf","sku":"a","sku":"$V"}}`},
		{"type of an any by escape", `{"detail":{"@type":"type.googleapis.com/parcel.v1.Leaf","\u0040type":"$V"}}`},
		{"in an any of an unknown type", `{"detail":{"@type":"$V","$K":1,"$K":2}}`},
	} {
		add("arguments: "+r.name, toolCall("parcel", r.arguments))
	}
	add("arguments of a tool that nobody has", toolCall("$V", `{"$K":1,"$K":2}`))
	add("arguments that are an array", toolCall("judge", `[{"$K":1,"$K":"$V"}]`))
	return out
}

// members are n members of distinct names.
func members(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"m%d":%d`, i, i)
	}
	return strings.Join(list, ",")
}

func notJSON() []payload {
	sound := rpc("ping", `{"x":"$V"}`)
	var out []payload
	for _, r := range []struct{ name, text string }{
		{"text", `$V`},
		{"text in quotes, unclosed", `"$V`},
		{"cut off in the envelope", `{"jsonrpc":"2.0","id":1,"method":"$V"`},
		{"cut off in a string", `{"jsonrpc":"2.0","id":1,"method":"$V`},
		{"cut off after a colon", `{"jsonrpc":"2.0","$K":`},
		{"second document", sound + `{"x":"$V"}`},
		{"second document after a line end", sound + "\n" + sound},
		{"value after the document", sound + ` "$V"`},
		{"bytes after the document", sound + `$V`},
		{"closing brace after the document", sound + `}`},
		{"comma after the document", sound + `,`},
		{"NUL after the document", sound + "\x00"},
		{"NUL before the document", "\x00" + sound},
		{"NUL in white space", `{"jsonrpc":"2.0",` + "\x00" + `"id":1,"method":"ping","x":"$V"}`},
		{"byte order mark", "\ufeff" + sound},
		{"byte order mark after the document", sound + "\ufeff"},
		{"form feed as white space", "\f" + sound},
		{"no-break space as white space", "\u00a0" + sound},
		{"vertical tab as white space", `{"jsonrpc":"2.0",` + "\v" + `"id":1,"method":"ping","x":"$V"}`},
		{"record separator", "\x1e" + sound},
		{"line comment", `{"jsonrpc":"2.0", // $V` + "\n" + `"id":1,"method":"ping"}`},
		{"block comment", `{"jsonrpc":"2.0",/* $V */"id":1,"method":"ping"}`},
		{"hash comment", "# $V\n" + rpc("ping", "")},
		{"markup", `<?xml version="1.0"?><call id="$V"/>`},
		{"form", `method=ping&id=$V`},
		{"YAML", "jsonrpc: \"2.0\"\nmethod: $V\n"},
		{"JSON with a guard", `)]}',` + "\n" + sound},
		{"callback", `cb(` + sound + `)`},
	} {
		out = append(out, bodies("not json", body{r.name, r.text, noDocument()})...)
	}
	for _, r := range []struct{ name, arguments string }{
		{"trailing comma in an object", `{"note":"$V",}`},
		{"trailing comma in an array", `{"words":["$V",]}`},
		{"leading comma", `{,"note":"$V"}`},
		{"two commas", `{"note":"$V",,"flag":true}`},
		{"no comma", `{"note":"$V" "flag":true}`},
		{"no colon", `{"note" "$V"}`},
		{"equals sign", `{"note"="$V"}`},
		{"single quotes", `{'note':'$V'}`},
		{"backquotes", "{`note`:`$V`}"},
		{"unquoted name", `{$K:1}`},
		{"unquoted value", `{"note":$V}`},
		{"number for a name", `{7:"$V"}`},
		{"null for a name", `{null:"$V"}`},
		{"leading zero", `{"i32":0$N}`},
		{"minus and leading zero", `{"i32":-0$N}`},
		{"plus sign", `{"i32":+$N}`},
		{"bare point before", `{"num":.$N}`},
		{"bare point after", `{"num":$N.}`},
		{"exponent without digits", `{"num":$Ne}`},
		{"exponent sign without digits", `{"num":$Ne+}`},
		{"two points", `{"num":1.$N.1}`},
		{"minus alone", `{"num":-,"note":"$V"}`},
		{"two minuses", `{"num":--$N}`},
		{"hexadecimal", `{"i32":0x$N}`},
		{"octal", `{"i32":0o17,"note":"$V"}`},
		{"binary", `{"i32":0b11,"note":"$V"}`},
		{"underscores", `{"i32":1_000,"note":"$V"}`},
		{"big integer suffix", `{"i32":$Nn}`},
		{"NaN", `{"num":NaN,"note":"$V"}`},
		{"nan", `{"num":nan,"note":"$V"}`},
		{"Infinity", `{"num":Infinity,"note":"$V"}`},
		{"minus Infinity", `{"num":-Infinity,"note":"$V"}`},
		{"undefined", `{"num":undefined,"note":"$V"}`},
		{"True", `{"flag":True,"note":"$V"}`},
		{"NULL", `{"note":NULL,"words":["$V"]}`},
		{"truetrue", `{"flag":truetrue,"note":"$V"}`},
		{"full-width digits", `{"i32":１２,"note":"$V"}`},
		{"typographic quotes", `{“note”:“$V”}`},
		{"unknown escape", `{"note":"\x41$V"}`},
		{"escape of a line end", "{\"note\":\"$V\\\n\"}"},
		{"short Unicode escape", `{"note":"\u00e$V"}`},
		{"Unicode escape in braces", `{"note":"\u{1F600}$V"}`},
		{"Unicode escape in capitals", `{"note":"\U0001F600$V"}`},
		{"escaped quote at the end", `{"note":"$V\"}`},
		{"mismatched brackets", `{"words":["$V"}]`},
		{"unclosed array", `{"words":["$V"}`},
		{"object closed twice", `{"note":"$V"}}`},
		{"template", `{"note":"$V"+"x"}`},
		{"regular expression", `{"note":/$V/}`},
		{"function", `{"note":function(){return "$V"}}`},
	} {
		out = append(out, bodies("not json", body{"arguments: " + r.name, toolCall("judge", r.arguments), noDocument()})...)
	}
	out = append(out, bodies("white space that JSON has",
		body{"all four kinds around everything", " \t\r\n{ \"jsonrpc\" :\t\"2.0\" ,\r\n\"id\" : 1 , \"method\" : \"ping\" , \"params\" : { \"x\" : \"$V\" } } \n", answered()},
		body{"in the arguments", toolCall("judge", "\n{\t\"note\"\r: \"$V\" , \"words\" : [ \"a\" , \"b\" ] }\n"), reached()})...)
	return out
}

func notUTF8() []payload {
	var out []payload
	for _, r := range []struct{ name, bytes string }{
		{"lone continuation", "\x80"},
		{"lone lead of two", "\xc3"},
		{"lead of two without its end", "\xc3("},
		{"lead of three cut", "\xe2\x82"},
		{"lead of four cut", "\xf0\x9f\x98"},
		{"overlong slash of two", "\xc0\xaf"},
		{"overlong slash of three", "\xe0\x80\xaf"},
		{"overlong NUL", "\xc0\x80"},
		{"overlong quote", "\xc0\xa2"},
		{"high surrogate", "\xed\xa0\x80"},
		{"low surrogate", "\xed\xb0\x80"},
		{"surrogate pair of CESU-8", "\xed\xa0\xbd\xed\xb8\x80"},
		{"beyond U+10FFFF", "\xf4\x90\x80\x80"},
		{"lead of five", "\xf8\x88\x80\x80\x80"},
		{"lead of six", "\xfc\x84\x80\x80\x80\x80"},
		{"FE", "\xfe"},
		{"FF", "\xff"},
		{"Latin-1", "caf\xe9"},
	} {
		out = append(out, bodies("not utf-8",
			body{"value: " + r.name, toolCall("judge", `{"note":"$V`+r.bytes+`"}`), noDocument()},
			body{"key: " + r.name, toolCall("judge", `{"labels":{"$K`+r.bytes+`":"$V"}}`), noDocument()})...)
	}
	return append(out, bodies("not utf-8",
		body{"id", "{\"jsonrpc\":\"2.0\",\"id\":\"$V\xff\",\"method\":\"ping\"}", noDocument()},
		body{"method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$V\xff\"}", noDocument()},
		body{"tool name", rpc("tools/call", "{\"name\":\"$V\xff\",\"arguments\":{}}"), noDocument()},
		body{"name of a member of _meta", rpc("ping", "{\"_meta\":{\"$K\xff\":\"$V\"}}"), noDocument()},
		body{"name of a member of the envelope", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"$K\xff\":\"$V\"}", noDocument()},
		body{"open value", toolCall("judge", "{\"anyJson\":[\"$V\xff\"]}"), noDocument()},
		body{"UTF-16, little endian", utf16("\xff\xfe", rpc("ping", `{"x":"$V"}`), false), noDocument()},
		body{"UTF-16, big endian", utf16("\xfe\xff", rpc("ping", `{"x":"$V"}`), true), noDocument()},
		body{"UTF-16 without a mark", utf16("", rpc("ping", `{"x":"$V"}`), false), noDocument()},
		body{"UTF-7", `+AHsAIg-jsonrpc+ACI-$V`, noDocument()})...)
}

// utf16 spells ASCII text in two bytes for each character; templates stay readable for fill only where they are bytes,
// so that the canary's mark is left alone.
func utf16(mark, text string, big bool) string {
	var out strings.Builder
	out.WriteString(mark)
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], "$V") {
			out.WriteString("$V")
			i++
			continue
		}
		if big {
			out.WriteString("\x00" + text[i:i+1])
		} else {
			out.WriteString(text[i:i+1] + "\x00")
		}
	}
	return out.String()
}

func surrogates() []payload {
	var out []payload
	for _, r := range []struct{ name, escape string }{
		{"lone high", `\ud83d`},
		{"lone low", `\ude00`},
		{"high at the end", `x\ud800`},
		{"low at the start", `\udfffx`},
		{"wrong order", `\ude00\ud83d`},
		{"two high", `\ud83d\ud83d`},
		{"two low", `\ude00\ude00`},
		{"high, then text", `\ud83dx`},
		{"high, then another escape", `\ud83d\n`},
		{"high, then a plain escape", `\ud83d\u0041`},
		{"high, high, low", `\ud83d\ud83d\ude00`},
		{"pair, then high", `\ud83d\ude00\ud83d`},
		{"capital digits", `\uD83D`},
		{"lowest high", `\ud800`},
		{"highest low", `\uDFFF`},
	} {
		out = append(out, bodies("surrogates",
			body{"value: " + r.name, toolCall("judge", `{"note":"$V`+r.escape+`"}`), noDocument()},
			body{"key: " + r.name, toolCall("judge", `{"labels":{"$K`+r.escape+`":"$V"}}`), noDocument()})...)
	}
	return append(out, bodies("surrogates",
		body{"in the id", `{"jsonrpc":"2.0","id":"$V\ud800","method":"ping"}`, noDocument()},
		body{"in the method", `{"jsonrpc":"2.0","id":1,"method":"$V\ud800"}`, noDocument()},
		body{"in the tool's name", toolCall(`$V\udc00`, `{}`), noDocument()},
		body{"in _meta", rpc("tools/list", `{"_meta":{"$K\ud800":"$V"}}`), noDocument()},
		body{"in an open value", toolCall("judge", `{"anyJson":{"a":["$V\ud800"]}}`), noDocument()},
		body{"in a struct's key", toolCall("judge", `{"object":{"$K\udc00":"$V"}}`), noDocument()},
		body{"in an undeclared name", toolCall("judge", `{"$K\ud800":"$V"}`), noDocument()},
		body{"a pair is text", toolCall("judge", `{"note":"$V\ud83d\ude00"}`), reached()},
		body{"a pair in a key is text", toolCall("judge", `{"labels":{"$K\ud83d\ude00":"$V"}}`), reached()})...)
}

func depth() []payload {
	const family = "depth"
	out := bodies(family,
		body{"100 levels in a value", toolCall("judge", `{"note":"$V","anyJson":`+nested("[", "", "]", 100)+`}`), reached()},
		body{"101 levels in a value", toolCall("judge", `{"note":"$V","anyJson":`+nested("[", "", "]", 101)+`}`), noDocument()},
		body{"100 levels of objects", toolCall("judge", `{"note":"$V","object":`+nested(`{"x":`, "1", "}", 100)+`}`), reached()},
		body{"101 levels of objects", toolCall("judge", `{"note":"$V","object":`+nested(`{"$K":`, "1", "}", 101)+`}`), noDocument()},
		body{"101 levels of a list value", toolCall("judge", `{"note":"$V","list":`+nested("[", "", "]", 101)+`}`), noDocument()},
		body{"49 messages within each other", toolCall("judge", `{"note":"$V","items":[`+nested(`{"parts":[`, `{"sku":"x"}`, "]}", 48)+`]}`), reached()},
		body{"60 messages within each other", toolCall("judge", `{"note":"$V","items":[`+nested(`{"parts":[`, `{"sku":"x"}`, "]}", 60)+`]}`), noDocument()},
		body{"101 levels in a property of the wrong type", toolCall("judge", `{"note":"$V","i32":`+nested("[", "", "]", 101)+`}`), noDocument()},
		body{"101 levels in an undeclared property", toolCall("judge", `{"$K":`+nested(`[`, `"$V"`, "]", 101)+`}`), noDocument()},
		body{"levels in a member that nobody reads", `{"jsonrpc":"2.0","id":1,"method":"ping","$K":` + nested("[", `"$V"`, "]", 103) + `}`, noDocument()},
		body{"levels in _meta", rpc("ping", `{"_meta":{"$K":`+nested("[", `"$V"`, "]", 103)+`}}`), noDocument()},
		body{"levels in the id", `{"jsonrpc":"2.0","id":` + nested("[", `"$V"`, "]", 200) + `,"method":"ping"}`, noDocument()},
		body{"levels in the tool's name", rpc("tools/call", `{"name":`+nested("[", `"$V"`, "]", 200)+`}`), noDocument()},
		body{"levels in a notification", `{"jsonrpc":"2.0","method":"x","params":{"$K":` + nested("[", `"$V"`, "]", 200) + `}}`, noDocument()},
		body{"a batch of 100,000 levels", nested("[", `"$V"`, "]", 100_000), noMessage("")},
		body{"100,000 brackets, unclosed", toolCall("judge", `{"anyJson":["$V",`+strings.Repeat("[", 100_000)), noDocument()},
		body{"100,000 braces, unclosed", toolCall("judge", `{"anyJson":`+strings.Repeat(`{"$K":`, 100_000)), noDocument()},
	)
	return out
}
