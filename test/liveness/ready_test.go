package liveness_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// ready is what the edge says of its snapshot.
func (h *house) ready(t *testing.T) string {
	t.Helper()
	body, _ := h.get(t)
	return body
}

func (h *house) readyCode(t *testing.T) int {
	t.Helper()
	_, code := h.get(t)
	return code
}

func (h *house) get(t *testing.T) (string, int) {
	t.Helper()
	response, err := http.Get(strings.TrimSuffix(h.MCP, "/mcp") + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), response.StatusCode
}
