package dialect

// Client is a client that is known to need a dialect, and what is known of it.
type Client struct {
	// Name is what it calls itself in `clientInfo.name`.
	Name string
	// Dialect is what it is given where its requests name none. Its inverse is the identity.
	Dialect Dialect
	// Why says what it cannot do, Source where that is reported, and Date when.
	Why, Source, Date string
}

// Clients are the known clients, by name.
func Clients() []Client {
	return []Client{
		{
			Name: "Visual Studio Code", Dialect: Flat, // its product.json's nameLong
			Why:    "drops the definitions of a tool's schema, so that references lead nowhere",
			Source: "https://github.com/PrefectHQ/fastmcp/pull/2808", Date: "2026-01-07",
		},
		{
			Name: "gemini-cli-mcp-client", Dialect: Flat,
			Why:    "before 0.19, drops every tool of a server where one output schema has references",
			Source: "https://github.com/google-gemini/gemini-cli/issues/13142", Date: "2025-11-15",
		},
		{
			Name: "github-copilot-developer", Dialect: Flat, // github.com/github/copilot-cli/issues/1268
			Why:    "does not resolve references, so that the arguments behind them cannot be given",
			Source: "https://github.com/github/copilot-cli/issues/1876", Date: "2026-03-06",
		},
	}
}
