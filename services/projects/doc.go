// Package projects is a demo service of the platform's management plane: the projects of organizations, and the
// environments that they are deployed to.
//
// [Server] implements acme.projects.v1.ProjectService and EnvironmentService on a [Store], which is one bbolt file. In
// come validated requests and the participant that the service package verified; out go what belongs to that
// participant, or gRPC errors. Whose a project is, is decided here: an organization reaches its own, the system all,
// and what a caller does not reach does not exist for it.
//
// What it must not know: the registry, the edge and MCP. That the RPCs are tools, the protos say; that they are
// registered, the program (cmd/projects).
package projects
