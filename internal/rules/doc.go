// Package rules has protovalidate judge what the gate cannot: the rules of a request that its schema says in words
// alone (boundary.md, "The gate").
//
// In come a document of package schema and the wire bytes that the gate wrote; out comes a refusal in words of ours, or
// nothing. The gate says for each call whether there is anything left to judge, so that most calls never come here.
//
// The room knows descriptors, documents and protovalidate. It must not know tools, JSON, MCP or HTTP. Of a violation
// only what cannot carry a caller's data is rendered: the published path, with the keys of maps as {key}, and a text
// that stands in the proto.
package rules
