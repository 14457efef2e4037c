package schematest

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Arguments draws a JSON text that a node accepts. It knows nodes without patterns, formats and excluded constants of
// their own; below the depth only what is required is given.
func Arguments(t *rapid.T, n *schema.Node, depth int) string {
	switch n.Kind {
	case schema.Object:
		return drawObject(t, n, depth, nil)
	case schema.Map:
		var members []string
		seen := map[string]bool{}
		for range drawCount(t, n, depth) {
			key := drawText(t, n.Key)
			if !seen[key] {
				seen[key] = true
				members = append(members, key+":"+Arguments(t, n.Elem.Node, depth-1))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	case schema.Array:
		var items []string
		for range drawCount(t, n, depth) {
			items = append(items, Arguments(t, n.Elem.Node, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	case schema.String:
		return drawText(t, n)
	case schema.Integer:
		if n.Enum != nil {
			return rapid.SampledFrom(n.Enum).Draw(t, "constant").JSON
		}
		v := drawInt(t, n.Min, n.Max)
		if rapid.IntRange(0, 3).Draw(t, "spelling") == 0 {
			return v + ".0"
		}
		return v
	case schema.Number:
		if n.Lower != nil {
			return strconv.FormatFloat(float64(rapid.Float32Range(-1e38, 1e38).Draw(t, "float")), 'g', -1, 32)
		}
		return strconv.FormatFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "double"), 'g', -1, 64)
	case schema.Boolean:
		return strconv.FormatBool(rapid.Bool().Draw(t, "flag"))
	case schema.Null:
		return "null"
	case schema.OpenObject:
		return rapid.SampledFrom([]string{`{}`, `{"x":[1,null,{"y":"z"}]}`}).Draw(t, "struct")
	case schema.OpenArray:
		return rapid.SampledFrom([]string{`[]`, `[1,"x",{}]`}).Draw(t, "list")
	case schema.AnyMessage:
		named := rapid.SampledFrom(n.Types).Draw(t, "type")
		return drawObject(t, named.Node, depth, []string{`"@type":` + quoted(named.URL)})
	default:
		return rapid.SampledFrom([]string{`null`, `true`, `1.5`, `"42"`, `[]`, `{"x":1}`}).Draw(t, "value")
	}
}

func drawObject(t *rapid.T, n *schema.Node, depth int, members []string) string {
	// Of each oneof one member at most, and one where it must.
	excluded, needed := map[string]bool{}, map[string]bool{}
	for _, one := range n.Oneofs {
		chosen := rapid.SampledFrom(one.Names).Draw(t, "member")
		for _, name := range one.Names {
			excluded[name] = name != chosen
		}
		needed[chosen] = one.Required
	}
	for i := range n.Properties {
		p := &n.Properties[i]
		given := p.Required || needed[p.Name]
		if !given && depth > 0 && !excluded[p.Name] {
			given = rapid.Bool().Draw(t, "given")
		}
		if given {
			members = append(members, quoted(p.Name)+":"+Arguments(t, p.Node, depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func drawCount(t *rapid.T, n *schema.Node, depth int) int {
	low := 0
	if n.MinCount != nil {
		low = int(*n.MinCount)
	}
	if depth <= 0 {
		return low
	}
	return rapid.IntRange(low, low+2).Draw(t, "count")
}

func drawInt(t *rapid.T, low, high *big.Int) string {
	switch rapid.IntRange(0, 3).Draw(t, "integer") {
	case 0:
		return low.String()
	case 1:
		return high.String()
	}
	span := new(big.Int).Add(new(big.Int).Sub(high, low), big.NewInt(1))
	v := new(big.Int).SetUint64(rapid.Uint64().Draw(t, "offset"))
	return v.Add(v.Mod(v, span), low).String()
}

func drawText(t *rapid.T, n *schema.Node) string {
	if n.Enum != nil {
		return rapid.SampledFrom(n.Enum).Draw(t, "constant").JSON
	}
	switch n.Form {
	case schema.Base64:
		return quoted(base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")))
	case schema.Int:
		return quoted(drawInt(t, n.Min, n.Max))
	case schema.Bool:
		return quoted(strconv.FormatBool(rapid.Bool().Draw(t, "key")))
	case schema.Timestamp:
		return quoted(rapid.SampledFrom([]string{"0001-01-01T00:00:00Z", "2024-02-29T12:00:00.000000001+05:30", "9999-12-31T23:59:59.999999999Z"}).Draw(t, "timestamp"))
	case schema.Duration:
		return quoted(fmt.Sprintf("%d.%09ds", rapid.Int64Range(-315575999999, 315575999999).Draw(t, "seconds"), rapid.IntRange(0, 999999999).Draw(t, "nanos")))
	case schema.FieldMask:
		return quoted(rapid.SampledFrom([]string{"", "a", "userName.b,cD"}).Draw(t, "mask"))
	}
	return quoted(rapid.StringOfN(rapid.RuneFrom([]rune("aZ09 é😀\t\n\"\\{}/\u2028")), 0, 6, -1).Draw(t, "text"))
}

// Mutant draws a text near a valid one that JSON Schema refuses: one value of another type, a property that is not
// declared, or a required one that is gone. It returns false where the drawn place allows none.
func Mutant(t *rapid.T, n *schema.Node, arguments string) (string, bool) {
	if n.Kind != schema.Object {
		return "", false
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(arguments, "{"), "}")
	comma := ""
	if inner != "" {
		comma = ","
	}
	switch rapid.IntRange(0, 1).Draw(t, "mutation") {
	case 0:
		return "{" + inner + comma + `"not_declared_anywhere":1}`, true
	default:
		var wrong []string
		for i := range n.Properties {
			p := &n.Properties[i]
			if strings.Contains(inner, quoted(p.Name)+":") {
				continue
			}
			switch p.Node.Kind {
			case schema.String, schema.Integer, schema.Number, schema.Object, schema.Map, schema.AnyMessage, schema.Null:
				wrong = append(wrong, quoted(p.Name)+":[true]")
			case schema.Array, schema.Boolean:
				wrong = append(wrong, quoted(p.Name)+`:"x"`)
			}
		}
		if len(wrong) == 0 {
			return "", false
		}
		return "{" + inner + comma + rapid.SampledFrom(wrong).Draw(t, "wrong") + "}", true
	}
}

func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}
