// Package schema derives JSON Schema documents from protobuf message descriptors.
//
// In come a message descriptor (with the comments of its file in SourceLocations and its options resolved) and a
// JSON profile; out comes a Document: the bytes that are published, and the node graph they were written from, with
// the facts JSON Schema has no keyword for. The gate judges by that graph, so that what is published and what is
// accepted are one thing.
//
// The room knows descriptors, comments and rules. It must not know tools, names, titles, zones, MCP or HTTP. The
// rules are those of boundary.md, "The canonical schema", and tools.md, "JSON profiles" and "Results".
package schema
