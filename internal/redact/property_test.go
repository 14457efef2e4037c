package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/redact"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// canary is a value that was drawn, with the parts of it that must not come back in any spelling.
type canary struct {
	value string // as the service has it
	parts []string
	form  form
}

type form int

const (
	text form = iota
	number
	octets
	moment
)

// cage draws arguments for a node and notes every canary in them.
type cage struct {
	t        *rapid.T
	canaries []canary
}

func (c *cage) letters(n int) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("bcdfghjkmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ23456789")), n, n, -1).Draw(c.t, "letters")
}

// text draws two parts with something between them that some spellings must escape.
func (c *cage) text() string {
	one, two := c.letters(9), c.letters(9)
	between := rapid.SampledFrom([]string{"", "-", " ", "\"", "\\", "'", "\n", "ü", "😀", "<", "%", "{", "\\n"}).Draw(c.t, "between")
	value := one + between + two
	c.canaries = append(c.canaries, canary{value: value, parts: []string{one, two}})
	return quoted(value)
}

func (c *cage) digits(low, high int64) string {
	value := strconv.FormatInt(rapid.Int64Range(low, high).Draw(c.t, "number"), 10)
	c.canaries = append(c.canaries, canary{value: value, parts: []string{value}, form: number})
	return value
}

func (c *cage) draw(n *schema.Node, depth int) string {
	switch n.Kind {
	case schema.Object:
		return c.object(n, depth, nil)
	case schema.Map:
		key := c.text
		switch n.Key.Form {
		case schema.Int:
			key = func() string { return quoted(c.digits(1e6, 1e9)) }
		case schema.Bool:
			key = func() string { return `"true"` }
		}
		return "{" + key() + ":" + c.draw(n.Elem.Node, depth-1) + "}"
	case schema.Array:
		return "[" + c.draw(n.Elem.Node, depth-1) + "," + c.draw(n.Elem.Node, depth-1) + "]"
	case schema.AnyMessage:
		named := rapid.SampledFrom([]string{"t.v1.Line", "t.v1.Card"}).Draw(c.t, "type")
		for _, t := range n.Types {
			if t.URL == schema.TypeURLPrefix+named {
				return c.object(t.Node, depth-1, []string{`"@type":` + quoted(t.URL)})
			}
		}
		return `{}`
	case schema.OpenObject:
		return "{" + c.text() + ":[" + c.text() + ",{" + c.text() + ":" + c.digits(1e6, 1e9) + "}]}"
	case schema.OpenArray:
		return "[" + c.text() + "," + c.digits(1e6, 1e9) + "]"
	case schema.Open:
		return c.text()
	case schema.Integer, schema.Number:
		if n.Enum != nil {
			return n.Enum[0].JSON
		}
		return c.digits(1e6, 1e9)
	case schema.Boolean:
		return "true"
	case schema.String:
		switch {
		case n.Enum != nil:
			return rapid.SampledFrom(n.Enum).Draw(c.t, "constant").JSON
		case n.Form == schema.Base64:
			value := c.letters(18)
			c.canaries = append(c.canaries, canary{value, []string{value}, octets})
			return quoted(base64.StdEncoding.EncodeToString([]byte(value)))
		case n.Form == schema.Int:
			return quoted(c.digits(1e15, 1e18))
		case n.Form == schema.Timestamp:
			nanos := fmt.Sprintf("%09d", rapid.IntRange(1e8, 1e9-1).Draw(c.t, "nanos"))
			value := "2024-05-01T12:00:00." + nanos + "Z"
			c.canaries = append(c.canaries, canary{value, []string{"2024-05-01", "12:00:00", nanos}, moment})
			return quoted(value)
		case n.Form == schema.Duration:
			return quoted(c.digits(1e6, 1e9) + "s")
		case n.Form == schema.FieldMask:
			value := "x" + strings.ToLower(c.letters(17))
			c.canaries = append(c.canaries, canary{value, []string{value}, text})
			return quoted(value)
		}
		return c.text()
	}
	return "null"
}

