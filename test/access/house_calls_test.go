package access_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sender is one who makes requests: its headers beside those that every request has, and the version that it speaks.
type sender struct {
	version string
	// lines are header lines, `Name: value`.
	lines []string
	// query is put behind the path.
	query string
	// from is the address that the ingress says the sender has.
	from string
}

// bySecret are the lines of a client id and its secret, with more lines.
func bySecret(id, secret string, more ...string) []string {
	return append([]string{"clientId: " + id, "clientSecret: " + secret}, more...)
}

// byToken is the line of an access token, with more lines.
func byToken(token string, more ...string) []string {
	return append([]string{"Authorization: Bearer " + token}, more...)
}

// scopeLines select a grant of a user's.
func scopeLines(organization, application string) (lines []string) {
	if organization != "" {
		lines = append(lines, "organizationId: "+organization)
	}
	if application != "" {
		lines = append(lines, "applicationId: "+application)
	}
	return lines
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// modernMeta is what the modern era demands of `_meta`.
const modernMeta = `"io.modelcontextprotocol/protocolVersion":"` + version20260728 + `","io.modelcontextprotocol/clientCapabilities":{}`

// request is the body of a JSON-RPC request with id 1, and the header lines that go with it. Params are members as text,
// meta are members of `_meta`.
func request(version, method, params, meta string) (body string, lines []string) {
	lines = []string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}
	if version != "" {
		lines = append(lines, "MCP-Protocol-Version: "+version)
	}
	if version == version20260728 {
		meta = joined(modernMeta, meta)
		lines = append(lines, "Mcp-Method: "+method)
	}
	if meta != "" {
		params = joined(params, `"_meta":{`+meta+`}`)
	}
	return `{"jsonrpc":"2.0","id":1,"method":` + quote(method) + `,"params":{` + params + `}}`, lines
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

func quote(text string) string { return string(asJSON(text)) }

// toolCall is a tools/call. The name is JSON, since not every name is a string.
func toolCall(version, name, arguments, meta string) (body string, lines []string) {
	body, lines = request(version, "tools/call", `"name":`+name+`,"arguments":`+arguments, meta)
	var text string
	if version == version20260728 && json.Unmarshal([]byte(name), &text) == nil {
		lines = append(lines, "Mcp-Name: "+headerText(text))
	}
	return body, lines
}

// headerText is how a client writes a tool's name into a header: as it is, or encoded where a header could not carry it.
func headerText(text string) string {
	plain := text != "" && strings.Trim(text, " \t") == text
	for i := range len(text) {
		plain = plain && ' ' <= text[i] && text[i] <= '~'
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// post sends a body with these header lines to the edge.
func (d *door) post(t testing.TB, s sender, body string, lines []string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/mcp"+s.query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(lines, s.lines...) {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	if s.from != "" {
		r.Header.Set("X-Forwarded-For", s.from)
	}
	answer, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return reply{answer.StatusCode, answer.Header, readAll(t, answer.Body)}
}

// call calls a tool by a name that is a string.
func (d *door) call(t testing.TB, s sender, name, arguments string) reply {
	t.Helper()
	body, lines := toolCall(s.version, quote(name), arguments, "")
	return d.post(t, s, body, lines)
}

// raw writes a request as bytes over a connection of its own, for what no client library would send: the lines as they
// are, beside Host, Content-Length and Connection.
func (d *door) raw(t testing.TB, path, body string, lines []string) reply {
	t.Helper()
	conn, err := net.Dial("tcp", d.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n", path, d.host, len(body))
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return reply{answer.StatusCode, answer.Header, readAll(t, answer.Body)}
}

// outcome is the JSON-RPC side of an answer.
type outcome struct {
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Result *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured *told          `json:"structuredContent"`
		IsError    bool           `json:"isError"`
		Meta       map[string]any `json:"_meta"`
		Tools      []struct {
			Name string `json:"name"`
		} `json:"tools"`
		NextCursor string `json:"nextCursor"`
	} `json:"result"`
}

// told is what the witness answers: what the assertion said.
type told struct{ Participant, Audience, Method string }

func (r reply) parse(t testing.TB) outcome {
	t.Helper()
	var o outcome
	if err := json.Unmarshal(r.body, &o); err != nil {
		t.Fatalf("status %d, no JSON: %q", r.status, r.body)
	}
	return o
}

// reached says whether a call reached the witness and was answered by it.
func (r reply) reached() bool {
	return r.status == http.StatusOK && bytes.Contains(r.body, []byte(`"structuredContent"`))
}

// isToolError says whether the answer is a tool error.
func (r reply) isToolError() bool {
	return r.status == http.StatusOK && bytes.Contains(r.body, []byte(`"isError":true`))
}

// list is tools/list to its last page: the published names in their order. Where a page is refused, refusal is its
// answer and the names are none.
func (d *door) list(t testing.TB, s sender) (names []string, refusal *reply) {
	t.Helper()
	cursor := ""
	for page := 0; page < 1000; page++ {
		params := ""
		if cursor != "" {
			params = `"cursor":` + quote(cursor)
		}
		body, lines := request(s.version, "tools/list", params, "")
		r := d.post(t, s, body, lines)
		o := outcome{}
		if r.status == http.StatusOK {
			o = r.parse(t)
		}
		if o.Result == nil {
			return nil, &r
		}
		for _, tool := range o.Result.Tools {
			names = append(names, tool.Name)
		}
		if cursor = o.Result.NextCursor; cursor == "" {
			return names, nil
		}
	}
	t.Fatal("a list of 1,000 pages does not end")
	return nil, nil
}

// addressOf gives each sender an address of its own, so that its failures are counted for it alone.
func addressOf(n int) string {
	return "10." + strconv.Itoa(n>>16&255) + "." + strconv.Itoa(n>>8&255) + "." + strconv.Itoa(n&255)
}
