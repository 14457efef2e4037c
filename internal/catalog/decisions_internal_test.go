package catalog

import (
	"testing"

	"github.com/sallyport-dev/sallyport/participant"
)

// However many rules there are, decisions stay within their bound; with few, it is the number of participants that ends
// them.
func TestJudgedEntries(t *testing.T) {
	for _, row := range []struct{ rules, want int }{
		{1, mostJudged}, {200, mostJudged}, {8000, mostJudged}, {10_000, 8192}, {100_000, 4096}, {1_000_000, 512},
	} {
		got := judgedEntries(row.rules)
		if got != row.want {
			t.Errorf("%d rules: decisions about %d participants, want %d", row.rules, got, row.want)
		}
		if bytes := got * (2*participant.MaxBytes + 8*wordsFor(row.rules)); bytes > judgedBytes {
			t.Errorf("%d rules: at most %d bytes", row.rules, bytes)
		}
	}
}
