package catalog

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

func entry(name, method string) *Entry {
	return &Entry{Tool: &contract.Tool{Name: name, Method: method}}
}

// tools.md, "Name": two functions that hash alike; neither is silently preferred.
func TestIndex_collisions(t *testing.T) {
	a, b, c, other := entry("x", "A"), entry("x", "B"), entry("x", "C"), entry("y", "Y")
	for name, row := range map[string]struct {
		come, gone []*Entry
		want       *Entry
	}{
		"one":                          {[]*Entry{a}, nil, a},
		"two":                          {[]*Entry{a, b}, nil, nil},
		"two, of which one goes":       {[]*Entry{a, b}, []*Entry{a}, b},
		"two, of which the other goes": {[]*Entry{a, b}, []*Entry{b}, a},
		"three":                        {[]*Entry{a, b, c}, nil, nil},
		"three, of which one goes":     {[]*Entry{a, b, c}, []*Entry{b}, nil},
		"three, of which two go":       {[]*Entry{a, b, c}, []*Entry{b, a}, c},
		"three, all of which go":       {[]*Entry{a, b, c}, []*Entry{b, a, c}, nil},
		"one that goes":                {[]*Entry{a}, []*Entry{a}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			together := newIndex().replace(nil, append(row.come, other))
			after := together.replace(row.gone, nil)
			if got := after.get("x"); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
			if after.get("y") != other {
				t.Error("another hash is touched")
			}
			one := newIndex().replace(nil, []*Entry{other})
			for _, e := range row.come {
				one = one.replace(nil, []*Entry{e})
			}
			for _, e := range row.gone {
				one = one.replace([]*Entry{e}, nil)
			}
			if one.get("x") != row.want {
				t.Errorf("one by one: got %v, want %v", one.get("x"), row.want)
			}
			if len(row.come) > 1 && together.get("x") != nil {
				t.Error("an earlier index changed")
			}
		})
	}
}

// Against a plain model: any sequence of changes gives what a map of sets would.
func TestIndex_anyChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*Entry
		for i := range 12 {
			all = append(all, entry(fmt.Sprint(i%5), fmt.Sprint(i)))
		}
		present := map[*Entry]bool{}
		x := newIndex()
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			var gone, come []*Entry
			for _, e := range all {
				if !rapid.Bool().Draw(t, "change") {
					continue
				}
				if present[e] {
					gone = append(gone, e)
				} else {
					come = append(come, e)
				}
				present[e] = !present[e]
			}
			x = x.replace(gone, come)
			for name := range 5 {
				var want *Entry
				count := 0
				for e, is := range present {
					if is && e.Tool.Name == fmt.Sprint(name) {
						want = e
						count++
					}
				}
				if count != 1 {
					want = nil
				}
				if got := x.get(fmt.Sprint(name)); got != want {
					t.Fatalf("%d: got %v, want %v", name, got, want)
				}
			}
		}
	})
}
