package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// welcome says how to connect.
func welcome(out io.Writer, dir string, d *description) {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	app := d.Machines.Application
	p("")
	p("Sallyport is ready.")
	p("")
	p("  MCP            %s", d.MCPURL)
	p("  registry REST  %s", d.RegistryRESTURL)
	p("  registry gRPC  %s", d.RegistryGRPCAddr)
	p("")
	p("Credentials, as the headers clientId and clientSecret (also in %s):", filepath.Join(dir, "dev.json"))
	p("")
	p("  system                 %-17s %s", d.Machines.System.ClientID, d.Machines.System.ClientSecret)
	p("  organization acme-org  %-17s %s", d.Machines.Organization.ClientID, d.Machines.Organization.ClientSecret)
	p("  application acme-org/orders-app")
	p("                         %-17s %s", app.ClientID, app.ClientSecret)
	p("  user, with organizationId: acme-org, and applicationId: orders-app or none")
	p("                         %-17s %s", d.Users.Ada.Email, d.Users.Ada.Password)
	p("")
	p("An access token instead of the two headers, for machines:")
	p("")
	p("  curl -s %s -u %s:%s -d grant_type=client_credentials", d.TokenURL, app.ClientID, app.ClientSecret)
	p("")
	p("List the application's tools:")
	p("")
	p("  curl -s %s -H @%s -H 'Content-Type: application/json' \\", d.MCPURL, filepath.Join(dir, "application.headers"))
	p(`    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`)
	p("")
	p("MCP Inspector:")
	p("")
	p("  npx @modelcontextprotocol/inspector --cli %s --transport http \\", d.MCPURL)
	p("    --header \"clientId: %s\" --header \"clientSecret: %s\" --method tools/list", app.ClientID, app.ClientSecret)
	p("")
	p("Claude Code:")
	p("")
	p("  claude mcp add --transport http sallyport %s \\", d.MCPURL)
	p("    --header \"clientId: %s\" --header \"clientSecret: %s\"", app.ClientID, app.ClientSecret)
	p("")
	p("Ctrl-C stops everything.")
	_, _ = io.WriteString(out, b.String())
}
