package dialecttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// Lost walks a canonical document and its spelling in a dialect side by side, and reports what the canonical one
// demands at a place of which the other has neither the keyword there nor a sentence in the words there.
//
// These may go without a word:
//   - at nova's root, what is not a property of it: its closure, its words, and what they say;
//   - x-mcp-header, which asks callers for something beside the arguments;
//   - titles, which name and demand nothing;
//   - a type's own comment where the author says something else at the place, since beside a reference both stand, and
//     written out the place's alone;
//   - everything at and below a place that says itself that it repeats a structure, but for what the place's author says
//     there, and below one that says that its value is given as JSON text.
func Lost(d dialect.Dialect, canonical *schema.Document, spelled []byte) []string {
	var c, s map[string]any
	if err := parse(canonical.JSON(), &c); err != nil {
		return []string{err.Error()}
	}
	if err := parse(spelled, &s); err != nil {
		return []string{err.Error()}
	}
	w := &walk{canonical: c, spelled: s, seen: map[[2]uintptr]bool{}, authored: map[string]bool{}, nova: d == dialect.Nova}
	w.authors(canonical.Place(), map[*schema.Node]bool{})
	w.root()
	return w.problems
}

// parse keeps numbers as they are spelled.
func parse(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

type schemaObject = map[string]any

type walk struct {
	canonical, spelled schemaObject
	seen               map[[2]uintptr]bool
	authored           map[string]bool // how the authors' own texts begin
	nova               bool
	problems           []string
}

// authors notes what the authors wrote, which is to stand first.
func (w *walk) authors(p *schema.Place, seen map[*schema.Node]bool) {
	for _, text := range []string{p.Description, p.Node.Description} {
		if list := sentences(text); len(list) > 0 {
			w.authored[list[0]] = true
		}
	}
	if seen[p.Node] {
		return
	}
	seen[p.Node] = true
	for i := range p.Node.Properties {
		w.authors(&p.Node.Properties[i].Place, seen)
	}
	if p.Node.Elem != nil {
		w.authors(p.Node.Elem, seen)
	}
}

func (w *walk) fault(path, format string, args ...any) {
	w.problems = append(w.problems, path+": "+fmt.Sprintf(format, args...))
}

func (w *walk) root() {
	if only := one(w.spelled["properties"]); only != nil && w.canonical["properties"] == nil && w.canonical["additionalProperties"] != false {
		// Open arguments where every object is closed: one property is their text.
		if text(only) != "" && strings.Contains(text(only), "Give it as the JSON text of an object.") {
			return
		}
	}
	if w.nova {
		spoken := maps.Clone(w.spelled)
		if spoken["description"] != nil || spoken["additionalProperties"] != nil {
			w.fault("", "nova's root has words")
		}
		demands := maps.Clone(w.canonical)
		for _, keyword := range []string{"description", "additionalProperties", "deprecated", "examples"} {
			delete(demands, keyword)
		}
		w.place("", demands, spoken)
		return
	}
	w.place("", w.canonical, w.spelled)
}

func one(properties any) schemaObject {
	if all, ok := properties.(schemaObject); ok && len(all) == 1 {
		for _, p := range all {
			return p.(schemaObject)
		}
	}
	return nil
}

func text(s schemaObject) string {
	description, _ := s["description"].(string)
	return description
}

// resolved is a schema with what its reference leads to beside what stands at the place, and the words of both.
func resolved(document, s schemaObject) (merged schemaObject, place, definition string) {
	place = text(s)
	for keyword, definitions := range map[string]string{"$ref": "$defs", "ref": "defs"} {
		pointer, ok := s[keyword].(string)
		if !ok {
			continue
		}
		named, _ := document[definitions].(schemaObject)
		target, _ := named[strings.TrimPrefix(pointer, "#/"+definitions+"/")].(schemaObject)
		merged = maps.Clone(target)
		definition = text(target)
		for k, v := range s {
			if k != keyword {
				merged[k] = v
			}
		}
		return merged, place, definition
	}
	return s, place, ""
}

// opened is what a dialect's schema says of values that are not null for absence, and all of its words.
func (w *walk) opened(s schemaObject) (schemaObject, string) {
	merged, place, definition := resolved(w.spelled, s)
	words := place + "\n" + definition
	if list, ok := merged["anyOf"].([]any); ok && len(list) == 2 && reflect.DeepEqual(list[1], schemaObject{"type": "null"}) {
		inner, more := w.opened(list[0].(schemaObject))
		return inner, words + "\n" + more
	}
	if list, ok := merged["type"].([]any); ok && len(list) == 2 && list[1] == "null" {
		merged = maps.Clone(merged)
		merged["type"] = list[0]
	}
	return merged, words
}

var (
	repeats = regexp.MustCompile(`Repeats the structure of \w+(, to any depth)?[.,]`)
	asText  = regexp.MustCompile(`Give it as the JSON text of (any value|an object|an array)\.`)
)

func (w *walk) place(path string, cPlace, sPlace schemaObject) {
	key := [2]uintptr{reflect.ValueOf(cPlace).Pointer(), reflect.ValueOf(sPlace).Pointer()}
	if w.seen[key] || len(w.problems) > 20 {
		return
	}
	w.seen[key] = true
	c, authored, defined := resolved(w.canonical, cPlace)
	s, words := w.opened(sPlace)
	broken := repeats.MatchString(words) && !repeats.MatchString(authored+defined)
	switch {
	case broken && cPlace["$ref"] != nil:
		defined = "" // not shown
	case broken:
		authored = ""
	}
	if path != "" || !w.nova {
		w.words(path, authored, defined, words)
	}
	switch {
	case broken:
		switch text := s["type"] == "string" && asText.MatchString(words); {
		case c["type"] != "object" || s["type"] != "object" && !text || s["properties"] != nil:
			w.fault(path, "a structure is not shown that has none")
		case s["additionalProperties"] == false && c["required"] != nil:
			w.fault(path, "nothing can be given, though %v is required", c["required"])
		}
		return
	case asText.MatchString(words) && s["type"] == "string":
		w.deprecation(path, c, s, words)
		if c["properties"] != nil || c["items"] != nil || c["type"] != nil && c["type"] != "object" && c["type"] != "array" {
			w.fault(path, "given as text, though it has a shape")
		}
		return
	}
	w.types(path, c, s, words)
	w.deprecation(path, c, s, words)
	w.scalar(path, c, s, words)
	w.object(path, c, s, words)
	w.array(path, c, s, words)
	for keyword := range c {
		if !slices.Contains(known, keyword) {
			w.fault(path, "the walk does not know %s", keyword)
		}
	}
}

// known are the keywords that the walk holds, and those that may be lost.
var known = []string{
	"type", "description", "deprecated", "examples", "properties", "required", "additionalProperties", "propertyNames",
	"minProperties", "maxProperties", "items", "minItems", "maxItems", "uniqueItems", "anyOf", "enum", "const", "format",
	"pattern", "contentEncoding", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"not", "$defs",
	"title", "x-mcp-header",
}

// ours are beginnings of sentences that speak of a type itself, in the words of its definition.
var ours = regexp.MustCompile(`^(Give |Exactly one |Must |Accepted |At least |At most |No |One |The value |Each |Keys|Accepts )`)

// words holds that what is said in the canonical document is said, the author's words first.
func (w *walk) words(path, authored, defined, words string) {
	for i, list := range [][]string{sentences(authored), sentences(defined)} {
		for _, sentence := range list {
			if i == 1 && authored != "" && !ours.MatchString(sentence) {
				continue
			}
			if !strings.Contains(words, sentence) {
				w.fault(path, "the words %q", sentence)
			}
		}
	}
	first := authored
	if first == "" {
		first = defined
	}
	if list := sentences(first); len(list) > 0 && w.authored[list[0]] && !strings.HasPrefix(strings.TrimLeft(words, "\n"), list[0]) {
		w.fault(path, "something stands before the words %q", list[0])
	}
}

// sentences are stretches of a description between which ours may have been put.
func sentences(description string) (list []string) {
	for _, line := range strings.Split(description, "\n") {
		for _, sentence := range strings.SplitAfter(line, ". ") {
			if sentence = strings.TrimRight(sentence, " "); sentence != "" {
				list = append(list, sentence)
			}
		}
	}
	return list
}

// say holds that a sentence stands in the words.
func (w *walk) say(path, words, keyword, format string, args ...any) {
	if sentence := fmt.Sprintf(format, args...); !strings.Contains(words, sentence) {
		w.fault(path, "%s, which no sentence says; want %q in %q", keyword, sentence, words)
	}
}

func (w *walk) types(path string, c, s schemaObject, words string) {
	want := c["type"]
	if want == nil && c["anyOf"] == nil || reflect.DeepEqual(want, s["type"]) {
		return
	}
	if want == "object" && s["type"] == "array" && strings.Contains(words, "One object for each entry, no key twice.") {
		return // judged with the rest of the map
	}
	list, ok := want.([]any)
	if !ok {
		w.fault(path, "the type %v, not %v", want, s["type"])
		return
	}
	if union, ok := s["anyOf"].([]any); ok && len(union) == len(list) {
		for i := range list {
			if union[i].(schemaObject)["type"] != list[i] {
				w.fault(path, "the type %v, not %v", list, union)
			}
		}
		return
	}
	switch {
	case list[0] == "number":
		w.say(path, words, "type", "A number, or the text NaN, Infinity or -Infinity.")
	default:
		w.say(path, words, "type", "An unknown one is a number.")
	}
}

func (w *walk) deprecation(path string, c, s schemaObject, words string) {
	if c["deprecated"] == true && s["deprecated"] != true {
		w.say(path, words, "deprecated", "Deprecated.")
	}
	if list, ok := c["examples"].([]any); ok && !reflect.DeepEqual(c["examples"], s["examples"]) {
		w.say(path, words, "examples", "For example: %s", joined(list))
	}
}

// joined are constants as JSON texts.
func joined(list []any) string {
	texts := make([]string, len(list))
	for i, value := range list {
		texts[i] = literal(value)
	}
	return strings.Join(texts, ", ")
}

func literal(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

var formatWords = map[string]string{
	"date-time": "an ISO-8601 date and time", "email": "an email address", "hostname": "a host name",
	"ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "uri": "a URI", "uuid": "a UUID",
	"uri-reference": "a URI or a relative reference",
}

// scalar holds the demands on one value.
func (w *walk) scalar(path string, c, s schemaObject, words string) {
	lost := func(keyword string) bool { return c[keyword] != nil && !reflect.DeepEqual(c[keyword], s[keyword]) }
	if lost("enum") {
		w.say(path, words, "enum", "Accepted values: %s.", joined(c["enum"].([]any)))
	}
	if _, has := c["const"]; has && lost("const") && !reflect.DeepEqual(s["enum"], []any{c["const"]}) {
		w.say(path, words, "const", "Accepted values: %s.", literal(c["const"]))
	}
	if union, ok := c["anyOf"].([]any); ok && lost("anyOf") {
		w.say(path, words, "anyOf", "Known values: %s. An unknown one is a number.", joined(union[0].(schemaObject)["enum"].([]any)))
	}
	if lost("format") {
		w.say(path, words, "format", "Must be %s.", formatWords[c["format"].(string)])
	}
	if lost("pattern") {
		w.say(path, words, "pattern", "Must match the pattern %s", c["pattern"])
	}
	if lost("contentEncoding") {
		w.say(path, words, "contentEncoding", "Must be base64 of the standard alphabet, with padding.")
	}
	if lost("minLength") {
		w.say(path, words, "minLength", "Must have at least %v character", c["minLength"])
	}
	if lost("maxLength") {
		w.say(path, words, "maxLength", "Must have at most %v character", c["maxLength"])
	}
	if c["type"] == "integer" {
		if lost("minimum") || lost("maximum") {
			w.say(path, words, "minimum and maximum", "Accepted range: %v to %v.", c["minimum"], c["maximum"])
		}
	} else {
		if lost("minimum") {
			w.say(path, words, "minimum", "Must be at least %v.", c["minimum"])
		}
		if lost("maximum") {
			w.say(path, words, "maximum", "Must be at most %v.", c["maximum"])
		}
	}
	if lost("exclusiveMinimum") {
		w.say(path, words, "exclusiveMinimum", "Must be greater than %v.", c["exclusiveMinimum"])
	}
	if lost("exclusiveMaximum") {
		w.say(path, words, "exclusiveMaximum", "Must be less than %v.", c["exclusiveMaximum"])
	}
	if not, ok := c["not"].(schemaObject); ok && lost("not") {
		if list, ok := not["enum"].([]any); ok {
			w.say(path, words, "not", "Must be none of: %s.", joined(list))
		} else {
			w.say(path, words, "not", "No value is accepted here.")
		}
	}
}

func (w *walk) object(path string, c, s schemaObject, words string) {
	if c["type"] != "object" {
		return
	}
	properties, _ := c["properties"].(schemaObject)
	spelled, _ := s["properties"].(schemaObject)
	for name, property := range properties {
		if spelled[name] == nil {
			w.fault(path, "the property %s", name)
			continue
		}
		w.place(path+"."+name, property.(schemaObject), spelled[name].(schemaObject))
	}
	for name := range spelled {
		if properties[name] == nil {
			w.fault(path, "the property %s is new", name)
		}
	}
	required, _ := c["required"].([]any)
	kept, _ := s["required"].([]any)
	for _, name := range required {
		if !slices.Contains(kept, name) {
			w.fault(path, "%v is not required", name)
		}
	}
	if c["additionalProperties"] == false && s["additionalProperties"] != false {
		w.say(path, words, "additionalProperties", "No other properties are accepted.")
	}
	if values, ok := c["additionalProperties"].(schemaObject); ok {
		w.entries(path, c, values, s, words)
	}
}

// entries holds a map: with keys of the caller's, as pairs, or in words.
func (w *walk) entries(path string, c, values, s schemaObject, words string) {
	keys, _ := c["propertyNames"].(schemaObject)
	least, most := "minProperties", "maxProperties"
	switch open, ok := s["additionalProperties"].(schemaObject); {
	case ok:
		w.place(path+".{key}", values, open)
		if keys != nil && !reflect.DeepEqual(keys, s["propertyNames"]) {
			w.keys(path, keys, words)
		}
	case s["type"] == "array":
		least, most = "minItems", "maxItems"
		pair, _ := s["items"].(schemaObject)
		members, _ := pair["properties"].(schemaObject)
		if len(members) != 2 || members["key"] == nil || members["value"] == nil || pair["additionalProperties"] != false ||
			!reflect.DeepEqual(pair["required"], []any{"key", "value"}) {
			w.fault(path, "the entries are no pairs: %v", pair)
			return
		}
		key, said := w.opened(members["key"].(schemaObject))
		if key["type"] != "string" {
			w.fault(path, "the keys are %v", key["type"])
		}
		w.scalar(path+".{key}", keys, key, said)
		w.place(path+".{value}", values, members["value"].(schemaObject))
	default:
		w.described(path, values, words)
		if keys != nil {
			w.keys(path, keys, words)
		}
	}
	if c["minProperties"] != nil && !reflect.DeepEqual(c["minProperties"], s[least]) {
		w.say(path, words, "minProperties", "At least %v entr", c["minProperties"])
	}
	if c["maxProperties"] != nil && !reflect.DeepEqual(c["maxProperties"], s[most]) {
		w.say(path, words, "maxProperties", "At most %v entr", c["maxProperties"])
	}
}

// keys holds what is said of keys in words.
func (w *walk) keys(path string, keys schemaObject, words string) {
	_, said, found := strings.Cut(words, "Keys: ")
	if !found {
		w.fault(path, "no sentence speaks of the keys %v", keys)
		return
	}
	w.scalar(path+".{key}", keys, schemaObject{}, said)
}

// described holds values whose schema stands in a sentence.
func (w *walk) described(path string, values schemaObject, words string) {
	_, after, found := strings.Cut(words, "The keys are yours to choose. Each value follows this JSON Schema: ")
	if !found {
		w.fault(path, "no sentence speaks of the values")
		return
	}
	var said schemaObject
	if err := parse([]byte(after), &said); err != nil {
		w.fault(path, "the schema of the values: %v", err)
		return
	}
	outer := w.spelled
	w.spelled = said
	w.place(path+".{key}", values, said)
	w.spelled = outer
}

func (w *walk) array(path string, c, s schemaObject, words string) {
	if c["type"] != "array" {
		return
	}
	if items, ok := c["items"].(schemaObject); ok {
		if spelled, ok := s["items"].(schemaObject); ok {
			w.place(path+"[]", items, spelled)
		} else {
			w.fault(path, "the items")
		}
	}
	if c["minItems"] != nil && !reflect.DeepEqual(c["minItems"], s["minItems"]) {
		w.say(path, words, "minItems", "At least %v item", c["minItems"])
	}
	if c["maxItems"] != nil && !reflect.DeepEqual(c["maxItems"], s["maxItems"]) {
		w.say(path, words, "maxItems", "At most %v item", c["maxItems"])
	}
	if c["uniqueItems"] == true && s["uniqueItems"] != true {
		w.say(path, words, "uniqueItems", "No two items may be equal.")
	}
}
