// Command grpcraw is the other floor: a gRPC client that hands bytes on and takes bytes back, which is what the way to
// the service costs anybody who stands before it. It makes its calls itself, on command:
//
//	POST /start?size=small   begin calling
//	GET  /count              how many calls have ended
//	POST /stop               stop; answers the median time of a call in nanoseconds
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/target/kit"
	"github.com/sallyport-dev/sallyport/bench/target/kit/raw"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

func main() {
	backend := flag.String("backend", "", "address of the service")
	flag.Parse()
	kit.Main("grpcraw", func() error {
		conn, err := raw.Dial(*backend)
		if err != nil {
			return err
		}
		defer conn.Close()
		c := &caller{conn: conn}
		mux := http.NewServeMux()
		mux.HandleFunc("POST /start", c.start)
		mux.HandleFunc("GET /count", c.count)
		mux.HandleFunc("POST /stop", c.stop)
		return kit.Serve(mux)
	})
}

// caller is one connection and the workers on it.
type caller struct {
	conn *grpc.ClientConn

	mu      sync.Mutex
	running *run
}

// run is one time of calling.
type run struct {
	stop    atomic.Bool
	calls   atomic.Int64
	workers sync.WaitGroup

	mu        sync.Mutex
	latencies []time.Duration
	errs      []error
}

func (c *caller) start(w http.ResponseWriter, r *http.Request) {
	size := workload.Size(r.URL.Query().Get("size"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		http.Error(w, "it runs already", http.StatusConflict)
		return
	}
	if err := c.verify(size); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c.running = new(run)
	for worker := range workload.Workers {
		c.running.workers.Go(func() { c.running.work(c.conn, size, worker) })
	}
}

// verify makes one call and looks closely at its answer.
func (c *caller) verify(size workload.Size) error {
	response, err := raw.Call(context.Background(), c.conn, workload.FullMethod, workload.Wire(workload.Request(size, 0)))
	if err != nil {
		return err
	}
	got := new(benchv1.GetItemResponse)
	if err := proto.Unmarshal(response, got); err != nil {
		return err
	}
	if want := workload.Response(size, 0); !proto.Equal(got, want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func (c *caller) count(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	running := c.running
	c.mu.Unlock()
	if running == nil {
		http.Error(w, "it does not run", http.StatusConflict)
		return
	}
	_, _ = fmt.Fprint(w, running.calls.Load())
}

func (c *caller) stop(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	running := c.running
	c.running = nil
	c.mu.Unlock()
	if running == nil {
		http.Error(w, "it does not run", http.StatusConflict)
		return
	}
	running.stop.Store(true)
	running.workers.Wait()
	if err := errors.Join(running.errs...); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	slices.Sort(running.latencies)
	var median time.Duration
	if n := len(running.latencies); n > 0 {
		median = running.latencies[n/2]
	}
	_, _ = fmt.Fprint(w, median.Nanoseconds())
}

// work calls until it is stopped or an answer is wrong.
func (r *run) work(conn *grpc.ClientConn, size workload.Size, worker int) {
	request, id := workload.Wire(workload.Request(size, worker)), []byte(workload.ID(worker))
	want := len(workload.Wire(workload.Response(size, worker)))
	var latencies []time.Duration
	var failed error
	for failed == nil && !r.stop.Load() {
		start := time.Now()
		response, err := raw.Call(context.Background(), conn, workload.FullMethod, request)
		latencies = append(latencies, time.Since(start))
		switch {
		case err != nil:
			failed = err
		case len(response) != want || !bytes.Contains(response, id):
			failed = fmt.Errorf("worker %d got another answer than its own", worker)
		default:
			r.calls.Add(1)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, latencies...)
	if failed != nil {
		r.errs = append(r.errs, failed)
	}
}
