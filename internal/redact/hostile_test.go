package redact_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/redact"
)

// hostile are arguments of the given size, with messages of 64 KiB that a service made of them: what would cost the
// product of both, if anything did.
func hostile(body int) []struct{ name, arguments, message string } {
	join := func(item func(i int) string) string {
		var out strings.Builder
		out.WriteString(item(0))
		for i := 1; out.Len() < body; i++ {
			out.WriteString("," + item(i))
		}
		return out.String()
	}
	list := func(property string, item func(i int) string) string {
		return `{"` + property + `":[` + join(item) + "]}"
	}
	object := func(member func(i int) string) string { return "{" + join(member) + "}" }
	nested := strings.Repeat(`{"@type":"type.googleapis.com/google.protobuf.Any","value":`, 45)
	return []struct{ name, arguments, message string }{
		{"strings of their own", list("tags", func(i int) string { return fmt.Sprintf(`"value-%d-of-many-that-are-long"`, i) }), strings.Repeat("value-77777 is not of the many ", 2200)},
		{"one letter", list("tags", func(int) string { return `"a"` }), strings.Repeat("a ", 32<<10)},
		{"runs of one letter", list("tags", func(i int) string { return `"` + strings.Repeat("a", i) + `"` }), strings.Repeat("a", 64<<10)},
		{"runs of full stops", list("tags", func(i int) string { return `"` + strings.Repeat(".", i) + `"` }), strings.Repeat(".", 64<<10)},
		{"runs of words", list("tags", func(i int) string { return `"` + strings.Repeat("a ", i) + `"` }), strings.Repeat("a ", 32<<10)},
		{"one long string", `{"orderId":"` + strings.Repeat("a", body) + `"}`, strings.Repeat("a", 64<<10)},
		{"one long string with escapes", `{"orderId":"` + strings.Repeat(`\\\"`, body/4) + `"}`, strings.Repeat(`\\\"`, 16<<10)},
		{"numbers", list("list", func(i int) string { return fmt.Sprint(i % 7) }), strings.Repeat("1 2 3 4 5 6 7 ", 4<<10)},
		{"numbers with fractions", list("list", func(i int) string { return fmt.Sprintf("%d.5e3", i) }), strings.Repeat("1500 2500 3500.0 4.5e3 ", 3<<10)},
		{"timestamps", list("moments", func(i int) string {
			return fmt.Sprintf(`"2024-05-01T12:%02d:%02d.%09d+02:00"`, i/60%60, i%60, i)
		}), strings.Repeat("2024-05-01T12:00:00Z ", 3<<10)},
		{"durations", list("waits", func(i int) string { return fmt.Sprintf(`"%d.5s"`, i) }), strings.Repeat("1500 2500 3500.500s ", 3<<10)},
		{"bytes", `{"token":"` + strings.Repeat("AAAA", body/4) + `"}`, strings.Repeat("0 0 0 0 AAAAAAAA 00", 4<<10)},
		{"a sensitive string", `{"secret":"` + strings.Repeat("ab", body/2) + `"}`, strings.Repeat("abababa ", 8<<10)},
		{"keys", `{"labels":` + object(func(i int) string { return fmt.Sprintf(`"k%d":"v"`, i) }) + "}", strings.Repeat("k1 k22 k333 ", 5<<10)},
		{"an Any in an Any", `{"detail":` + nested + `{"@type":"type.googleapis.com/google.protobuf.StringValue","value":"` + strings.Repeat("ab ", body/3) + `"}` + strings.Repeat("}", 46), strings.Repeat("ab ", 20<<10)},
	}
}

// A search that cost the product would not end within the time that a test has.
func TestStatus_isLinear(t *testing.T) {
	doc := order(t)
	for _, tt := range hostile(1 << 20) {
		t.Run(tt.name, func(t *testing.T) {
			if err := redact.Values(doc, []byte(tt.arguments), func(*redact.Value) bool { return true }); err != nil {
				t.Fatal(err)
			}
			got, _ := redact.Status(doc, []byte(tt.arguments), status.New(codes.NotFound, tt.message))
			if n := utf8.RuneCountInString(got); n > redact.MaxMessage || n == 0 {
				t.Errorf("%d characters", n)
			}
		})
	}
}

// The largest arguments that an edge accepts by default, and a usual call.
func BenchmarkStatus(b *testing.B) {
	doc := order(b)
	cases := append(hostile(4<<20), struct{ name, arguments, message string }{
		"a usual call", `{"orderId":"A-17","items":[{"skuCode":"SKU1","quantity":2}],"labels":{"tier":"gold"},"totalCents":"1200","placedAt":"2024-05-01T12:00:00Z"}`,
		"order 'A-17' not found",
	})
	for _, tt := range cases {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.arguments)))
			b.ReportAllocs()
			for b.Loop() {
				redact.Status(doc, []byte(tt.arguments), status.New(codes.NotFound, tt.message))
			}
		})
	}
}
