package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// carrier has a tool whose argument may be any JSON, and which gives it back.
const carrier = `
syntax = "proto3";
package carrier.v1;
import "google/protobuf/struct.proto";
import "sallyport/tool/v1/options.proto";

service Carrier {
  // Carries any JSON.
  rpc Carry(Parcel) returns (Parcel) { option (sallyport.tool.v1.tool) = {name: "carry"}; }
}
message Parcel {
  google.protobuf.Value any = 1;
  string note = 2;
}
`

const carryMethod = "/carrier.v1.Carrier/Carry"

// verdict is what becomes of a text.
type verdict int

const (
	// isCarried: the text is JSON, and reaches the service unchanged in meaning.
	isCarried verdict = iota
	// isInvalid: the text is not JSON by RFC 8259. The decoder refuses it.
	isInvalid
	// isStricter: RFC 8259 lets the text pass, and our decoder refuses it for the row's reason.
	isStricter
	// isBeyond: the text is JSON and strict enough, and the gate refuses it for the row's reason.
	isBeyond
)

// jsonCase is one text as the value of an argument.
type jsonCase struct {
	name, text string
	verdict    verdict
	// reason says why a text is refused although it is JSON.
	reason string
}

// jy, jn, js and jb are rows that are carried, invalid, stricter and beyond.
func jy(name, text string) jsonCase { return jsonCase{name: name, text: text, verdict: isCarried} }
func jn(name, text string) jsonCase { return jsonCase{name: name, text: text, verdict: isInvalid} }

func js(name, text, reason string) jsonCase {
	return jsonCase{name: name, text: text, verdict: isStricter, reason: reason}
}

func jb(name, text, reason string) jsonCase {
	return jsonCase{name: name, text: text, verdict: isBeyond, reason: reason}
}

// jsonFamily is a group of texts.
type jsonFamily struct {
	name  string
	cases []jsonCase
}

func jsonFamilies() []jsonFamily {
	return slices.Concat(jsonStructure(), jsonNumbers(), jsonStrings())
}

// noteCanary stands beside each text, so that whoever repeats the arguments gives itself away.
const noteCanary = "canary-7f3e9d"

// Every refusal by the decoder, byte for byte but for the place and one of a few reasons: nothing of what was sent can
// be in it.
var parseRefusal = regexp.MustCompile(`^\{"jsonrpc":"2\.0","error":\{"code":-32700,"message":"The body is not one strict JSON document: UTF-8 without a ` +
	`byte order mark, no name twice in an object, nothing after the document, at most 100 levels below arguments, no number ` +
	`longer than 1000 characters\. At byte [0-9]{1,7}: (it is nested too deep|a number is too long|something follows the document|` +
	`a name stands twice in one object|the document ends too early|this is not JSON|this is not JSON, or not UTF-8)\."\}\}$`)

// minimumJSONCases is what issue 3 asks for.
const minimumJSONCases = 400

func TestJSON_everyTextIsCarriedOrRefused(t *testing.T) {
	h := newHouse(t, map[string]string{"carrier/v1/carrier.proto": carrier})
	h.witness.answer(carryMethod, echoes)
	total, byVerdict := 0, map[verdict]int{}
	for _, family := range jsonFamilies() {
		t.Run(family.name, func(t *testing.T) {
			names := map[string]bool{}
			for _, c := range family.cases {
				if names[c.name] {
					t.Errorf("there are two cases %q", c.name)
				}
				names[c.name] = true
				total++
				byVerdict[c.verdict]++
				t.Run(c.name, func(t *testing.T) { checkJSONCase(t, h.in(t), c) })
			}
		})
	}
	if log := h.log(); strings.Contains(log, noteCanary) {
		t.Error("the log repeats arguments")
	}
	t.Logf("%d texts: %d carried, %d invalid, %d refused by the decoder though JSON, %d refused by the gate", total,
		byVerdict[isCarried], byVerdict[isInvalid], byVerdict[isStricter], byVerdict[isBeyond])
	if total < minimumJSONCases {
		t.Errorf("%d texts, want at least %d", total, minimumJSONCases)
	}
}

// echoes answers with what was asked.
func echoes(_ context.Context, call *seen) ([]byte, error) { return call.wire, nil }

