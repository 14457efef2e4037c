package mcp

import "testing"

func TestAcceptsEvents(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []string
		want   bool
	}{
		{"no header", nil, false},
		{"an empty one", []string{""}, false},
		{"JSON", []string{"application/json"}, false},
		{"both", []string{"application/json, text/event-stream"}, true},
		{"alone", []string{"text/event-stream"}, true},
		{"in capitals", []string{"Text/Event-Stream"}, true},
		{"in a second line", []string{"application/json", "text/event-stream"}, true},
		{"with spaces", []string{" \tapplication/json\t,\ttext/event-stream \t"}, true},
		{"empty items", []string{",, ,text/event-stream,,"}, true},
		{"with a parameter", []string{"text/event-stream;charset=utf-8"}, true},
		{"with a weight", []string{"application/json;q=0.9, text/event-stream ; q=0.001"}, true},
		{"with a whole weight", []string{"text/event-stream;q=1.000"}, true},
		{"with a weight in capitals", []string{"text/event-stream;Q=0"}, false},
		{"excluded", []string{"text/event-stream;q=0"}, false},
		{"excluded with digits", []string{"text/event-stream;q=0.000, application/json"}, false},
		{"excluded with a dot", []string{"text/event-stream;q=0."}, false},
		{"excluded after a parameter", []string{`text/event-stream;a="q=1,;";q=0`}, false},
		{"excluded beside a listing", []string{"text/event-stream;q=0", "text/event-stream"}, false},
		{"JSON excluded", []string{"application/json;q=0, text/event-stream"}, true},
		{"a weight that is none", []string{"text/event-stream;q=x"}, false},
		{"a weight of nothing", []string{"text/event-stream;q"}, false},
		{"a negative weight", []string{"text/event-stream;q=-1"}, false},
		{"more than 1", []string{"text/event-stream;q=1.1"}, false},
		{"too many digits", []string{"text/event-stream;q=0.1234"}, false},
		{"anything", []string{"*/*"}, false},
		{"any text", []string{"text/*"}, false},
		{"the start of the name", []string{"text/event"}, false},
		{"more than the name", []string{"text/event-streams"}, false},
		{"in a quoted parameter", []string{`application/json;a="x, text/event-stream"`}, false},
		{"after a quoted parameter", []string{`application/json;a="x\", y", text/event-stream`}, true},
		{"in an open quote", []string{`application/json;a="x, text/event-stream`}, false},
		{"after a backslash at the end", []string{`application/json;a="\`, "text/event-stream"}, true},
	} {
		if got := acceptsEvents(row.values); got != row.want {
			t.Errorf("%s: %q: %t", row.name, row.values, got)
		}
	}
}
