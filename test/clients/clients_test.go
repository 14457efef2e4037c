// Package clients_test connects real MCP clients to the running house: the official Go SDK, the TypeScript SDK in
// both its versions, and the Inspector's command line. ajv judges every schema and every structured result.
package clients_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

// ordersTools are the titles that the application acme-org/orders-app sees, with pages of two.
var ordersTools = []string{
	"Orders Cancel Order", "Orders Find Order", "Orders List Products", "Orders Place Order", "Orders Search",
}

var calls = []call{
	{Title: "Orders Find Order", Arguments: json.RawMessage(`{"orderId":"ORD-1042"}`)},
	{Title: "Orders Search", Arguments: json.RawMessage(`{"statuses":["ORDER_STATUS_SHIPPED"],"pageSize":5}`)},
	{Title: "Orders List Products", Arguments: json.RawMessage(`{}`)},
	{Title: "Orders Find Order", Arguments: json.RawMessage(`{"orderId":"ORD-9999999"}`)},
	{Title: "Orders Find Order", Arguments: json.RawMessage(`{"order":"ORD-1042"}`)},
}

type call struct {
	Title     string          `json:"title"`
	Arguments json.RawMessage `json:"arguments"`
}

type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

type result struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

// checkCalls checks the results of `calls`, in their order.
func checkCalls(t *testing.T, results []result) {
	t.Helper()
	if len(results) != len(calls) {
		t.Fatalf("%d results for %d calls", len(results), len(calls))
	}
	for i, r := range results {
		wantError := i >= 3
		if r.IsError != wantError {
			t.Errorf("%s %s: isError is %v, want %v: %v", calls[i].Title, calls[i].Arguments, r.IsError, wantError, r.Content)
		}
		if len(r.Content) != 1 || r.Content[0].Type != "text" || r.Content[0].Text == "" {
			t.Errorf("%s %s: content is %v, want one text block", calls[i].Title, calls[i].Arguments, r.Content)
		}
		if wantError && r.StructuredContent != nil {
			t.Errorf("%s %s: an error result carries structured content", calls[i].Title, calls[i].Arguments)
		}
	}
	var found struct {
		Order struct {
			OrderID string `json:"orderId"`
		} `json:"order"`
	}
	if err := json.Unmarshal(results[0].StructuredContent, &found); err != nil || found.Order.OrderID != "ORD-1042" {
		t.Errorf("Find Order: structured content is %s (%v), want order ORD-1042", results[0].StructuredContent, err)
	}
	if strings.Contains(results[4].Content[0].Text, "ORD-1042") {
		t.Errorf("the refusal repeats what was sent: %s", results[4].Content[0].Text)
	}
}

func checkTitles(t *testing.T, titles []string) {
	t.Helper()
	slices.Sort(titles)
	if !slices.Equal(titles, ordersTools) {
		t.Errorf("listed titles are %q, want %q", titles, ordersTools)
	}
}

func TestClients_goSDK(t *testing.T) {
	house := stack.Dev(t, "--page-size", "2")
	application := house.Machines.Application
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport-test-go", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             house.MCPURL,
		HTTPClient:           &http.Client{Transport: credentials{application}},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer session.Close()
	if err := session.Ping(ctx, nil); err != nil {
		t.Errorf("ping: %v", err)
	}
	names := map[string]string{}
	var titles []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		names[tool.Title] = tool.Name
		titles = append(titles, tool.Title)
	}
	checkTitles(t, titles)
	var results []result
	for _, c := range calls {
		answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: names[c.Title], Arguments: c.Arguments})
		if err != nil {
			t.Fatalf("call %s: %v", c.Title, err)
		}
		raw, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var r result
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	checkCalls(t, results)
}

// credentials adds a machine's headers to every request.
type credentials struct{ machine stack.Machine }

func (c credentials) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("clientId", c.machine.ClientID)
	r.Header.Set("clientSecret", c.machine.ClientSecret)
	return http.DefaultTransport.RoundTrip(r)
}

func TestClients_typeScriptSDKs(t *testing.T) {
	stack.NeedNode(t)
	house := stack.Dev(t, "--page-size", "2")
	for _, driver := range []string{"sdk-v1.mjs", "sdk-v2.mjs"} {
		t.Run(driver, func(t *testing.T) {
			job := map[string]any{
				"url": house.MCPURL, "clientId": house.Machines.Application.ClientID,
				"clientSecret": house.Machines.Application.ClientSecret, "calls": calls,
			}
			var report struct {
				Server       struct{ Name, Version string }
				Instructions string
				Pages        int
				Tools        []tool
				Results      []struct {
					Title  string
					Result result
					Unfit  string
				}
			}
			node(t, &report, driver, job)
			if report.Server.Name == "" || report.Server.Version == "" || report.Instructions == "" {
				t.Errorf("the server introduces itself as %+v with instructions %q", report.Server, report.Instructions)
			}
			if report.Pages != 3 {
				t.Errorf("%d pages, want 3 (five tools, two a page)", report.Pages)
			}
			var titles []string
			for _, tool := range report.Tools {
				titles = append(titles, tool.Title)
			}
			checkTitles(t, titles)
			var results []result
			for _, r := range report.Results {
				if r.Unfit != "" {
					t.Errorf("%s: the result does not fit the output schema: %s", r.Title, r.Unfit)
				}
				results = append(results, r.Result)
			}
			checkCalls(t, results)
		})
	}
}

// node runs a driver and reads the report that it prints.
func node(t *testing.T, report any, driver string, job any) {
	t.Helper()
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("clients", driver), string(raw))
	cmd.Dir = filepath.Join(stack.Root(), "tools")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", driver, err, out)
	}
	if err := json.Unmarshal(out, report); err != nil {
		t.Fatalf("%s printed no report: %v\n%s", driver, err, out)
	}
}

func TestClients_inspector(t *testing.T) {
	stack.NeedNode(t)
	house := stack.Dev(t)
	run := func(t *testing.T, into any, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
		defer cancel()
		machine := house.Machines.Application
		args = append([]string{
			filepath.Join("node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"),
			"--cli", house.MCPURL, "--transport", "http",
			"--header", "clientId: " + machine.ClientID, "--header", "clientSecret: " + machine.ClientSecret,
		}, args...)
		cmd := exec.CommandContext(ctx, "node", args...)
		cmd.Dir = filepath.Join(stack.Root(), "tools")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("inspector: %v\n%s", err, out)
		}
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatalf("inspector printed %s: %v", out, err)
		}
	}
	var listed struct{ Tools []tool }
	run(t, &listed, "--method", "tools/list")
	var titles []string
	names := map[string]string{}
	for _, tool := range listed.Tools {
		titles = append(titles, tool.Title)
		names[tool.Title] = tool.Name
	}
	checkTitles(t, titles)
	var answer result
	run(t, &answer, "--method", "tools/call", "--tool-name", names["Orders Find Order"], "--tool-arg", "orderId=ORD-1042")
	if answer.IsError || !strings.Contains(string(answer.StructuredContent), `"ORD-1042"`) {
		t.Errorf("Find Order through the Inspector: %+v", answer)
	}
}
