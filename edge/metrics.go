package edge

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// metrics are the edge's numbers, in a registry of their own so that several edges fit into one process.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	// limited and refused are whole: each of their labels has a series from the start.
	limited map[lifecycle.Limit]prometheus.Counter
	refused map[lifecycle.Credential]prometheus.Counter
	lost    prometheus.Counter
	// series are the series of the labels that were met. The map is never changed: one more series makes a new map.
	series  atomic.Pointer[map[labels]series]
	growing sync.Mutex
	// snapshot is when the current snapshot was made, in nanoseconds since 1970; 0 before the first.
	snapshot atomic.Int64
}

// newMetrics registers the numbers; stale is asked at each scrape.
func newMetrics(stale func() bool) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_edge_requests_total",
			Help: "Settled requests by method, outcome and error class.",
		}, []string{"method", "outcome", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sallyport_edge_request_duration_seconds",
			Help:    "Time from a request's acceptance to its settlement.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 12),
		}, []string{"method"}),
	}
	m.series.Store(&map[labels]series{})
	m.limited = counters(m.registry, prometheus.CounterOpts{
		Name: "sallyport_edge_limited_total",
		Help: "Requests that a limit refused: requests in flight, running calls of a participant, or its rate of calls.",
	}, "limit", lifecycle.Limits())
	m.refused = counters(m.registry, prometheus.CounterOpts{
		Name: "sallyport_edge_refused_authentications_total",
		Help: "Requests that were not authenticated, by the kind of credentials that they brought.",
	}, "credentials", lifecycle.Credentials())
	m.lost = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sallyport_edge_audit_lost_lines_total",
		Help: "Lines of the audit log that could not be written.",
	})
	m.registry.MustRegister(m.requests, m.duration, m.lost,
		// How the process is: goroutines, memory, descriptors. Read at each scrape and at no other time. What the last
		// collection found in use is not among what the collector of Go gives by itself.
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: liveHeap})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sallyport_edge_snapshot_stale",
			Help: "1 while etcd is silent and the edge serves what it last knew.",
		}, func() float64 {
			if stale() {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sallyport_edge_snapshot_timestamp_seconds",
			Help: "When the current snapshot of the catalog was made, in seconds since 1970; 0 before the first.",
		}, func() float64 { return time.Duration(m.snapshot.Load()).Seconds() }))
	return m
}

// counters registers a counter for each value of one label, which is told in lower case.
func counters[L ~string](r *prometheus.Registry, o prometheus.CounterOpts, label string, values []L) map[L]prometheus.Counter {
	family := prometheus.NewCounterVec(o, []string{label})
	r.MustRegister(family)
	all := make(map[L]prometheus.Counter, len(values))
	for _, v := range values {
		all[v] = family.WithLabelValues(strings.ToLower(string(v)))
	}
	return all
}

// inFlight registers the number of requests in flight, which is asked at each scrape.
func (m *metrics) inFlight(count func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sallyport_edge_requests_in_flight",
		Help: "Requests on /mcp whose answers are not written yet.",
	}, func() float64 { return float64(count()) }))
}

// auditLost counts lines of the audit log that could not be written.
func (m *metrics) auditLost(lines int) { m.lost.Add(float64(lines)) }

// liveHeap becomes go_gc_heap_live_bytes.
var liveHeap = regexp.MustCompile(`^/gc/heap/live:bytes$`)

// labels are of small sets of ours, and so are their combinations.
type labels struct {
	method  string
	outcome lifecycle.Outcome
	class   lifecycle.Class
}

// series are what one settled request counts in.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// settled counts one request.
func (m *metrics) settled(s *lifecycle.Settlement) {
	l := labels{s.Method, s.Outcome, s.Class}
	met, ok := (*m.series.Load())[l]
	if !ok {
		met = m.meet(l)
	}
	met.requests.Inc()
	met.duration.Observe(s.Duration.Seconds())
	if s.Limit != "" {
		m.limited[s.Limit].Inc()
	}
	if s.Credential != "" {
		m.refused[s.Credential].Inc()
	}
}

// meet finds the series of labels that were not met before.
func (m *metrics) meet(l labels) series {
	m.growing.Lock()
	defer m.growing.Unlock()
	all := maps.Clone(*m.series.Load())
	all[l] = series{m.requests.WithLabelValues(l.method, string(l.outcome), string(l.class)), m.duration.WithLabelValues(l.method)}
	m.series.Store(&all)
	return all[l]
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
