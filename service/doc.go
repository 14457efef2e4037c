// Package service makes a gRPC server a registered service of the platform, with one call.
//
// What lives here: the process's side of registration. In come the services that the caller registers on a
// [grpc.Server], and [Option] values or the environment; out go a serving server with a health service, whose
// contract and address are in the registry and whose handlers are told who is calling (participant.FromContext).
// [Run] does everything; [New] is the same in parts, for a process that owns its server.
//
// What it must not know: etcd, MCP and JSON. It talks to the registry's gRPC API and to nothing else. Whether a
// contract can be published is the registry's judgement; its words come back as the error of [Run].
//
// A process lives through these states:
//
//	serving → registered ⇄ lease lost → draining → deregistered → stopped
//
// It serves before it is registered, so that whoever hears of it can call it. While the registry is away it keeps
// serving and tries again with growing pauses.
//
// Environment, read where the option of the same meaning is not given:
//
//	SALLYPORT_REGISTRY       address of the registry's gRPC API, host:port
//	SALLYPORT_REGISTRY_CA    PEM file of the authorities to trust there; turns TLS to the registry on
//	SALLYPORT_CLIENT_ID      id of the host machine
//	SALLYPORT_CLIENT_SECRET  its secret
//	SALLYPORT_ZONE           zone of the services whose proto names none
//	SALLYPORT_LISTEN         where to listen, default ":0"
//	SALLYPORT_ADVERTISE      where the edge reaches the process, host:port or host alone
//	SALLYPORT_TLS_CERT       PEM file of the server's certificate chain; turns TLS on
//	SALLYPORT_TLS_KEY        PEM file of its key
package service
