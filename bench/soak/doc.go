// Package soak keeps the product busy for a long time with all that callers do, well and badly, while services come and
// go, and says whether anything was lost or left behind.
//
// In comes how long; out comes a [Report]: what was asked and answered, what the edge says it has settled, and how many
// goroutines, bytes and descriptors its process had meanwhile. The rules are in bench/README.md.
//
// The processes are the product's own, built from the working tree, beside one service of the benchmarks: the package
// sees of them what anybody can see, which is their answers, their logs and the edge's metrics. It knows nothing of how
// they work.
package soak
