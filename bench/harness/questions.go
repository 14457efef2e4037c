package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

// Every target gets the headers that it needs, and no others: what the floor does not read is not the floor's.
const (
	plainHeaders = "Content-Type: application/json\r\n"
	mcpHeaders   = plainHeaders + "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
)

func post(path, headers string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\n\r\n", path, headers, len(body))
	return append([]byte(head), body...)
}

// rpcID is a worker's JSON-RPC id. All have the same number of digits.
func rpcID(worker int) int { return 100 + worker }

// mcpCall is a worker's tools/call.
func mcpCall(s Scenario, worker int) []byte {
	alias := workload.Alias
	if s == SmallOpen {
		alias = workload.OpenAlias
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		rpcID(worker), alias, workload.Arguments(s.size(), worker))
}

func mcpList(worker int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, rpcID(worker))
}

// askMCP are the questions to an MCP server.
func askMCP(s Scenario, headers string) func(worker int) question {
	return func(worker int) question {
		switch s {
		case List:
			return question{request: post("/mcp", headers, mcpList(worker))}
		case ListSpelled:
			return question{request: post("/mcp?dialect=openai_strict", headers, mcpList(worker))}
		}
		return question{request: post("/mcp", headers, mcpCall(s, worker)), contains: []byte(workload.ID(worker))}
	}
}

// askEcho are the questions to the floor: the bodies that the edge gets.
func askEcho(s Scenario) func(worker int) question {
	return func(worker int) question {
		if s.lists() {
			return question{request: post("/"+string(s), plainHeaders, mcpList(worker))}
		}
		return question{request: post("/"+string(s), plainHeaders, mcpCall(s, worker)), contains: []byte(workload.ID(worker))}
	}
}

// askREST are the questions to grpc-gateway.
func askREST(s Scenario) func(worker int) question {
	return func(worker int) question {
		return question{
			request:  post("/v1/items:get", plainHeaders, workload.Arguments(s.size(), worker)),
			contains: []byte(workload.ID(worker)),
		}
	}
}

// askThrough are the questions to the pass-through: requests on the wire.
func askThrough(s Scenario) func(worker int) question {
	return func(worker int) question {
		request := workload.Wire(workload.Request(s.size(), worker))
		return question{request: post("/"+string(s), plainHeaders, request), contains: []byte(workload.ID(worker))}
	}
}

// judgeThrough judges what was passed through: the response on the wire, and blanks.
func judgeThrough(s Scenario, size int) func(worker int, body []byte) error {
	return func(worker int, body []byte) error {
		got, want := new(benchv1.GetItemResponse), workload.Response(s.size(), worker)
		response := body[:min(len(body), proto.Size(want))]
		if err := proto.Unmarshal(response, got); err != nil || !proto.Equal(got, want) || len(body) != size {
			return fmt.Errorf("%d bytes that are not the response and blanks, %d together: %v, %w", len(body), size, got, err)
		}
		return nil
	}
}

// judgeREST judges a response of grpc-gateway.
func judgeREST(s Scenario) func(worker int, body []byte) error {
	return func(worker int, body []byte) error { return workload.Check(s.size(), worker, body) }
}

// envelope is a JSON-RPC response.
type envelope[T any] struct {
	ID     int             `json:"id"`
	Result *T              `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func open[T any](worker int, body []byte) (*T, error) {
	var e envelope[T]
	switch err := json.Unmarshal(body, &e); {
	case err != nil:
		return nil, err
	case e.ID != rpcID(worker):
		return nil, fmt.Errorf("an answer to request %d instead of %d", e.ID, rpcID(worker))
	case e.Result == nil:
		return nil, fmt.Errorf("no result: %.300s", body)
	}
	return e.Result, nil
}

// judgeCall judges a response to tools/call: the same item as text and as structured content.
func judgeCall(s Scenario) func(worker int, body []byte) error {
	type result struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	return func(worker int, body []byte) error {
		r, err := open[result](worker, body)
		if err != nil {
			return err
		}
		if r.IsError || len(r.Content) != 1 || r.Content[0].Type != "text" {
			return fmt.Errorf("a result without the one text: %.300s", body)
		}
		size := s.size()
		return errors.Join(workload.Check(size, worker, r.StructuredContent), workload.Check(size, worker, []byte(r.Content[0].Text)))
	}
}

// judgeList judges a response to tools/list: all tools on one page.
func judgeList(worker int, body []byte) error {
	type result struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	r, err := open[result](worker, body)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, t := range r.Tools {
		names[t.Name] = true
	}
	if want := workload.ListedTools + 1; len(names) != want || !names[workload.Alias] || r.NextCursor != "" {
		return fmt.Errorf("%d tools are listed, want %d on one page", len(names), want)
	}
	return nil
}

// judgeEcho judges the floor's answer: what was sent, and as long as the edge's answer.
func judgeEcho(s Scenario, size int) func(worker int, body []byte) error {
	return func(worker int, body []byte) error {
		if !bytes.HasPrefix(body, mcpCall(s, worker)) || len(body) != size {
			return fmt.Errorf("an echo of %d bytes, want what was sent and blanks, %d bytes together", len(body), size)
		}
		return nil
	}
}
