// Package transcode turns a response's protobuf bytes into an MCP result.
//
// In come the descriptor of a response and a JSON profile, once, and then bytes per call; out come bytes, appended to
// the caller's buffer. What is between them is compiled once per message type: a table of its fields, each with its
// quoted name and the way its values are written. A message is read twice. One scan notes in slots where each field is:
// later values replace earlier ones there, pieces of a message and of a list are chained, and what drops out is checked.
// Then the fields are written in the order in which they are declared. Nothing is built in between.
//
//	response ──index──▶ slots ──append──▶ "structuredContent":{…} ──quote──▶ ,"content":[{"type":"text","text":"{…}"}]
//
// [Progress] tells the signs of a stream of the progress shape from its result, over the same tables.
//
// The room knows protobuf's wire, ProtoJSON and the content blocks of MCP. It must not know how arguments are judged or
// how they become a request (internal/gate does both), names of tools, gRPC or HTTP. The rules are those of tools.md,
// "JSON profiles" and "Results"; its oracle is transcodetest.
package transcode
