package harness

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

// A Scenario is what all targets of a comparison are asked.
type Scenario string

// The scenarios.
const (
	// Small and Large are the workload's two calls.
	Small = Scenario(workload.Small)
	Large = Scenario(workload.Large)
	// SmallOpen is the small call of a tool without an access rule, by callers without credentials.
	SmallOpen Scenario = "small-open"
	// List lists a thousand tools.
	List Scenario = "list"
	// ListSpelled lists them in the dialect that changes most.
	ListSpelled Scenario = "list-openai_strict"
)

// workers is how many requests are under way at any time.
func (s Scenario) workers() int {
	if s.lists() {
		return 2
	}
	return workload.Workers
}

// size is that of the scenario's call.
func (s Scenario) size() workload.Size {
	if s == SmallOpen {
		return workload.Small
	}
	return workload.Size(s)
}

func (s Scenario) lists() bool { return s == List || s == ListSpelled }

// load keeps a target busy with one scenario at a time.
type load interface {
	// begin starts the workers.
	begin(s Scenario) error
	// count says how many calls have been answered rightly since begin.
	count() (int64, error)
	// end stops the workers and gives the median time of a call. An error is a wrong answer.
	end() (time.Duration, error)
}

// question is one worker's request, and how the right answer is known.
type question struct {
	request []byte
	// contains is in every right answer and in no answer to another worker.
	contains []byte
	// length is that of every right answer. Where whole is set, it is the right answer.
	length int
	whole  []byte
}

// idle is how long a connection may be unused before it is opened anew. The edge keeps one for two minutes.
const idle = time.Minute

var isError = []byte(`"isError":true`)

func (q *question) check(status int, body []byte) error {
	switch {
	case status != 200:
		return fmt.Errorf("status %d: %.300s", status, body)
	case q.whole != nil:
		if !bytes.Equal(body, q.whole) {
			return fmt.Errorf("%d bytes that are not the expected %d: %.300s", len(body), len(q.whole), body)
		}
	case len(body) != q.length:
		return fmt.Errorf("%d bytes instead of %d: %.300s", len(body), q.length, body)
	case !bytes.Contains(body, q.contains):
		return fmt.Errorf("no %s in the answer: %.300s", q.contains, body)
	case bytes.Contains(body, isError):
		return fmt.Errorf("an error result: %.300s", body)
	}
	return nil
}

// httpLoad loads an HTTP target over connections that stay open.
type httpLoad struct {
	address     string
	connections []*connection
	// used is when the connections were last used: a server closes those that are idle for long.
	used      time.Time
	questions map[Scenario][]question

	stop    atomic.Bool
	counts  [workload.Workers]counter
	running sync.WaitGroup

	mu        sync.Mutex
	latencies []time.Duration
	errs      []error
}

// counter has a cache line of its own.
type counter struct {
	atomic.Int64
	_ [56]byte
}

func newHTTPLoad(address string) (*httpLoad, error) {
	l := &httpLoad{address: address, questions: map[Scenario][]question{}}
	return l, l.connect()
}

// connect opens all connections, anew where there are some.
func (l *httpLoad) connect() error {
	l.close()
	l.connections, l.used = nil, time.Now()
	for range workload.Workers {
		c, err := dial(l.address)
		if err != nil {
			l.close()
			return err
		}
		l.connections = append(l.connections, c)
	}
	return nil
}

func (l *httpLoad) close() {
	for _, c := range l.connections {
		c.close()
	}
}

// prepare asks every worker's question once, has the answer judged closely, and learns from it how the right answer is
// known from then on.
func (l *httpLoad) prepare(s Scenario, ask func(worker int) question, judge func(worker int, body []byte) error) error {
	for worker := range s.workers() {
		c, q := l.connections[worker], ask(worker)
		status, body, err := c.ask(q.request)
		if err != nil {
			return err
		}
		q.length = len(body)
		if s.lists() {
			q.whole = bytes.Clone(body)
		}
		if err := q.check(status, body); err != nil {
			return err
		}
		if err := judge(worker, body); err != nil {
			return err
		}
		l.questions[s] = append(l.questions[s], q)
	}
	return nil
}

func (l *httpLoad) begin(s Scenario) error {
	if time.Since(l.used) > idle {
		if err := l.connect(); err != nil {
			return err
		}
	}
	l.stop.Store(false)
	l.latencies, l.errs = l.latencies[:0], nil
	for worker := range s.workers() {
		l.counts[worker].Store(0)
		l.running.Go(func() { l.work(worker, &l.questions[s][worker]) })
	}
	return nil
}

func (l *httpLoad) work(worker int, q *question) {
	latencies := make([]time.Duration, 0, 1<<12)
	var failed error
	for failed == nil && !l.stop.Load() {
		start := time.Now()
		status, body, err := l.connections[worker].do(q.request)
		latencies = append(latencies, time.Since(start))
		if failed = err; err == nil {
			failed = q.check(status, body)
		}
		l.counts[worker].Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latencies = append(l.latencies, latencies...)
	if failed != nil {
		l.errs = append(l.errs, fmt.Errorf("worker %d: %w", worker, failed))
	}
}

func (l *httpLoad) count() (sum int64, _ error) {
	for i := range l.counts {
		sum += l.counts[i].Load()
	}
	return sum, nil
}

func (l *httpLoad) end() (time.Duration, error) {
	l.stop.Store(true)
	// A target that does not answer any more would keep its workers for ever.
	late := time.AfterFunc(process.Patience, l.close)
	defer late.Stop()
	l.running.Wait()
	l.used = time.Now()
	return median(l.latencies), errors.Join(l.errs...)
}

// remoteLoad is a target that makes its calls itself and is told when.
type remoteLoad struct {
	connection *connection
}

func (l *remoteLoad) command(line string) ([]byte, error) {
	request := line + " HTTP/1.1\r\nHost: bench\r\nContent-Length: 0\r\n\r\n"
	status, body, err := l.connection.ask([]byte(request))
	if err == nil && status != 200 {
		err = fmt.Errorf("%s: %s", line, body)
	}
	return body, err
}

func (l *remoteLoad) begin(s Scenario) error {
	_, err := l.command("POST /start?size=" + string(s))
	return err
}

func (l *remoteLoad) count() (int64, error) {
	body, err := l.command("GET /count")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(body), 10, 64)
}

func (l *remoteLoad) end() (time.Duration, error) {
	body, err := l.command("POST /stop")
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(string(body), 10, 64)
	return time.Duration(ns), err
}

func median[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
