// Package registry keeps, in etcd, which services exist, where they run, who may call and host (organizations,
// applications, users, machines, delegates and their roles), and the keys that sign participant assertions and access
// tokens. It is the one place that knows how those are laid out there.
//
// In come typed facts that its callers have judged already (a compiled contract's names, a checked address, a checked
// participant); out come guarded transactions, and, through [Watcher], immutable [View]s of what is known now. It
// does not know gRPC services, credentials on the wire, MCP, or how a contract compiles: those are server/, auth and
// contract. Where a registry's own etcd runs is embedded/, which addresses may be dialled is address/.
//
// # Layout
//
// Everything lies under one prefix, `/sallyport/v1/` unless configured, and every value is a message of
// sallyport.registry.v1, or of sallyport.identity.v1 where that is said (registry.md, "In etcd"):
//
//	aliases/<zone root>/<name>       StoredAlias: which function holds a declared tool name
//	built-in/<what>                  empty: the first registry has made this, once
//	contracts/<sha256>               StoredContract: the manifest
//	contracts/<sha256>/<n>           one chunk of the gzip'd descriptor set
//	delegates/<organization>/<email>/<application>/<sha256 of the client id>  the id of the client's delegate
//	functions/<hash>                 StoredAlias: which function a hashed tool name belongs to
//	hosts/<id>                       StoredInstance without a service: the process behind an instance id; leased
//	identities/applications/<organization>/<id>  identity.v1.StoredApplication
//	identities/delegates/<id>        identity.v1.StoredDelegate
//	identities/machines/<id>         StoredMachine
//	identities/organizations/<id>    identity.v1.StoredOrganization
//	identities/roles/<organization>/<name>       identity.v1.StoredRole
//	identities/users/<organization>/<email>      identity.v1.StoredUser
//	instances/<zone>/<service>/<id>  StoredInstance; leased
//	keys/assertion/<kid>             StoredAssertionKey
//	keys/token/<kid>                 identity.v1.StoredTokenKey
//	services/<zone>/<service>        StoredService
//
// The empty zone, the platform in the place of an organization, and none in that of an application, are spelled `_` in a
// key. No zone and no organization is spelled so, since labels are lower-case letters, digits and dashes; a key therefore
// names exactly one. None of the other parts can contain a slash.
//
// One process has one instance id, one lease, one `hosts` key and one `instances` key for each of its services, all on
// that lease: they live and go together. `functions` makes a collision of hashes visible to whoever registers second,
// and finds a tool by its name.
//
// # Transactions
//
// etcd takes 128 operations in a transaction and 1.5 MiB in a request. A registration is therefore written in an order
// in which each step leaves something that is true by itself: chunks, then the manifest that counts them, then the
// service that names the manifest (together with the names that it claims), then the leased keys. Each step is
// guarded by what it points to.
//
// What is an organization's is created under the guard that the organization is stored, and an organization is removed
// under the guard that nothing of its was created since it was found to have nothing; likewise for applications, and for
// roles and who has them. Machines are keyed by id alone, so that this guard is over all machines: removals that meet
// creations try again, and no index can disagree with what it is of.
package registry
