package access_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// covering gives rows of value numbers, one for each dimension, in which every combination of values of any two
// dimensions stands at least once. The rows are the same for the same sizes. It is greedy: of some candidates for the
// next row the one that brings the most new pairs is taken.
func covering(sizes []int) [][]int {
	type pair struct{ d1, v1, d2, v2 int }
	missing := make(map[pair]bool)
	var order []pair
	for d1 := range sizes {
		for d2 := d1 + 1; d2 < len(sizes); d2++ {
			for v1 := range sizes[d1] {
				for v2 := range sizes[d2] {
					p := pair{d1, v1, d2, v2}
					missing[p] = true
					order = append(order, p)
				}
			}
		}
	}
	dice := rand.New(rand.NewPCG(6, uint64(len(sizes))))
	brings := func(row []int, d, v int) (n int) {
		for other, w := range row {
			switch {
			case w < 0 || other == d:
			case other < d && missing[pair{other, w, d, v}], other > d && missing[pair{d, v, other, w}]:
				n++
			}
		}
		return n
	}
	var rows [][]int
	for len(missing) > 0 {
		for len(order) > 0 && !missing[order[0]] {
			order = order[1:]
		}
		var best []int
		most := -1
		for range 20 {
			row := make([]int, len(sizes))
			for d := range row {
				row[d] = -1
			}
			// The oldest missing pair is in every candidate, so that each row brings something.
			row[order[0].d1], row[order[0].d2] = order[0].v1, order[0].v2
			total := 1
			for _, d := range dice.Perm(len(sizes)) {
				if row[d] >= 0 {
					continue
				}
				value, gain := 0, -1
				for _, v := range dice.Perm(sizes[d]) {
					if n := brings(row, d, v); n > gain {
						value, gain = v, n
					}
				}
				row[d] = value
				total += gain
			}
			if total > most {
				best, most = row, total
			}
		}
		for d1, v1 := range best {
			for d2 := d1 + 1; d2 < len(best); d2++ {
				delete(missing, pair{d1, v1, d2, best[d2]})
			}
		}
		rows = append(rows, best)
	}
	return rows
}

// drawn gives n more rows of the same sizes, seeded.
func drawn(sizes []int, n int) [][]int {
	dice := rand.New(rand.NewPCG(66, uint64(n)))
	rows := make([][]int, n)
	for i := range rows {
		for _, size := range sizes {
			rows[i] = append(rows[i], dice.IntN(size))
		}
	}
	return rows
}

// A generator that forgets a pair would make the matrix smaller than it says.
func TestCovering(t *testing.T) {
	for _, sizes := range [][]int{{2, 2}, {1, 3, 2}, {3, 3, 3, 8, 4, 2}, {9, 6, 10, 2, 5}} {
		rows := covering(sizes)
		seen := make(map[string]bool)
		for _, row := range rows {
			for d1 := range row {
				for d2 := d1 + 1; d2 < len(row); d2++ {
					seen[fmt.Sprint(d1, row[d1], d2, row[d2])] = true
				}
			}
		}
		want, least := 0, 0
		for d1 := range sizes {
			for d2 := d1 + 1; d2 < len(sizes); d2++ {
				want += sizes[d1] * sizes[d2]
				least = max(least, sizes[d1]*sizes[d2])
			}
		}
		if len(seen) != want || len(rows) > 3*least {
			t.Errorf("%v: %d rows have %d pairs of %d", sizes, len(rows), len(seen), want)
		}
	}
}
