// Command grpcraw is the other floor: a gRPC client that hands bytes on and takes bytes back, which is what the way to
// the service costs anybody who stands before it. With -generated it calls with generated types instead, as an ordinary
// client does. It makes its calls itself, on command:
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
	"google.golang.org/grpc/credentials/insecure"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/target/kit"
	"github.com/sallyport-dev/sallyport/bench/target/kit/raw"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

func main() {
	backend := flag.String("backend", "", "address of the service")
	generated := flag.Bool("generated", false, "call with generated types")
	flag.Parse()
	kit.Main("grpcraw", func() error {
		dial, prepare := raw.Dial, prepareRaw
		if *generated {
			dial, prepare = dialGenerated, prepareGenerated
		}
		conn, err := dial(*backend)
		if err != nil {
			return err
		}
		defer conn.Close()
		c := &caller{prepare: func(s workload.Size, worker int) func() error { return prepare(conn, s, worker) }}
		mux := http.NewServeMux()
		mux.HandleFunc("POST /start", c.start)
		mux.HandleFunc("GET /count", c.count)
		mux.HandleFunc("POST /stop", c.stop)
		return kit.Serve(mux)
	})
}

// prepareRaw gives a worker's call, which fails where the answer is not the worker's own.
func prepareRaw(conn *grpc.ClientConn, size workload.Size, worker int) func() error {
	request, id := workload.Wire(workload.Request(size, worker)), []byte(workload.ID(worker))
	want := len(workload.Wire(workload.Response(size, worker)))
	return func() error {
		response, err := raw.Call(context.Background(), conn, workload.FullMethod, request)
		if err == nil && (len(response) != want || !bytes.Contains(response, id)) {
			err = errOther
		}
		return err
	}
}

func dialGenerated(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func prepareGenerated(conn *grpc.ClientConn, size workload.Size, worker int) func() error {
	client, request := benchv1.NewBenchServiceClient(conn), workload.Request(size, worker)
	want := len(workload.Response(size, worker).GetRelated())
	return func() error {
		response, err := client.GetItem(context.Background(), request)
		if err == nil && (response.GetItem().GetId() != request.GetId() || len(response.GetRelated()) != want) {
			err = errOther
		}
		return err
	}
}

var errOther = errors.New("another answer than the worker's own")

// caller is one connection and the workers on it.
type caller struct {
	prepare func(size workload.Size, worker int) func() error

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
	c.running = new(run)
	for worker := range workload.Workers {
		call := c.prepare(size, worker)
		c.running.workers.Go(func() { c.running.work(call) })
	}
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
func (r *run) work(call func() error) {
	var latencies []time.Duration
	var failed error
	for failed == nil && !r.stop.Load() {
		start := time.Now()
		failed = call()
		latencies = append(latencies, time.Since(start))
		r.calls.Add(1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, latencies...)
	if failed != nil {
		r.errs = append(r.errs, failed)
	}
}