func checkJSONCase(t *testing.T, h *house, c jsonCase) {
	// The standard library's parser judges the table's own verdicts; it does not mind invalid UTF-8, which JSON does.
	if isJSON := json.Valid([]byte(c.text)) && utf8.ValidString(c.text); isJSON == (c.verdict == isInvalid) {
		t.Fatalf("the table is wrong: %q is JSON: %v", c.text, isJSON)
	}
	if (c.reason != "") != (c.verdict == isStricter || c.verdict == isBeyond) {
		t.Fatalf("the table is wrong: verdict %d with reason %q", c.verdict, c.reason)
	}
	arguments := `{"note":"` + noteCanary + `","any":` + c.text + `}`
	for _, version := range served {
		r := h.call(version, "carry", arguments)
		switch c.verdict {
		case isCarried:
			checkCarried(t, r, c.text)
		case isInvalid, isStricter:
			if r.status != http.StatusBadRequest || !parseRefusal.Match(r.body) {
				t.Errorf("version %s: %d %s", version, r.status, r.body)
			}
		case isBeyond:
			if text := r.toolError(); text != wantBeyond {
				t.Errorf("version %s: %s", version, text)
			}
		}
		if c.verdict != isCarried && r.seen != nil {
			t.Errorf("version %s: a refused text reached the service", version)
		}
		if c.verdict != isCarried && strings.Contains(fmt.Sprint(r.headers, string(r.body)), noteCanary) {
			t.Errorf("version %s: the refusal repeats arguments", version)
		}
	}
}

// wantBeyond is what the gate says of a value that the protobuf type cannot hold.
const wantBeyond = "The arguments do not fit the tool's input schema:\n- any: must hold no number that a double cannot"

// checkCarried compares what the service got, and what the caller got back, with what an independent parser reads.
func checkCarried(t *testing.T, r response, text string) {
	t.Helper()
	want := parseJSON(t, []byte(text))
	if r.seen == nil {
		t.Fatalf("the service saw nothing: %d %s", r.status, r.body)
	}
	got := parcel(t, r.seen.wire)
	if difference := compareJSON("$", want, got); difference != "" {
		t.Errorf("the service got another value: %s", difference)
	}
	structured, block := r.result()
	if string(structured) != block {
		t.Errorf("the text block and the structured content differ: %s and %s", block, structured)
	}
	back, ok := parseJSON(t, structured).(map[string]any)
	if !ok {
		t.Fatalf("the result is no object: %s", structured)
	}
	if difference := compareJSON("$", want, back["any"]); difference != "" {
		t.Errorf("the caller got another value back: %s", difference)
	}
}

// parcel reads the field `any` of a Parcel off the wire. It is there once.
func parcel(t *testing.T, wire []byte) any {
	t.Helper()
	var value []byte
	found := 0
	for len(wire) > 0 {
		number, kind, n := protowire.ConsumeTag(wire)
		if n < 0 {
			t.Fatalf("not protobuf: % x", wire)
		}
		m := protowire.ConsumeFieldValue(number, kind, wire[n:])
		if m < 0 {
			t.Fatalf("not protobuf: % x", wire)
		}
		if number == 1 {
			value, _ = protowire.ConsumeBytes(wire[n:])
			found++
		}
		wire = wire[n+m:]
	}
	v := new(structpb.Value)
	if err := proto.Unmarshal(value, v); err != nil || found != 1 {
		t.Fatalf("%d values, error %v", found, err)
	}
	if v.GetKind() == nil {
		t.Fatal("a value without a kind")
	}
	return v.AsInterface()
}

// parseJSON reads JSON with the standard library, numbers as the double nearest to their text.
func parseJSON(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return doubles(t, v)
}

func doubles(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	case []any:
		for i := range v {
			v[i] = doubles(t, v[i])
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = doubles(t, v[k])
		}
		return v
	default:
		return v
	}
}

// compareJSON says where two values differ, empty where they do not. Numbers are compared by their bits, so that -0 is
// not 0.
func compareJSON(path string, want, got any) string {
	switch want := want.(type) {
	case float64:
		if got, ok := got.(float64); ok && math.Float64bits(got) == math.Float64bits(want) {
			return ""
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			if difference := compareJSON(path+"["+strconv.Itoa(i)+"]", want[i], got[i]); difference != "" {
				return difference
			}
		}
		return ""
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || len(got) != len(want) {
			break
		}
		for k := range want {
			v, present := got[k]
			if !present {
				return fmt.Sprintf("%s lacks %q", path, k)
			}
			if difference := compareJSON(path+"."+k, want[k], v); difference != "" {
				return difference
			}
		}
		return ""
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s is %.200q, want %.200q", path, fmt.Sprint(got), fmt.Sprint(want))
}

// The limits are a platform team's to set, and a text that one limit refuses is carried under a wider one.
func TestJSON_configuredLimits(t *testing.T) {
	h := newHouse(t, map[string]string{"carrier/v1/carrier.proto": carrier}, configured(func(c *configv1.EdgeConfig) {
		c.MaxJsonDepth, c.MaxJsonNumberLength, c.MaxRequestBytes = 1000, 10_000, 20_000
	}))
	h.witness.answer(carryMethod, echoes)
	for _, test := range []struct {
		name, text string
		status     int
		says       string // empty: the text is carried
	}{
		{"1000 levels", arrays(1000), http.StatusOK, ""},
		{"1000 levels of objects", objects(1000), http.StatusOK, ""},
		{"1001 levels", arrays(1001), http.StatusBadRequest, "at most 1000 levels below arguments"},
		{"number of 10,000", "0." + digits(9_998), http.StatusOK, ""},
		{"number of 10,001", "0." + digits(9_999), http.StatusBadRequest, "no number longer than 10000 characters"},
		{"body past its limit", `"` + digits(20_000) + `"`, http.StatusRequestEntityTooLarge, "The body is larger than this edge accepts."},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := h.in(t).call(version20251125, "carry", `{"any":`+test.text+`}`)
			switch {
			case r.status != test.status:
				t.Errorf("status %d: %.300s", r.status, r.body)
			case test.says == "":
				checkCarried(t, r, test.text)
			case !strings.Contains(string(r.body), test.says):
				t.Errorf("says %s", r.body)
			}
		})
	}
}

