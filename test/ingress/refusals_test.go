package ingress_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What nginx answers where no edge does.
const (
	refusalBadRequest  = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"The request is not valid HTTP."}}`
	refusalHeadTooLong = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"The headers are larger than this edge accepts."}}`
	refusalNothingHere = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"There is nothing at this path."}}`
	refusalOtherHost   = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"The Host header names a host that this edge does not serve."}}`
	refusalMethod      = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Only POST is served here."}}`
	refusalUnreachable = `{"jsonrpc":"2.0","error":{"code":502,"message":"No edge can be reached, and nothing was run. Try again shortly."}}`
	refusalBroken      = `{"jsonrpc":"2.0","error":{"code":502,"message":"The connection to the edge broke. A call may have run: check before repeating it."}}`
	refusalTimeout     = `{"jsonrpc":"2.0","error":{"code":504,"message":"The edge did not answer in time. A call may have run: check before repeating it."}}`
)

// refusesMalformedRequests holds that a request that no edge could be asked about is answered in JSON-RPC, too.
func refusesMalformedRequests(t *testing.T, n *nginx) {
	const line = "POST /mcp HTTP/1.1\r\nHost: " + host + "\r\n"
	long := strings.Repeat("x", 20<<10)
	for _, row := range []struct {
		name   string
		sent   string
		status int
		body   string
	}{
		{"no HTTP", "POST\r\n\r\n", http.StatusBadRequest, refusalBadRequest},
		{"two Hosts", line + "Host: " + host + "\r\n\r\n", http.StatusBadRequest, refusalBadRequest},
		{"no Host", "POST /mcp HTTP/1.1\r\n\r\n", http.StatusBadRequest, refusalBadRequest},
		{"a length that is none", line + "Content-Length: 1x\r\n\r\n", http.StatusBadRequest, refusalBadRequest},
		{"a length beside chunks", line + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", http.StatusBadRequest,
			refusalBadRequest},
		{"too long a header", line + "X-Trace: " + long + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge, refusalHeadTooLong},
		{"too long a path", "POST /mcp?" + long + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
			http.StatusRequestHeaderFieldsTooLarge, refusalHeadTooLong},
		{"the method TRACE", "TRACE /mcp HTTP/1.1\r\nHost: " + host + "\r\n\r\n", http.StatusMethodNotAllowed, refusalMethod},
		{"too large a body, of which nothing comes", line + "Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
			http.StatusRequestEntityTooLarge,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"The body is larger than this edge accepts."}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			conn, err := tls.Dial("tcp", n.address, &tls.Config{RootCAs: n.trusted, ServerName: host})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, row.sent); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			reply{response.Proto, response.StatusCode, response.Header, string(body)}.refused(t, row.status, row.body)
			if bytes.Contains(body, []byte("xxx")) {
				t.Errorf("the answer repeats what was sent")
			}
		})
	}
}
