// Package mcp speaks the Model Context Protocol over HTTP: one stateless endpoint, POST only.
//
// In comes an HTTP request, out goes one answer. Every request walks the same way, each step in its file:
//
//	head.go      admit by head: method, Host, Origin, Content-Type, declared length
//	handler.go   authenticate from headers, read the body within its limit
//	decode.go    one strict JSON document -> message
//	era.go       which era and protocol version the message belongs to, and which method it names; modern.go has what
//	             the modern era states with each request, in the body and again in headers
//	methods.go   initialize, server/discover, ping, tools/list
//	call.go      tools/call: first door -> limits -> gate -> dispatch -> result; params.go holds headers that repeat
//	             arguments against them, capabilities.go what a tool needs of its client; status.go has the texts for gRPC
//	             codes
//	inflight.go  how much there may be at once; callers.go counts what each participant asks for
//	decided.go   what is told of a request beside its settlement, and which of its headers go along
//	stream.go    the signs of life of a running call, as server-sent events to who listens
//	answer.go    what a request gets; deliver.go writes it: whole, or as the last event of its stream
//
// Whatever a step refuses becomes an [answer], never a panic or a second write, and the request settles exactly once.
// Nothing that the caller sent is repeated in an answer but the JSON-RPC id and the progress token (boundary.md, "What a refusal says").
//
// The package knows no etcd, no gRPC connection and no protobuf descriptor: which tools there are and how they are
// called is behind [Catalog], who calls is behind [Authenticator].
package mcp
