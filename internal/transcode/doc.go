// Package transcode turns a call's JSON arguments into protobuf bytes, and a response's protobuf bytes into an MCP
// result.
//
// In come the descriptors of a request and a response and a JSON profile, once, and then bytes per call; out come
// bytes. Inside is protojson over dynamic messages, with one pass over the JSON on each side for what ProtoJSON does
// not know: published names, fields that are in no schema, numeric 64-bit integers.
//
// The room knows protobuf, JSON and the content blocks of MCP. It must not know how arguments are judged (the gate
// accepted them before they come here), names of tools, gRPC or HTTP. The rules are those of tools.md, "JSON profiles"
// and "Results".
package transcode
