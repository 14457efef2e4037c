package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/test/docs/generated"
)

const refusalsPage = "docs/refusals.md"

// shop is the contract of the page's examples.
const shop = `service Shop {
  rpc Order(OrderRequest) returns (OrderResponse) {
    option (sallyport.tool.v1.tool) = {name: "order"};
  }
}
message OrderRequest {
  string customer_id = 1 [(buf.validate.field).required = true];
  repeated Line lines = 2 [(buf.validate.field).repeated.max_items = 2];
  map<string, string> labels = 3;
  Speed speed = 4;
  google.protobuf.Timestamp deliver_at = 5;
  int64 budget = 6;
  oneof contact { string email = 7; string phone = 8; }
  google.protobuf.Value note = 9;
}
message Line {
  string sku = 1 [(buf.validate.field).string = {pattern: "^[A-Z]-[0-9]+$"}];
  int32 quantity = 2 [(buf.validate.field).int32 = {gte: 1, lte: 99}];
}
enum Speed { SPEED_UNSPECIFIED = 0; SPEED_SLOW = 1; SPEED_FAST = 2; }
message OrderResponse { string number = 1; }
`

const shopHead = `syntax = "proto3";
package shop.v1;
import "buf/validate/validate.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "sallyport/tool/v1/options.proto";
`

func TestRefusalsPage(t *testing.T) {
	h := newHouse(t, map[string]string{"shop/v1/shop.proto": shopHead + shop})
	t.Run("document", func(t *testing.T) { documentRegion(t, h) })
	t.Run("message", func(t *testing.T) { messageRegion(t, h) })
	t.Run("modern", func(t *testing.T) { modernRegion(t, h) })
	t.Run("arguments", func(t *testing.T) { argumentsRegion(t, h) })
	t.Run("statuses", func(t *testing.T) { statusRegion(t, h) })
}

// errorCells are status, code and message of a JSON-RPC error.
func errorCells(r response) []string {
	o := r.parse()
	if o.Error == nil {
		r.t.Fatalf("no error: %s", r.body)
	}
	return []string{strconv.Itoa(r.status), strconv.Itoa(o.Error.Code), o.Error.Message}
}

func documentRegion(t *testing.T, h *house) {
	call := func(arguments string) string { return string(callBody("1", "order", arguments)) }
	var cells [][]string
	constant := ""
	for _, row := range []struct{ what, example, body string }{
		{"a name twice in an object, at any depth, however it is spelled", `{"amount":1,"amount":9999}`, call(`{"note":{"amount":1,"amount":9999}}`)},
		{"bytes after the document", `{…} {…}`, call(`{}`) + ` {}`},
		{"a comment", `{"a":1 /* one */}`, call(`{"note":1 /* one */}`)},
		{"a trailing comma", `[1,2,]`, call(`{"note":[1,2,]}`)},
		{"single quotes", `{'a':1}`, call(`{'note':1}`)},
		{"a name without quotes", `{a:1}`, call(`{note:1}`)},
		{"a leading zero", `01`, call(`{"note":01}`)},
		{"a raw control character in a string", "", call("{\"note\":\"a\tb\"}")},
		{"a number that JSON does not have", `NaN`, call(`{"note":NaN}`)},
		{"invalid UTF-8", "", call("{\"note\":\"\xff\"}")},
		{"half of a surrogate pair", `"\ud800"`, call(`{"note":"\ud800"}`)},
		{"a byte order mark", "", "\xef\xbb\xbf" + call(`{}`)},
		{"more than 100 levels below arguments", "", call(`{"note":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`)},
		{"a number of more than 1000 characters", "", call(`{"note":1` + strings.Repeat("0", 1000) + `}`)},
	} {
		answer := errorCells(h.post([]byte(row.body), h.caller.headers(version20251125)))
		rules, reason, found := strings.Cut(answer[2], " At byte ")
		if answer[0] != "400" || answer[1] != "-32700" || !found || constant != "" && rules != constant {
			t.Errorf("%s: %q", row.what, answer)
		}
		constant = rules
		cells = append(cells, []string{row.what, generated.Code(row.example), "At byte " + reason})
	}
	generated.Region(t, refusalsPage, "document", "Everything here is answered with 400 and -32700. The message says what a document is:\n\n> "+constant+
		"\n\nand then where, counted in bytes from 0, it is none, and why:\n\n"+
		generated.Table([]string{"refused", "for example", "and why"}, cells))
}

// unknownDialect asks for a dialect that does not exist.
const unknownDialect = `"_meta":{"dev.sallyport/dialect":"esperanto"}`

