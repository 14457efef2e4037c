// Package gate judges the arguments of a call by the document that was published for its tool, and writes them as the
// request on the wire.
//
// In come a derived schema.Document, once, and the raw JSON of a call's arguments, which the strict decoder has passed;
// out come protobuf bytes, or a Refusal composed from our own schema alone: no name, key or value that the caller sent
// is in it. The gate accepts exactly what the document and its descriptions say, at every depth.
//
// A document is compiled into a tree of small judges, one for each place, which know the place's node and its field:
// each reads one JSON value, says what is wrong with it, and writes it. One pass over the bytes does both; there is no
// tree of the arguments, no message and no reflection. The judges of a message, of lists and maps, of text, of numbers
// and of the well-known types have a file each; cursor reads JSON, wire writes protobuf, judge is the state of a pass.
//
// The room knows JSON, protobuf bytes and the schema's node graph. It must not know tools, gRPC, MCP or HTTP. The rules
// are those of boundary.md, "The gate" and "What a refusal says". Package gatetest has the same rules in their plainest
// form, as the oracle of the tests.
package gate
