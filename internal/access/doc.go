// Package access decides whether a participant may see and call a function.
//
// In come the access rule that a function declares, the participant, and what roles grant; out comes one decision, with
// the rule that made it. Listing, both doors and the registry's own services ask here, and nowhere else is a rule judged
// (access.md, "Access rules on a tool"). Which zones are reached is package participant's to say.
//
// It knows no tools beyond the few facts that a policy may name, no storage, no JSON-RPC and no credentials.
package access
