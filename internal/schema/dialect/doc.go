// Package dialect spells a derived schema document anew for consumers that read less than the whole of JSON Schema.
//
// In come a canonical document and a [Dialect]; out comes another document of the same message: its bytes, and the
// graph by which calls in that dialect are judged. Each dialect is a row of a table: the keywords that it has, and which
// of three rewrites it needs (references written out, objects closed, properties all required). What a dialect stops
// spelling stands in a sentence at the end of the description of its place.
//
// A dialect narrows what is said, and never widens what is accepted: the graph of a dialect keeps every constraint,
// whether the dialect has a keyword for it or not, so that one pass of the gate judges both what was published and what
// is canonical. [Canonicalize] is the inverse of what a dialect changes about arguments.
//
// The room knows schema nodes alone. The rules are those of boundary.md, "Dialects".
package dialect
