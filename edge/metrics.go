package edge

import (
	"maps"
	"net/http"
	"regexp"
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
	m.registry.MustRegister(m.requests, m.duration,
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
