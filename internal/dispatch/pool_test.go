package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

func TestSchedule(t *testing.T) {
	for name, row := range map[string]struct {
		weights []int
		want    []uint16
	}{
		"one":            {[]int{7}, []uint16{0}},
		"equal":          {[]int{1, 1, 1}, []uint16{0, 1, 2}},
		"equal and high": {[]int{500, 500}, []uint16{0, 1}},
		"smooth":         {[]int{5, 1, 1}, []uint16{0, 0, 1, 0, 2, 0, 0}},
		"nobody":         {nil, []uint16{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := schedule(slices.Clone(row.weights)); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// Whatever the weights: a round is bounded, everybody has a turn, and while nothing is rounded each has exactly its share.
func TestSchedule_shares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 1000), 1, 60).Draw(t, "weights")
		sum, common := 0, 0
		for _, w := range weights {
			sum, common = sum+w, gcd(common, w)
		}
		turns := schedule(slices.Clone(weights))
		if len(turns) > longestSchedule {
			t.Fatalf("%d turns", len(turns))
		}
		count := make([]int, len(weights))
		for _, at := range turns {
			count[at]++
		}
		for i, n := range count {
			if n == 0 {
				t.Fatalf("%d has no turn", i)
			}
			if sum/common <= longestSchedule && n != weights[i]/common {
				t.Fatalf("%d has %d turns of %d, its weight is %d of %d", i, n, len(turns), weights[i], sum)
			}
		}
	})
}

func TestPool_pick(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	d := New(Options{})
	var members []*member
	for i := range 3 {
		members = append(members, &member{
			stored:     &registryv1.StoredInstance{InstanceId: fmt.Sprint(i)},
			connection: &connection{d: d},
		})
	}
	p := newPool(nil, members)
	met := func(tried ...*connection) map[string]int {
		got := map[string]int{}
		for range 6 {
			if m := p.pick(now, tried); m != nil {
				got[m.stored.GetInstanceId()]++
			}
		}
		return got
	}
	if got := met(); got["0"] != 2 || got["1"] != 2 || got["2"] != 2 {
		t.Errorf("all healthy: %v", got)
	}
	if got := met(members[1].connection); got["1"] != 0 || got["0"]+got["2"] != 6 {
		t.Errorf("one tried: %v", got)
	}
	members[0].eject(now, nil)
	if got := met(); got["0"] != 0 || got["1"]+got["2"] != 6 {
		t.Errorf("one ejected: %v", got)
	}
	if got := met(members[1].connection, members[2].connection); got["0"] != 6 {
		t.Errorf("the rest tried: %v", got)
	}
	if got := met(members[0].connection, members[1].connection, members[2].connection); len(got) != 0 {
		t.Errorf("all tried: %v", got)
	}
}

// Each further failure doubles the pause, failures at one time count once, and a success forgets them.
func TestConnection_eject(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := &connection{d: New(Options{})}
	pause := func() time.Duration { return time.Duration(c.ejectedUntil.Load() - now.UnixNano()) }
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30, 30} {
		c.eject(now, nil)
		c.eject(now, nil)
		if got := pause(); got != want*time.Second || c.healthy(now) {
			t.Errorf("left alone for %v, want %v", got, want*time.Second)
		}
		now = now.Add(pause())
		if !c.healthy(now) {
			t.Error("still ejected after the pause")
		}
	}
	c.succeeded()
	c.eject(now, nil)
	if got := pause(); got != ejectFirst {
		t.Errorf("after a success left alone for %v", got)
	}
}
