// Package participant says who is calling and what that reaches.
//
// In comes the identity that an authenticator established or that a verified assertion carries; out goes the answer
// to one question: does this participant reach that zone? Listing, resolution, dispatch and registration all ask
// here, and nowhere else is the answer derived. The package also carries the participant in a context, from the
// SDK's interceptor to the handler of a service.
//
// It knows no headers, no secrets, no tools and no storage. All of its functions are pure and safe for concurrent
// use; none modifies a participant that it is given.
//
// The rules are those of access.md, "Participant" and "Zones".
package participant
