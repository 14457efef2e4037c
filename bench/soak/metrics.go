package soak

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// Sample is what the edge says of itself at one moment.
type Sample struct {
	// At is how long after the beginning of the traffic.
	At time.Duration
	// Goroutines and Descriptors are those of the process.
	Goroutines, Descriptors float64
	// Live is what the last collection of garbage found in use, and Resident what the process has in memory, in bytes.
	Live, Resident float64
	// Collections is how often garbage was collected.
	Collections float64
	// Settled is how many requests were settled, by outcome.
	Settled map[string]int64
}

// Total is how many requests were settled.
func (s *Sample) Total() (sum int64) {
	for _, n := range s.Settled {
		sum += n
	}
	return sum
}

// scraper asks the edge for its metrics, each time over a connection of its own, so that each time as many goroutines
// and descriptors of the edge are busy with it.
type scraper struct {
	url    string
	client http.Client
}

func newScraper(address string) *scraper {
	return &scraper{
		url:    "http://" + address + "/metrics",
		client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: process.Patience},
	}
}

func (s *scraper) scrape(ctx context.Context) (Sample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return Sample{}, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return Sample{}, err
	}
	page, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return Sample{}, err
	}
	if response.StatusCode != http.StatusOK {
		return Sample{}, fmt.Errorf("/metrics: status %d: %.300s", response.StatusCode, page)
	}
	return parse(page)
}

// idle gives the live heap of an edge that does nothing else. Being asked makes garbage: it is asked until that was
// collected three times, which empties every pool.
func (s *scraper) idle(ctx context.Context) (live float64, err error) {
	first, err := s.scrape(ctx)
	if err != nil {
		return 0, err
	}
	for now := first; ; {
		if now.Collections >= first.Collections+3 {
			return now.Live, nil
		}
		if now, err = s.scrape(ctx); err != nil {
			return 0, err
		}
	}
}

// settledLine is a line of the counter of settled requests.
var settledLine = regexp.MustCompile(`^sallyport_edge_requests_total\{.*outcome="([A-Z_]+)".*\} (\S+)$`)

// parse reads a page of metrics.
func parse(page []byte) (Sample, error) {
	s := Sample{Settled: map[string]int64{}}
	wanted := map[string]*float64{
		"go_goroutines": &s.Goroutines, "process_open_fds": &s.Descriptors, "go_gc_heap_live_bytes": &s.Live,
		"process_resident_memory_bytes": &s.Resident, "go_gc_duration_seconds_count": &s.Collections,
	}
	lines := bufio.NewScanner(bytes.NewReader(page))
	for lines.Scan() {
		line := lines.Bytes()
		if match := settledLine.FindSubmatch(line); match != nil {
			n, err := strconv.ParseFloat(string(match[2]), 64)
			if err != nil {
				return Sample{}, fmt.Errorf("/metrics: %q: %w", line, err)
			}
			s.Settled[string(match[1])] += int64(n)
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(" "))
		into := wanted[string(name)]
		if into == nil {
			continue
		}
		var err error
		if *into, err = strconv.ParseFloat(string(value), 64); err != nil {
			return Sample{}, fmt.Errorf("/metrics: %q: %w", line, err)
		}
		delete(wanted, string(name))
	}
	for name := range wanted {
		return Sample{}, fmt.Errorf("/metrics: there is no %s", name)
	}
	return s, lines.Err()
}

// medians gives the medians of the samples from one moment to another; nothing else of what it gives is set but At,
// which is the end.
func medians(samples []Sample, from, to time.Duration) (Sample, bool) {
	var chosen []Sample
	for _, s := range samples {
		if s.At >= from && s.At <= to {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return Sample{}, false
	}
	of := func(value func(*Sample) float64) float64 {
		values := make([]float64, len(chosen))
		for i := range chosen {
			values[i] = value(&chosen[i])
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return Sample{
		At:          to,
		Goroutines:  of(func(s *Sample) float64 { return s.Goroutines }),
		Descriptors: of(func(s *Sample) float64 { return s.Descriptors }),
		Live:        of(func(s *Sample) float64 { return s.Live }),
		Resident:    of(func(s *Sample) float64 { return s.Resident }),
	}, true
}
