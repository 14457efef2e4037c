// Package bench holds the benchmarks (README.md) and the test that keeps them running. It measures nothing itself: the
// harness does, and cmd/compare is its command.
package bench
