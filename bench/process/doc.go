// Package process builds the programs that the benchmarks and the conformance run need and keeps hold of them: it
// starts them, hears what they say, and ends them.
//
// In come packages to compile, and command lines; out go running processes. The package knows nothing of what the
// programs do. Two ways to talk with one are known to it: lines of JSON over standard input and output, as targets of
// the benchmarks speak, and the log on standard error, which is all that the product's own programs say.
package process
