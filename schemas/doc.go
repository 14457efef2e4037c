// Package schemas makes JSON Schemas that other MCP servers publish readable for clients that follow no references.
//
// In comes the text of a foreign schema, out goes one that says the same with as few references as can be. It is for
// whoever offers the tools of a server that is not Sallyport to a model: one schema that cannot be read in full is no
// reason to drop a tool. What Sallyport itself publishes needs none of it; its dialects are in internal/schema/dialect.
package schemas
