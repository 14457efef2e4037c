// Package gate judges the arguments of a call by the document that was published for its tool.
//
// In come a derived schema.Document, once, and the raw JSON of a call's arguments; out comes nothing, or a Refusal
// composed from our own schema alone: no name, key or value that the caller sent is in it. The gate accepts exactly
// what the document and its descriptions say, at every depth.
//
// The room knows JSON and the schema's node graph. It must not know tools, protobuf bytes, MCP or HTTP. This gate
// interprets the graph, plainly; the rules are those of boundary.md, "The gate" and "What a refusal says".
package gate
