package contract

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/durationpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// weightKey is the key of a tool's weight in its `_meta`.
const weightKey = "dev.sallyport/weight"

// Definition renders the tool as an entry of tools/list, compact JSON under the name that is published to the caller:
// name, title, description, inputSchema, outputSchema where there is one, the four hints, and `_meta` with the weight
// where one is declared. Equal tools render to equal bytes.
func (t *Tool) Definition(publishedName string) []byte {
	return t.DefinitionIn(dialect.Canonical, publishedName)
}

// DefinitionIn is Definition with the name and the schemas spelled in a dialect. It spells them anew each time.
func (t *Tool) DefinitionIn(d dialect.Dialect, publishedName string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"name":`)
	writeString(&b, d.ToolName(publishedName))
	b.WriteString(`,"title":`)
	writeString(&b, t.Title)
	b.WriteString(`,"description":`)
	input := d.Input(t.Input)
	writeString(&b, input.Complete(t.Description))
	b.WriteString(`,"inputSchema":`)
	b.Write(input.JSON())
	if t.Output != nil {
		b.WriteString(`,"outputSchema":`)
		b.Write(d.Output(t.Output).JSON())
	}
	b.WriteString(`,"annotations":{"readOnlyHint":`)
	b.WriteString(strconv.FormatBool(t.Hints.ReadOnly))
	b.WriteString(`,"destructiveHint":`)
	b.WriteString(strconv.FormatBool(t.Hints.Destructive))
	b.WriteString(`,"idempotentHint":`)
	b.WriteString(strconv.FormatBool(t.Hints.Idempotent))
	b.WriteString(`,"openWorldHint":`)
	b.WriteString(strconv.FormatBool(t.Hints.OpenWorld))
	b.WriteString(`}`)
	if weight := weightMembers(t.Weight); len(weight) > 0 {
		b.WriteString(`,"_meta":{"` + weightKey + `":{`)
		b.WriteString(strings.Join(weight, ","))
		b.WriteString(`}}`)
	}
	b.WriteString(`}`)
	return b.Bytes()
}

// weightMembers are the members of the weight's JSON object: only what is said.
func weightMembers(w *toolv1.Weight) []string {
	var members []string
	if w.GetType() != toolv1.WeightType_WEIGHT_TYPE_UNSPECIFIED {
		if name, ok := toolv1.WeightType_name[int32(w.GetType())]; ok {
			members = append(members, `"type":"`+strings.TrimPrefix(name, "WEIGHT_TYPE_")+`"`)
		}
	}
	if w.GetLevel() != 0 {
		members = append(members, `"level":`+strconv.Itoa(int(w.GetLevel())))
	}
	if w.GetMinDuration() != nil {
		members = append(members, `"minDuration":"`+seconds(w.GetMinDuration())+`"`)
	}
	if w.GetMaxDuration() != nil {
		members = append(members, `"maxDuration":"`+seconds(w.GetMaxDuration())+`"`)
	}
	return members
}

// seconds spells a checked, non-negative duration as protobuf's JSON does: `1.5s`.
func seconds(d *durationpb.Duration) string {
	s := strconv.FormatInt(d.GetSeconds(), 10)
	if n := d.GetNanos(); n != 0 {
		fraction := strconv.FormatInt(1_000_000_000+int64(n), 10)[1:]
		s += "." + strings.TrimRight(fraction, "0")
	}
	return s + "s"
}

// writeString writes s as a JSON string. Texts that reach a tool are valid UTF-8; anything else would be replaced.
func writeString(b *bytes.Buffer, s string) {
	quoted, err := jsontext.AppendQuote(b.AvailableBuffer(), strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		// AppendQuote fails for invalid UTF-8 alone.
		panic("contract: quote a valid string: " + err.Error())
	}
	b.Write(quoted)
}
