// Package gatetest is the oracle of the gate: the same rules, interpreted plainly over a tree of the arguments, one
// node of the schema after the other. Tests hold the compiled gate to it; no program links it.
package gatetest
