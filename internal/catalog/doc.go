// Package catalog holds which tools exist and who sees them.
//
// In come the registry's views and, by digest, its contracts; out come immutable snapshots, one after the other,
// behind one atomic pointer. A request loads the pointer once and works with that snapshot to its end. The package
// knows no JSON-RPC, no HTTP and no credentials, and calls nobody: it hands out what a call needs.
//
// # From a view to a snapshot
//
//	view ─▶ what each service publishes ─▶ plans ─▶ blocks ─▶ snapshot
//
// A plan is one contract of one service compiled: tools with their schemas and definitions. Plans are compiled once, on
// a bounded pool off the request path, and kept while the view needs them; the plan of a tool's calls is compiled at the
// first call and kept with it. A block is one service as callers see it: the
// plan of the oldest contract that has an online instance, narrowed by the access rules of every online contract
// (DESIGN, decision 6). What did not change is taken over from the snapshot before, so that a change costs in
// proportion to what changed, plus copying some maps of pointers.
//
// A plan that is being compiled, or whose contract cannot be read just now, leaves its service as it was; one that
// does not compile hides its service's tools and nothing else. Unknown means no (DESIGN, decision 13): what cannot be
// judged is hidden, and the reason is logged.
//
// # Who sees what
//
// Access rules are judged by package access; what they decided is remembered here, since lists ask it of every tool. A
// decision depends on the participant's value, the rule and what roles grant alone: decisions are kept for 16,384
// participants, by value and by pointer, and each rule is evaluated once for each of them until a rule or a role of the
// installation changes. One takes its participant and two bits for each distinct rule: 10,000 callers of 1,000 tools
// under 200 rules take less than 16 MiB. All together take at most 160 MiB, which participants of 4 KiB, the largest that
// there are, come to under 8,000 rules; where there are more rules, fewer participants are remembered.
//
// Callers of one scope who are permitted the same share one rendered listing. All listings together take 128 MiB at most;
// a listing under rules for which there is no room is assembled page by page. Names resolve among what is permitted, and a
// miss takes the same steps whatever its reason.
package catalog
