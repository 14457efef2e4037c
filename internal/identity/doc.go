// Package identity is the API of identities: sallyport.identity.v1.IdentityService, through which organizations manage
// their applications, users, machines, delegates and roles, and OrganizationService, through which the platform manages
// organizations and signing keys.
//
// In come calls of callers that package rpc established, and of whom it has judged that they may do what the RPC
// declares; out go guarded writes to the store, and answers that read it. What is judged here is whose something is, and
// what a caller may give:
//
//   - an organization works on its own alone; what is another's answers as what does not exist. The platform names an
//     organization, or works on its own identities;
//   - nobody gives a role of the platform that grants more than their own do, makes one, or changes whoever or whatever
//     holds more. Roles of an organization count in its own zones alone, and are its own to make and give.
//
// It does not know how things lie in etcd (package registry), who is behind a credential (package auth), nor MCP.
package identity
