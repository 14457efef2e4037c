// Package harness compares the edge with what else could stand before a gRPC service: it starts every target as a
// process of its own, loads one after the other, and reads what each has cost.
//
// In come how many rounds and how long; out come figures for each target and verdicts on the lines that the project has
// set itself. The rules of the game are in bench/README.md. The package knows the targets' command lines and protocols,
// and nothing of how they work.
package harness
