package boundary_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Unknown, hidden, denied, not a name: one answer, the same bytes and the same headers for all of them, and for each of
// them in every version that is served (boundary.md, "What a refusal says").
func TestHostile_unknownToolsHaveOneAnswer(t *testing.T) {
	y := newYard(t)
	c := &caller{host: y.host}
	defer c.close()
	const constant = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool."}}`
	asked := 0
	for _, p := range unknownTools() {
		p.canary = newCanary(p.Family, p.Name)
		for _, version := range versions {
			if version == version20260728 {
				continue // refused in the negotiation
			}
			got, err := c.send(&p, p.render(y.sender(version)))
			if err != nil {
				t.Fatalf("%s: %v", p.title(), err)
			}
			asked++
			if string(got.body) != constant || got.status != 200 {
				t.Errorf("%s in %q: %d %s", p.title(), version, got.status, got.body)
			}
			got.header.Del("Date")
			if header := fmt.Sprint(got.header); header != fmt.Sprintf("map[Cache-Control:[no-store] Content-Length:[%d] Content-Type:[application/json] X-Content-Type-Options:[nosniff]]", len(constant)) {
				t.Errorf("%s in %q: %s", p.title(), version, header)
			}
		}
	}
	if asked < 200 {
		t.Errorf("only %d requests were made", asked)
	}
	if y.witness.count() != 0 {
		t.Errorf("the service was called %d times", y.witness.count())
	}
}

// The tools that the applicant may not see are there: another caller calls them. Without this the constant answer would
// prove nothing.
func TestHostile_whatIsHiddenIsThere(t *testing.T) {
	y := newYard(t)
	const arguments = `{"note":"x","sku":"x","count":1,"inner":{"id":"y"}}`
	for _, name := range []string{
		"hidden", "foreign", hashOf("management-api", "hostile.v1.HiddenService", "Hide"), hashOf("app.other-org.shop", "hostile.v1.ForeignService", "Shop"),
	} {
		if r := y.callAs(y.house.caller, version20251125, name, arguments); r.seen == nil {
			t.Errorf("%s, as the system: %s", name, r.body)
		}
	}
	for _, name := range []string{"denied", hashOf("app-api", "hostile.v1.HostileService", "Deny")} {
		if r := y.callAs(y.house.caller, version20251125, name, arguments); r.code() != -32602 || r.seen != nil {
			t.Errorf("%s, as the system: %s", name, r.body)
		}
	}
	var names []string
	o := y.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), y.applicant.headers(version20251125)).parse()
	for _, tool := range o.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	want := []string{"bound", "choose", "constrain", "echo", "fail", "judge", "judge_numeric", "judge_proto", "need", "parcel"}
	if !slices.Equal(names, want) {
		t.Errorf("the applicant sees %q, want %q", names, want)
	}
}