func messageRegion(t *testing.T, h *house) {
	var cells [][]string
	for _, row := range []struct{ what, body string }{
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
		{"no object", `"ping"`},
		{"no JSON-RPC 2.0", `{"id":1,"method":"ping"}`},
		{"an id that is no string and no integer", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`},
		{"an id of more than 256 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 256) + `","method":"ping"}`},
		{"a method that does not exist", `{"jsonrpc":"2.0","id":1,"method":"tools/wish"}`},
		{"params of another shape", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`},
		{"a cursor that is none of ours", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`},
		{"a dialect that does not exist, whatever the method", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + unknownDialect + `}}`},
		{"a tool that does not exist, or not for this caller", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`},
		{"a tool's name that is no string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`},
		{"arguments that are no object", string(callBody("1", "order", `[]`))},
	} {
		cells = append(cells, append([]string{row.what}, errorCells(h.post([]byte(row.body), h.caller.headers(version20251125)))...))
	}
	headOf := func(h *house, what string, change func(http.Header)) {
		headers := h.caller.headers(version20251125)
		change(headers)
		cells = append(cells, append([]string{what}, errorCells(h.post(callBody("1", "order", `{}`), headers))...))
	}
	head := func(what string, change func(http.Header)) { headOf(h, what, change) }
	head("a protocol version that is not served", func(headers http.Header) { headers.Set("MCP-Protocol-Version", "2024-11-05") })
	head("no credentials, or wrong ones", func(headers http.Header) { headers.Set("clientSecret", "x") })
	// bearer has the token instead of the caller's secret.
	bearer := func(token string) func(http.Header) {
		return func(headers http.Header) {
			headers.Del("clientId")
			headers.Del("clientSecret")
			headers.Set("Authorization", "Bearer "+token)
		}
	}
	head("an access token, where the edge has no `authorization_server`", bearer("x"))
	issuing := newIssuingHouse(t)
	headOf(issuing, "no credentials, or wrong ones, where it has", func(headers http.Header) { headers.Set("clientSecret", "x") })
	headOf(issuing, "an access token that is not valid (`invalid_token`)", bearer("x"))
	headOf(issuing, "an access token without the scope of the method (`insufficient_scope`)", bearer(issuing.listToken()))
	head("a header with credentials twice", func(headers http.Header) { headers.Add("clientId", h.caller.id) })
	for range 10 { // and then it is one too many
		h.post(callBody("1", "order", `{}`), credentials{id: "nobody", secret: "x"}.headers(version20251125))
	}
	head("wrong credentials, too often by one id or from one address", func(headers http.Header) {
		headers.Set("clientId", "nobody")
		headers.Set("clientSecret", "x")
	})
	head("another Content-Type", func(headers http.Header) { headers.Set("Content-Type", "text/plain") })
	head("an Origin that is not allowed", func(headers http.Header) { headers.Set("Origin", "https://elsewhere.example") })
	generated.Region(t, refusalsPage, "message", generated.Table([]string{"refused", "status", "code", "message"}, cells))
}

// newIssuingHouse is a house whose edge issues access tokens.
func newIssuingHouse(t *testing.T) *house {
	return newHouse(t, map[string]string{"shop/v1/shop.proto": shopHead + shop}, configured(func(c *configv1.EdgeConfig) {
		c.BaseUrl, c.AuthorizationServer = "https://edge.example", new(configv1.AuthorizationServer)
	}), prepared(func(h *house) {
		if err := h.store.EnsureSigningKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}))
}

// listToken gets the caller a token that is good for listing tools alone.
func (h *house) listToken() string {
	h.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"tools:list"},
		"client_id": {h.caller.id}, "client_secret": {h.caller.secret}}
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/api/auth/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var issued struct {
		Token string `json:"access_token"`
	}
	if got := h.do(r); json.Unmarshal(got.body, &issued) != nil || issued.Token == "" {
		h.t.Fatalf("no token: %d %s", got.status, got.body)
	}
	return issued.Token
}