// The body as a whole, which no text within the arguments can stand for: @ is a sound request.
func TestJSON_theBodyIsOneDocument(t *testing.T) {
	h := newHouse(t, map[string]string{"carrier/v1/carrier.proto": carrier})
	legacy := string(callBody("1", "carry", `{"note":"`+noteCanary+`"}`))
	for _, test := range []struct {
		name, body string
		verdict    verdict
	}{
		{"alone", "@", isCarried},
		{"spaces around", "  @  ", isCarried},
		{"line feeds around", "\n\n@\r\n\t", isCarried},
		{"much space", strings.Repeat(" ", 100_000) + "@" + strings.Repeat("\n", 100_000), isCarried},
		{"nothing", "", isInvalid},
		{"space", " \n", isInvalid},
		{"byte order mark", "\ufeff@", isInvalid},
		{"byte order mark behind", "@\ufeff", isInvalid},
		{"UTF-16 mark", "\xff\xfe@", isInvalid},
		{"twice", "@@", isInvalid},
		{"twice with a line feed", "@\n@", isInvalid},
		{"with a comma", "@,", isInvalid},
		{"list without brackets", "@,@", isInvalid},
		{"closed twice", "@}", isInvalid},
		{"bracket behind", "@]", isInvalid},
		{"null behind", "@null", isInvalid},
		{"number behind", "@1", isInvalid},
		{"empty object behind", "@{}", isInvalid},
		{"empty object before", "{}@", isInvalid},
		{"NUL before", "\x00@", isInvalid},
		{"NUL behind", "@\x00", isInvalid},
		{"form feed behind", "@\f", isInvalid},
		{"end of file mark", "@\x1a", isInvalid},
		{"no-break space before", "\u00a0@", isInvalid},
		{"invalid byte behind", "@\xff", isInvalid},
		{"line comment before", "// x\n@", isInvalid},
		{"block comment behind", "@/* x */", isInvalid},
		{"guard", ")]}'\n@", isInvalid},
		{"event", "data: @\n\n", isInvalid},
		{"chunked by hand", "5a\r\n@\r\n0\r\n\r\n", isInvalid},
		{"quoted", `"@`, isInvalid},
		{"form", "json=@", isInvalid},
		{"record separator", "\x1e@\n", isInvalid},
		{"without its last byte", "", isInvalid},
		{"without its first byte", "", isInvalid},
		{"UTF-16", "", isInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, version := range served {
				sound, headers := legacy, h.caller.headers(version)
				if version == version20260728 {
					sound = modernized(sound)
					headers.Set("Mcp-Method", "tools/call")
					headers.Set("Mcp-Name", "carry")
				}
				body := strings.ReplaceAll(test.body, "@", sound)
				switch test.name {
				case "without its last byte":
					body = sound[:len(sound)-1]
				case "without its first byte":
					body = sound[1:]
				case "UTF-16":
					body = strings.Join(strings.Split(sound, ""), "\x00") + "\x00"
				}
				before := h.witness.count()
				r := h.in(t).post([]byte(body), headers)
				switch {
				case test.verdict == isCarried:
					r.result()
				case test.verdict == isInvalid && (r.status != http.StatusBadRequest || !parseRefusal.Match(r.body)):
					t.Errorf("version %s: %d %s", version, r.status, r.body)
				}
				if got := h.witness.count() - before; (got == 1) != (test.verdict == isCarried) {
					t.Errorf("version %s: %d calls reached the service", version, got)
				}
			}
		})
	}
}
