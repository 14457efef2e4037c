package catalog

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/access"
)

// failuresEvery is how often the log hears at most of one rule that a policy of it cannot be evaluated.
const failuresEvery = time.Minute

// failures tells the log of policies that could not be evaluated. It says nothing of who called, nor with what.
type failures struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   map[string]time.Time // by the rule's key
}

func newFailures(logger *slog.Logger) *failures {
	return &failures{logger: logger, last: map[string]time.Time{}}
}

func (f *failures) report(rule *access.Rule) {
	if !f.due(rule.Key(), time.Now()) {
		return
	}
	texts, function := rule.Policies()
	f.logger.Warn("a policy could not be evaluated, so that what it guards was refused", "function", function, "policies", texts)
}

func (f *failures) due(key string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, known := f.last[key]; known && now.Sub(last) < failuresEvery {
		return false
	}
	maps.DeleteFunc(f.last, func(_ string, last time.Time) bool { return now.Sub(last) >= failuresEvery })
	f.last[key] = now
	return true
}
