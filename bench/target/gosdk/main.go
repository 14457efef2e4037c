// Command gosdk is a tool written by hand on the official Go SDK: stateless, JSON responses, arguments and result
// through protojson and generated types, the result as text and as structured content.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/target/kit"
)

// inputSchema says what a careful author would. The SDK does not judge calls by it: with Server.AddTool that is the
// handler's business, and protojson's here.
const inputSchema = `{"type":"object","properties":{"id":{"type":"string","description":"The item's id."},` +
	`"filter":{"type":"object","properties":{"minVersion":{"type":"string"},"status":{"type":"string"},` +
	`"tags":{"type":"array","items":{"type":"string"}},"labels":{"type":"object","additionalProperties":{"type":"string"}},` +
	`"updatedAfter":{"type":"string","format":"date-time"}}},"related":{"type":"integer"}}}`

func main() {
	backend := flag.String("backend", "", "address of the service")
	name := flag.String("tool", "", "name of the tool")
	flag.Parse()
	kit.Main("gosdk", func() error {
		conn, err := grpc.NewClient(*backend, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer conn.Close()
		server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{
			Name: *name, Description: "Gets one item, and on demand those that are related to it.",
			InputSchema: json.RawMessage(inputSchema),
		}, getItem(benchv1.NewBenchServiceClient(conn)))
		return kit.Serve(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	})
}

func getItem(client benchv1.BenchServiceClient) mcp.ToolHandler {
	return func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		request := new(benchv1.GetItemRequest)
		if err := protojson.Unmarshal(call.Params.Arguments, request); err != nil {
			return failed("The arguments are not those of the tool."), nil
		}
		response, err := client.GetItem(ctx, request)
		if err != nil {
			return failed("The service failed."), nil
		}
		text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(response)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
			StructuredContent: json.RawMessage(text),
		}, nil
	}
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}
