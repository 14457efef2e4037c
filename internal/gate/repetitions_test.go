package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// Few scalars are compared one by one, and many through a map: a repetition shows in both, wherever it is.
func TestJudge_repetitions(t *testing.T) {
	_, doc := compile(t, `message M {
		repeated string unique = 1 [(buf.validate.field).repeated.unique = true];
		map<string, Inner> maps = 2;
	}
	message Inner { map<string, string> in = 1; }`, "protojson")
	g, err := gate.Compile(dialect.AnthropicStrict.Input(doc))
	if err != nil {
		t.Fatal(err)
	}
	const none = -1
	for _, n := range []int{1, 2, 8, 9, 10, 40} {
		for _, twice := range []int{none, 0, n / 2, n - 2} {
			if twice < none || twice > n-2 {
				continue
			}
			var items, pairs []string
			for i := range n {
				key := fmt.Sprintf("k%d", i)
				if twice != none && i == n-1 {
					// The same text, spelled in another way.
					key = fmt.Sprintf(`\u006b%d`, twice)
				}
				items = append(items, `"`+key+`"`)
				pairs = append(pairs, `{"value":{"in":[{"key":"k0","value":"k1"},{"key":"k1","value":"k0"}]},"key":"`+key+`"}`)
			}
			for name, document := range map[string]string{
				"items": `{"unique":[` + strings.Join(items, ",") + `]}`,
				"pairs": `{"maps":[` + strings.Join(pairs, ",") + `]}`,
			} {
				t.Run(fmt.Sprintf("%s/%d/%d", name, n, twice), func(t *testing.T) {
					_, refusal := g.Judge([]byte(document))
					switch {
					case twice == none && refusal != nil:
						t.Errorf("refused: %s", refusal.Text())
					case twice != none && (refusal == nil || len(refusal.Problems) != 1 || !strings.HasPrefix(refusal.Problems[0].Text, "must have no ")):
						t.Errorf("%+v", refusal)
					}
				})
			}
		}
	}
}
