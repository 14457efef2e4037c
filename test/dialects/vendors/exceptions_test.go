package vendors_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// exception is a change of a document that a judge is known to make, or a refusal, with the reason why it stands.
type exception struct {
	judge string
	// keyword is what is removed, added or changed; [refusal] where it does not take the document.
	keyword string
	// holds looks at the schema in which the difference is, as we wrote it and as the judge would send it.
	holds  func(d difference) bool
	reason string
}

func (e exception) String() string { return e.judge + ": " + e.keyword + ": " + e.reason }

var exceptions = []exception{
	{
		"@anthropic-ai/sdk", "type", func(d difference) bool {
			return d.theirs == nil && (d.schema["enum"] != nil || d.schema["const"] != nil)
		},
		"it takes the type from values that are listed",
	},
	{
		"@google/genai parameters", "type", func(d difference) bool {
			ours, ok := d.ours.(string)
			return ok && d.theirs == strings.ToUpper(ours)
		},
		"it writes the names of types in capitals, which is how the API's own enum spells them",
	},
	{
		"@google/genai parameters", refusal, func(d difference) bool {
			return d.theirs == "type: null can not be the only possible type for the field." && saysNull(d.ours)
		},
		"it takes no NullValue in `parameters`, although its enum of types has NULL; in `parametersJsonSchema` it takes one",
	},
}

// refusal stands in the place of a keyword for a document that a judge does not take.
const refusal = "error"

// saysNull reports whether a schema, or one within it, is of the one type null.
func saysNull(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return v["type"] == "null" || slices.ContainsFunc(slices.Collect(maps.Values(v)), saysNull)
	case []any:
		return slices.ContainsFunc(v, saysNull)
	}
	return false
}

// difference is a place where a judge's schema is not ours.
type difference struct {
	path, keyword string
	ours, theirs  any // values of the keyword, nil where it is absent
	schema        map[string]any
}

func (d difference) String() string {
	ours, _ := json.Marshal(d.ours)
	theirs, _ := json.Marshal(d.theirs)
	return fmt.Sprintf("%s/%s: %s became %s", d.path, d.keyword, ours, theirs)
}

// differences compares what we wrote with what a judge would send, whatever the order of members.
func differences(path string, ours, theirs any) (list []difference) {
	a, aIs := ours.(map[string]any)
	b, bIs := theirs.(map[string]any)
	if aIs && bIs {
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			x, inA := a[key]
			y, inB := b[key]
			if inA && inB && nested(x) && nested(y) {
				list = append(list, differences(path+"/"+key, x, y)...)
			} else if inA != inB || !reflect.DeepEqual(x, y) {
				list = append(list, difference{path, key, x, y, a})
			}
		}
		return list
	}
	x, xIs := ours.([]any)
	y, yIs := theirs.([]any)
	if xIs && yIs && len(x) == len(y) {
		for i := range x {
			list = append(list, differences(path+"/"+strconv.Itoa(i), x[i], y[i])...)
		}
		return list
	}
	if !reflect.DeepEqual(ours, theirs) {
		list = append(list, difference{path, "", ours, theirs, nil})
	}
	return list
}

func nested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// excused reports whether a judge is known to make the difference, and counts the exception.
func (d difference) excused(judge string, needed map[string]int) bool {
	for _, e := range exceptions {
		if e.judge == judge && e.keyword == d.keyword && e.holds(d) {
			needed[e.String()]++
			return true
		}
	}
	return false
}
