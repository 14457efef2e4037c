// Package bench holds the benchmarks (README.md) and the test that keeps them running. It measures nothing itself: the
// harness does, and cmd/compare is its command. Package soak, with cmd/soak, is the other half: not what the product costs
// but whether it lasts.
package bench