func (c *cage) object(n *schema.Node, depth int, members []string) string {
	for i := range n.Properties {
		p := &n.Properties[i]
		if depth > 0 && rapid.IntRange(0, 2).Draw(c.t, "given") > 0 {
			members = append(members, quoted(p.Name)+":"+c.draw(p.Node, depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}

// spellings are what services make of a value, joined to what they write around it.
func (c *canary) spellings() []string {
	v := c.value
	switch c.form {
	case number:
		f, _ := strconv.ParseFloat(v, 64)
		spellings := []string{v, " " + v + ".", "\"" + v + "\"", "(" + v + ")", "total:" + v, v + "ms"}
		if len(v) < 16 {
			spellings = append(spellings, fmt.Sprintf("%v", f), fmt.Sprintf("%.2f", f), fmt.Sprintf("%e", f))
		}
		return spellings
	case moment: // of which a part is found only where it is sensitive
		return []string{v, fmt.Sprintf("%q", v), strings.ToLower(v), strings.Replace(strings.Replace(v, "T", " ", 1), "Z", " +0000 UTC", 1)}
	case octets:
		b := []byte(v)
		return []string{v, fmt.Sprintf("%q", v), fmt.Sprintf("%v", b), fmt.Sprintf("%x", b), fmt.Sprintf("%X", b),
			base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b)}
	}
	inJSON := quoted(v)
	return []string{
		v, "'" + v + "'", fmt.Sprintf("%q", v), fmt.Sprintf("%+q", v), fmt.Sprintf("%q", fmt.Sprintf("%q", v)),
		inJSON, fmt.Sprintf("%q", `{"a":`+inJSON+`}`), strings.ToUpper(v), strings.ToLower(v),
		url.QueryEscape(v), url.PathEscape(v), strings.ReplaceAll(v, "\n", "  "), "  " + v + "\t",
		"key_" + v + "_1", string([]rune(v)[:16]) + "…", "…" + string([]rune(v)[1:]),
	}
}

// leaks reports a part of the canary in a text, in any spelling that hides nothing from a reader.
func (c *canary) leaks(shown string) bool {
	shown = strings.ToLower(shown)
	for _, part := range c.parts {
		part = strings.ToLower(part)
		forms := []string{part}
		if c.form == octets {
			forms = append(forms, hex.EncodeToString([]byte(c.value)), strings.ToLower(base64.RawURLEncoding.EncodeToString([]byte(c.value))), strings.Trim(fmt.Sprintf("%v", []byte(c.value)), "[]"))
		}
		for _, f := range forms {
			if strings.Contains(shown, f) {
				return true
			}
		}
	}
	return false
}

// Whatever a service makes of the values of a call, none of them comes back.
func TestStatus_repeatsNoCanary(t *testing.T) {
	doc, tb := order(t), t
	rapid.Check(t, func(t *rapid.T) {
		c := &cage{t: t}
		arguments := c.draw(doc.Root(), 3)
		if len(c.canaries) == 0 {
			return
		}
		say := func(label string) string {
			var out strings.Builder
			for range rapid.IntRange(1, 5).Draw(t, label) {
				one := rapid.SampledFrom(c.canaries).Draw(t, "canary")
				out.WriteString(rapid.SampledFrom([]string{"no ", "order: ", "{", "\"", "\n", "a=1&b="}).Draw(t, "before"))
				out.WriteString(rapid.SampledFrom(one.spellings()).Draw(t, "spelling"))
				out.WriteString(rapid.SampledFrom([]string{" ", ".", "}", "\"", "\n", "&c=1"}).Draw(t, "after"))
			}
			return out.String()
		}
		bad := field(say("path"), say("description"))
		bad.FieldViolations = append(bad.FieldViolations, field("items[0].sku_code", say("second")).FieldViolations...)
		message := say("message")
		s := refused(tb, message, bad)
		if rapid.Bool().Draw(t, "localized") {
			s = refused(tb, message, bad, &errdetails.LocalizedMessage{Message: say("localized message")})
		}
		shown, _ := redact.Status(doc, []byte(arguments), s)
		if !utf8.ValidString(shown) {
			t.Fatalf("%q is no valid UTF-8", shown)
		}
		for i := range c.canaries {
			if c.canaries[i].leaks(shown) {
				t.Fatalf("canary %q is back\narguments %s\nmessage %q\nshown %q", c.canaries[i].value, arguments, message, shown)
			}
		}
	})
}