func modernRegion(t *testing.T, h *house) {
	var cells [][]string
	ask := func(what, body string, change func(http.Header)) {
		headers := h.caller.headers(version20260728)
		for _, line := range routingLines(body) {
			name, value, _ := strings.Cut(line, ": ")
			headers.Set(name, value)
		}
		change(headers)
		cells = append(cells, append([]string{what}, errorCells(h.post([]byte(body), headers))...))
	}
	asIs := func(http.Header) {}
	say := func(name, value string) func(http.Header) {
		return func(headers http.Header) { headers.Set(name, value) }
	}
	list := func(meta string) string {
		return modernized(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + meta + `}}}`)
	}
	call := modernized(string(callBody("1", "order", `{}`)))
	ask("no `_meta`, or without its version or capabilities, or these of another type", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, asIs)
	ask("`clientInfo` that is no object", list(`"`+keyClientInfo+`":"x"`), asIs)
	ask("`logLevel` that is none", list(`"`+keyLogLevel+`":"loud"`), asIs)
	ask("`progressToken` that cannot be repeated", list(`"progressToken":1.5`), asIs)
	ask("a version in the header that is not that of `_meta`, is missing or stands twice", list(""), say("MCP-Protocol-Version", version20251125))
	ask("a version that header and `_meta` agree on and that is not served", list(`"`+keyVersion+`":"2099-01-01"`), say("MCP-Protocol-Version", "2099-01-01"))
	ask("a method in the header that is not the body's, is missing or stands twice", list(""), say("Mcp-Method", "tools/call"))
	ask("a tool in the header that is not the body's, is missing, is ill-formed or stands twice", call, say("Mcp-Name", "=?base64?!?="))
	ask("a method that does not exist", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{`+soundMetaOnly+`}}`, asIs)
	ask("a dialect that does not exist, whatever the method", modernized(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+unknownDialect+`}}`), asIs)
	ask("a posted response", `{"jsonrpc":"2.0","id":1,"result":{}}`, asIs)
	generated.Region(t, refusalsPage, "modern", generated.Table([]string{"refused", "status", "code", "message"}, cells))
}

func argumentsRegion(t *testing.T, h *house) {
	generated.Region(t, refusalsPage, "contract", "<!-- show -->\n```proto\n"+shop+"```")
	var cells [][]string
	for _, arguments := range []string{
		`{}`,
		`{"customer_id":"7"}`,
		`{"customerId":"7","customer_id":"7"}`,
		`{"customerId":7}`,
		`{"customerId":"7","budget":100}`,
		`{"customerId":"7","budget":"1e2"}`,
		`{"customerId":"7","budget":null}`,
		`{"customerId":"7","speed":"fast"}`,
		`{"customerId":"7","deliverAt":"tomorrow"}`,
		`{"customerId":"7","labels":{"colour":7}}`,
		`{"customerId":"7","email":"a","phone":"b"}`,
		`{"customerId":"a\u0000b"}`,
		`{"customerId":"7","note":{"n":1e400}}`,
		`{"customerId":"7","lines":[{"sku":"A-1","quantity":100},{"sku":"a-1","quantity":1.5},{"sku":"A-3","quantity":1,"x":1}]}`,
	} {
		r := h.call(version20251125, "order", arguments)
		text := r.toolError()
		if meta := r.parse().Result.Meta; meta["dev.sallyport/correctable"] != true || r.seen != nil {
			t.Errorf("%s: meta %v, seen %v", arguments, meta, r.seen)
		}
		first, problems, _ := strings.Cut(text, "\n")
		if first != "The arguments do not fit the tool's input schema:" {
			t.Errorf("%s: %s", arguments, text)
		}
		cells = append(cells, []string{generated.Code(arguments), strings.ReplaceAll(problems, "\n", "<br>")})
	}
	generated.Region(t, refusalsPage, "arguments", "The first line is always \"The arguments do not fit the tool's input schema:\".\n\n"+
		generated.Table([]string{"arguments", "problems"}, cells))
}

// reference is what tells internal errors apart.
var reference = regexp.MustCompile(`reference [0-9a-z]+\.`)

func statusRegion(t *testing.T, h *house) {
	const method = "/shop.v1.Shop/Order"
	const arguments = `{"customerId":"C-17","budget":"500","lines":[{"sku":"A-1","quantity":3}]}`
	answered := func(s *status.Status) (text string, meta map[string]any) {
		h.witness.answer(method, func(context.Context, *seen) ([]byte, error) { return nil, s.Err() })
		r := h.call(version20251125, "order", arguments)
		if strings.Contains(string(r.body), "C-17") {
			t.Errorf("the caller's words come back: %s", r.body)
		}
		return reference.ReplaceAllString(r.toolError(), "reference …."), r.parse().Result.Meta
	}
	fact := func(meta map[string]any, key string) string {
		if v, ok := meta["dev.sallyport/"+key]; ok {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return generated.Code(string(b))
		}
		return ""
	}
	var cells [][]string
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		said := "customer 'C-17' has 500 left"
		text, meta := answered(status.New(code, said))
		cells = append(cells, []string{
			generated.Code(strings.ToUpper(snake(code.String()))), strings.ReplaceAll(text, "\n", "<br>"),
			fact(meta, "correctable"), fact(meta, "executed"),
		})
	}
	generated.Region(t, refusalsPage, "statuses", fmt.Sprintf("The service answers %s to %s:\n\n", generated.Code("customer 'C-17' has 500 left"), generated.Code(arguments))+
		generated.Table([]string{"status", "what is said", "correctable", "executed"}, cells))

	s, err := status.New(codes.InvalidArgument, "the order is not valid").WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "lines[0].sku", Description: "there is no article A-1"},
			{Field: "customer_id", Description: "C-17 is closed"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := answered(s)
	generated.Region(t, refusalsPage, "violations", "<!-- show -->\n```text\n"+text+"\n```")
}

// snake writes a code's name as gRPC documents it.
func snake(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
}
