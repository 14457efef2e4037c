// Package dispatch sends calls to instances.
//
// In come the registry's views, from which it knows the instances and the signing key, and requests: who calls which
// function with which bytes. Out come the response's bytes, or an [*Error] that says what became of the call. It
// knows neither MCP nor JSON nor descriptors: bytes in, bytes out.
//
// It is the second door (access.md, "Zones"): before a call leaves, the zone rules and the access rule are judged
// again, from what is stored of the instance that is about to be called and not from what resolution said.
//
// The states that a call passes through:
//
//	picked ──second door──▶ connected ──stream opened──▶ sent ──status arrived──▶ done
//	  ▲                         │                         │
//	  └── another instance ◀────┘ it never left           └─▶ lost: once more if repeating is safe
//
// A call that never left goes to another instance, whatever it does; the instance that did not take it is ejected for
// a while. A call that left is repeated once, and only where its tool declares that this is safe (registry.md,
// "Liveness"). The messages of a server-streaming function are handed over as they arrive, and after the first of them
// nothing is repeated.
//
// No lock is taken on a call's path: it reads one atomic pointer to immutable lists. Views replace the lists.
package dispatch
