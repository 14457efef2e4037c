package dispatch

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// longestSchedule bounds a schedule, and with it the members of a pool; above it, weights are rounded.
const longestSchedule = 4096

// member is one instance of one service that takes calls.
type member struct {
	stored *registryv1.StoredInstance
	// audience is the service as assertions name it.
	audience string
	*connection
}

// pool is the instances of one service that take calls. It is immutable but for the cursor.
type pool struct {
	// source is the view's list from which the pool was made; the same list means the same pool.
	source []*registryv1.StoredInstance
	// members are the instances that are not draining.
	members []*member
	// schedule names members by their index, each as often as its weight, spread evenly.
	schedule []uint16
	cursor   atomic.Uint32
}

// newPool makes a pool of at most longestSchedule members.
func newPool(source []*registryv1.StoredInstance, members []*member) *pool {
	weights := make([]int, len(members))
	for i, m := range members {
		weights[i] = int(max(m.stored.GetWeight(), 1))
	}
	p := &pool{source: source, members: members, schedule: schedule(weights)}
	p.cursor.Store(rand.Uint32()) // replicas of the edge do not march in step
	return p
}

// pick gives the next healthy member that was not tried yet, or nil. When all of those are ejected it gives one all the
// same: an instance that was lost a moment ago is a better guess than none.
func (p *pool) pick(now time.Time, tried []*connection) *member {
	if len(p.schedule) == 0 {
		return nil
	}
	start := uint64(p.cursor.Add(1))
	var fallback *member
	for i := range uint64(len(p.schedule)) {
		m := p.members[p.schedule[(start+i)%uint64(len(p.schedule))]]
		if slices.Contains(tried, m.connection) {
			continue
		}
		if m.healthy(now) {
			return m
		}
		if fallback == nil {
			fallback = m
		}
	}
	return fallback
}

// schedule spreads turns by weight: the smooth weighted round robin, written out for one round. Each turn goes to the
// one with the highest credit, who pays the total for it; everybody earns its weight each turn.
func schedule(weights []int) []uint16 {
	total := reduce(weights)
	credit := make([]int, len(weights))
	turns := make([]uint16, 0, total)
	for range total {
		best := 0
		for i, w := range weights {
			credit[i] += w
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= total
		turns = append(turns, uint16(best))
	}
	return turns
}

// reduce divides the weights by what they have in common, and scales them down where a round would still be too long.
// It gives their sum. Nobody's weight becomes 0.
func reduce(weights []int) (total int) {
	common := 0
	for _, w := range weights {
		common = gcd(common, w)
	}
	for i := range weights {
		weights[i] /= common
		total += weights[i]
	}
	if whole := total; whole > longestSchedule {
		total = 0
		for i, w := range weights {
			// Rounded down, with 1 for each whose share is less than that: together no more than a schedule.
			weights[i] = max(1, w*(longestSchedule-len(weights))/whole)
			total += weights[i]
		}
	}
	return total
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
