// Package conformance is the service whose tools the official MCP conformance suite calls: each under the suite's own
// name, each doing what the suite describes for it.
//
// [Server] implements sallyport.conformance.v1.ConformanceService. In come validated requests, nearly all of them
// empty; out go content blocks of every kind, an error of the tool's own, progress, and the answer of a tool whose
// argument travels in a header too. It keeps nothing.
//
// What it must not know: the registry, the edge and MCP. That its RPCs are tools and how they are called, its proto
// says; that they are registered, its program (cmd/conformance). What the suite tests beyond tools (prompts, resources,
// sampling and the like) has no counterpart here. It is no part of `make run`; `make conformance` starts it.
package conformance
