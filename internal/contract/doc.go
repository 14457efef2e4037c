// Package contract turns descriptors into tools: which RPCs are exposed, what they are called, how they are titled,
// described and hinted, and what stands in the way of publishing them.
//
// In comes a set of file descriptors with the names of services in it, and what the process that serves them said in
// code. Out comes a [Contract], an immutable list of tools, or a [ConflictError] that lists every problem at once, each
// with the function it belongs to. The protoc plugin, the registry and the edge all call [Compile], so that a problem
// is found as early as possible and in the same words everywhere.
//
// The rules are those of tools.md; each file here holds the section that its comment names. This package knows nothing
// of etcd, HTTP, MCP or of who is calling: whether a participant may see a tool is decided elsewhere, from the facts
// that a [Tool] carries.
package contract
