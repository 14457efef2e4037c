// Package rpc is what the registry's own gRPC services have in common: who calls, what a call passes first, errors and
// pages.
//
// In come calls with a machine's credentials or the edge's assertion; out go calls with a [Caller] that may do what the
// RPC asks for, or an error that says what is wrong and how to mend it. It knows no service: what an RPC asks for, it
// reads from the RPC's own declaration, or is told.
package rpc