// A refusal is composed from the schema alone, in the schema's order, and is cut after ten problems.
func TestHostile_refusalsAreComposedFromTheSchema(t *testing.T) {
	y := newYard(t)
	const head = "The arguments do not fit the tool's input schema:\n- "
	for _, row := range []struct {
		name, tool, arguments string
		want                  []string
		more                  string
	}{
		{"in the schema's order, whatever the caller's", "need", `{"zz":1,"byName":7,"more":7,"inner":7,"count":"7","sku":7,"note":7}`, []string{
			"note: must be a string", "sku: must be a string", "count: must be an integer", "inner: must be an object", "more: must be an array",
			"byName: must be an object", "arguments: 1 undeclared property; accepted: note, sku, count, inner, more, byName",
		}, ""},
		{"the same in the schema's own order", "need", `{"note":7,"sku":7,"count":"7","inner":7,"more":7,"byName":7,"zz":1}`, []string{
			"note: must be a string", "sku: must be a string", "count: must be an integer", "inner: must be an object", "more: must be an array",
			"byName: must be an object", "arguments: 1 undeclared property; accepted: note, sku, count, inner, more, byName",
		}, ""},
		{"what is missing stands where it is declared", "need", `{"byName":{"k":{}},"more":[{}],"inner":{}}`, []string{
			"sku: is required", "count: is required", "inner.id: is required", "more[].id: is required", "byName.{key}.id: is required",
		}, ""},
		{"ten are all", "judge", wrong(10), said(10), ""},
		{"eleven are ten and one more", "judge", wrong(11), said(10), "\nand 1 more"},
		{"forty are ten and thirty more", "judge", wrong(40), said(10), "\nand 30 more"},
		{"undeclared ones of one object are one problem", "judge", `{"a":1,"b":2,"c":3,` + strings.TrimPrefix(wrong(9), "{"),
			append(said(9), "arguments: 3 undeclared properties; accepted: "+acceptedEverything), ""},
		{"undeclared ones and oneofs count as well", "judge", `{"a":1,"left":"x","right":"y",` + strings.TrimPrefix(wrong(9), "{"),
			append(said(9), "arguments: give at most one of: left, right, third, fourth"), "\nand 1 more"},
		{"the same problem of many items is one", "judge", `{"items":[{"quantity":1.5},{"quantity":2.5},{"quantity":"7"},{"sku":7},{"x":1},{"y":1}]}`, []string{
			"items[].sku: must be a string", "items[].quantity: must be an integer", "items[]: 1 undeclared property; accepted: sku, quantity, parts",
		}, ""},
		{"positions and keys are not told", "judge", `{"byName":{"secret":{"parts":[{},{"parts":[{"quantity":9e99}]}]}}}`, []string{
			"byName.{key}.parts[].parts[].quantity: must be from -2147483648 to 2147483647",
		}, ""},
		{"limits and accepted values are", "bound", `{"short":"abcde","choice":"z","inner":0,"ratio":9,"hue":"RED","counted":{"list":["a"],"pairs":{}}}`, []string{
			"short: must have at most 4 characters", "choice: must be one of: x, y", "inner: must be from 1 to 9", "ratio: must be less than 1.5",
			`hue: must be "GREEN"`, "counted.list: must have at least 2 items", "counted.pairs: must have at least 1 entry",
		}, ""},
		{"a value of the wrong type is one problem, whatever is in it", "judge", `{"i32":{"a":[{"b":1}],"c":1e400}}`, []string{"i32: must be an integer"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := head + strings.Join(row.want, "\n- ") + row.more
			answers := make(map[string]bool)
			for _, version := range served {
				r := y.in(t).callAs(y.applicant, version, row.tool, row.arguments)
				if got := r.toolError(); got != want || r.seen != nil {
					t.Errorf("version %s: got\n%s\nwant\n%s", version, got, want)
				}
				o := r.parse()
				delete(o.Result.Meta, keyServerInfo)
				if len(o.Result.Meta) != 1 || o.Result.Meta["dev.sallyport/correctable"] != true {
					t.Errorf("version %s: _meta %v", version, o.Result.Meta)
				}
				answers[withoutTheErasOwn.Replace(withoutID(r.body))] = true
			}
			if len(answers) != 1 {
				t.Errorf("the versions answer differently: %q", slices.Sorted(maps.Keys(answers)))
			}
		})
	}
}

// integers are forty properties of Everything that an array does not fit, in the order of the schema.
var integers = strings.Fields("note flag raw num small i32 s32 x32 u32 f32 i64 s64 x64 u64 f64 color at took mask object nothing nil boxedNum boxedSmall " +
	"boxedLong boxedUlong boxedInt boxedUint boxedFlag boxedText boxedRaw item byName labels byInt byUint byLong byUlong byFlag openByName")

// wrong are arguments with n problems, from the last property to the first.
func wrong(n int) string {
	list := make([]string, n)
	for i, name := range integers[:n] {
		list[n-1-i] = fmt.Sprintf("%q:[]", name)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// said is what is said of the first n of them.
func said(n int) []string {
	wants := map[string]string{
		"note": isText, "flag": isBoolean, "raw": isText, "num": isNumber, "small": isNumber, "i32": isInteger, "s32": isInteger, "x32": isInteger, "u32": isInteger, "f32": isInteger,
	}
	list := make([]string, n)
	for i, name := range integers[:n] {
		list[i] = name + ": " + wants[name]
	}
	return list
}

// withoutTheErasOwn takes out of a result what the modern era adds to each.
var withoutTheErasOwn = strings.NewReplacer(`"resultType":"complete",`, "", `"`+keyServerInfo+`":`+serverInfo+`,`, "")

// withoutID is a body whose id does not matter.
func withoutID(body []byte) string {
	var message map[string]json.RawMessage
	if err := json.Unmarshal(body, &message); err != nil {
		return string(body)
	}
	delete(message, "id")
	return fmt.Sprintf("%s", message)
}
