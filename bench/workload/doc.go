// Package workload is what the benchmarks ask and what the service answers: the requests, the service, and a thousand
// tools to be listed.
//
// In comes a worker's number; out come its arguments as JSON and on the wire, and the answer that it must get. The
// sizes are those of reference measurements elsewhere, so that figures can be compared: small is about 200 bytes of
// arguments and 600 bytes of result, large the same arguments and 12 KB of result. The package knows no target, no
// network and no clock: the same worker gets the same bytes in every process.
package workload
