package boundary_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// minimumPayloads is how many distinct requests the corpus has at least, and minimumFamilies how many families.
const (
	minimumPayloads = 600
	minimumFamilies = 30
)

// The corpus is what it says it is: many payloads, no two of them the same request, each with its canary in it.
func TestHostile_theCorpusIsLargeAndDistinct(t *testing.T) {
	titles, requests := make(map[string]bool), make(map[[sha256.Size]byte]string)
	var order []string
	count := make(map[string]int)
	everyone := canary{Value: "VALUE", Key: "KEY", Digits: "123"}
	for _, p := range corpus() {
		if titles[p.title()] {
			t.Errorf("two payloads are called %s", p.title())
		}
		titles[p.title()] = true
		if count[p.Family]++; count[p.Family] == 1 {
			order = append(order, p.Family)
		}
		c := p.canary
		s := sender{host: "127.0.0.1:12345", credentials: credentials{"caller", "secret"}}
		request := string(p.render(s))
		if !strings.Contains(request, c.Value) && !strings.Contains(request, c.Digits) && !strings.Contains(request, c.Key) {
			t.Errorf("%s carries no canary", p.title())
		}
		// Two payloads that differ by their canaries alone are one.
		same := sha256.Sum256([]byte(strings.NewReplacer(c.Value, everyone.Value, c.Key, everyone.Key, c.Digits, everyone.Digits).Replace(request)))
		if other, found := requests[same]; found {
			t.Errorf("%s and %s are one request", p.title(), other)
		}
		requests[same] = p.title()
	}
	var report strings.Builder
	for _, family := range order {
		fmt.Fprintf(&report, "\n%5d %s", count[family], family)
	}
	sent := 0
	for _, p := range corpus() {
		sent += len(p.runs())
	}
	t.Logf("%d payloads in %d families, %d requests:%s", len(requests), len(order), sent, report.String())
	if len(requests) < minimumPayloads || len(order) < minimumFamilies {
		t.Errorf("%d payloads in %d families, want at least %d in %d", len(requests), len(order), minimumPayloads, minimumFamilies)
	}
}

// What looks for canaries finds them: whole ones and pieces, in any case, of any payload, and where only some may be.
func TestHostile_aLeakIsFound(t *testing.T) {
	mine, other := &corpus()[0], &corpus()[len(corpus())/2]
	echo := &corpus()[len(corpus())-1]
	c, id := mine.canary, `"x`+mine.canary.Value+`"`
	for _, row := range []struct {
		name    string
		p       *payload
		want    want
		raw     string
		isFound bool
	}{
		{"nothing", mine, noDocument(), `{"error":{"code":-32700}}`, false},
		{"value", mine, noDocument(), `unknown "` + c.Value + `"`, true},
		{"key", mine, noDocument(), c.Key + " is not accepted", true},
		{"number", mine, noDocument(), "must not be " + c.Digits + ".", true},
		{"capitals", mine, noDocument(), strings.ToUpper(c.Value), true},
		{"beginning", mine, noDocument(), c.Value[:pieceLength] + "...", true},
		{"end", mine, noDocument(), "..." + c.Value[len(c.Value)-pieceLength:], true},
		{"middle, joined to something", mine, noDocument(), "prefix" + c.Value[5:5+pieceLength] + "suffix", true},
		{"header", mine, noDocument(), "HTTP/1.1 400 Bad Request\r\nX-Echo: " + c.Value + "\r\n\r\n", true},
		{"another's", mine, noDocument(), other.canary.Value, true},
		{"the id", mine, want{ID: id}, `{"id":` + id + `,"result":{}}`, false},
		{"the id and once more", mine, want{ID: id}, `{"id":` + id + `,"result":{"x":` + id + `}}`, true},
		{"a result", mine, reached(), `{"id":1,"result":{"x":"` + c.Value + `"}}`, true},
		{"a result that is an echo", echo, reached(), `{"id":1,"result":{"x":"` + echo.canary.Value + `"}}`, false},
		{"a header beside an echo", echo, reached(), "X: " + echo.canary.Value + `{"id":1,"result":{"x":"` + echo.canary.Value + `"}}`, true},
		{"another's in an echo", echo, reached(), `{"id":1,"result":{"x":"` + c.Value + `"}}`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			piece, whose := leakFinder().find(row.p.withoutTheEchoed(row.want, answer{raw: []byte(row.raw)}))
			if (piece != "") != row.isFound {
				t.Errorf("found %q of %s in %q", piece, whose, row.raw)
			}
		})
	}
}

// Every payload is answered as the references demand, in every version and every dialect, and nothing of it comes back:
// not in the answer, not in the answer to another, not in the log, and not in the metadata of a call.
func TestHostile_isAnsweredAsSpecifiedAndNeverRepeated(t *testing.T) {
	y := newYard(t)
	for _, version := range versions {
		name := or(version, "no version")
		t.Run(name, func(t *testing.T) {
			c := &caller{host: y.host}
			defer c.close()
			for i := range corpus() {
				p := &corpus()[i]
				if slices.Contains(p.runs(), version) {
					y.check(t, c, p, version, "")
				}
			}
		})
	}
	for _, d := range dialect.All()[1:] {
		t.Run("in "+d.String(), func(t *testing.T) {
			c := &caller{host: y.host}
			defer c.close()
			for i := range corpus() {
				if p := &corpus()[i]; p.runsInDialects() {
					y.check(t, c, p, version20251125, d.String())
				}
			}
		})
	}
	log := y.log()
	if piece, whose := leakFinder().find([]byte(log)); piece != "" {
		t.Errorf("the log has %q of %s: %s", piece, whose, lineWith(log, piece))
	}
	for reference, whose := range y.references {
		if !strings.Contains(log, reference) {
			t.Errorf("the log does not have the reference %s of %s", reference, whose)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		if !json.Valid([]byte(line)) {
			t.Fatalf("the log has a line that is no JSON: %q", line)
		}
	}
}

func lineWith(log, piece string) string {
	for _, line := range strings.Split(log, "\n") {
		if strings.Contains(strings.ToLower(line), piece) {
			return line
		}
	}
	return ""
}

// check sends one payload and judges the answer.
func (y *yard) check(t *testing.T, c *caller, p *payload, version, spoken string) {
	t.Helper()
	complain := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s", p.title(), fmt.Sprintf(format, args...))
	}
	before := y.witness.count()
	got, err := c.send(p, p.render(sender{y.host, y.applicant, version, spoken}))
	if err != nil {
		complain("%v", err)
		return
	}
	w := p.wanted(version)
	if piece, whose := leakFinder().find(p.withoutTheEchoed(w, got)); piece != "" {
		complain("the answer has %q of %s: %.2000q", piece, whose, got.raw)
	}
	for name := range got.header {
		if !slices.Contains(answerHeaders, name) && !(name == "Vary" && strings.HasPrefix(p.Target, "/metrics")) {
			complain("the answer has the header %s", name)
		}
	}
	if p.Closes && bytes.Contains(got.rest, []byte("HTTP/1.1 2")) {
		complain("what follows the answer was served: %.500q", got.rest)
	}
	if !p.Closes && p.Wire != nil {
		y.checkInStep(t, p, version)
	}
	seen := y.witness.count() - before
	w = p.wantedIn(spoken, w, seen > 0)
	if got.status != w.Status {
		complain("status %d, want %d: %.500s", got.status, w.Status, got.body)
		return
	}
	wantSeen := 0
	if w.Call == carried || w.Call == failed {
		wantSeen = 1
	}
	if seen != wantSeen {
		complain("the service was called %d times, want %d: %.500s", seen, wantSeen, got.body)
		return
	}
	if seen == 1 {
		y.checkSeen(p, complain)
	}
	if w.Plain {
		if len(got.body) > 0 && got.header.Get("Content-Type") == "application/json" {
			complain("the answer has a message: %s", got.body)
		}
		return
	}
	checkMessage(version, w, got, complain)
	if w.Call == failed && w.Text == "" {
		found := internalError.FindSubmatch(got.body)
		if found == nil {
			complain("not the internal error: %s", got.body)
			return
		}
		y.references[string(found[1])] = p.title()
	}
}

// internalError is the one answer of every internal error, with its reference.
var internalError = regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":1,"result":\{(?:"resultType":"complete",)?"content":\[\{"type":"text","text":"An internal error occurred\. ` +
	`Whoever runs this platform finds it in the log by the reference ([0-9a-z]+)\."\}\],"isError":true(?:,"_meta":` + regexp.QuoteMeta(modernResultMeta) + `)?\}\}$`)

// checkInStep sends a sound request over a connection of its own together with the payload's, and wants both answered:
// the edge and the caller agree on where the payload ended.
func (y *yard) checkInStep(t *testing.T, p *payload, version string) {
	t.Helper()
	after := payload{canary: p.canary, Body: text(`{"jsonrpc":"2.0","id":"in step","method":"ping"}`), Pinned: true}
	two := append(p.render(y.sender(version)), after.render(y.sender(""))...)
	c := &caller{host: y.host}
	defer c.close()
	if _, err := c.attempt(&after, two); err != nil {
		t.Errorf("%s: before a sound request: %v", p.title(), err)
		return
	}
	second, err := c.read(&after)
	if err != nil || second.status != http.StatusOK || string(second.body) != `{"jsonrpc":"2.0","id":"in step","result":{}}` {
		t.Errorf("%s: a sound request after it was answered %d %q %v", p.title(), second.status, second.body, err)
	}
}

// checkSeen: what reached the service is the canary in the request, and never in the metadata.
func (y *yard) checkSeen(p *payload, complain func(string, ...any)) {
	c, seen := p.canary, y.witness.last()
	if !bytes.Contains(seen.wire, []byte(c.Value)) && !bytes.Contains(seen.wire, []byte(c.Key)) {
		complain("the service got a request without the canary: %q", seen.wire[:min(len(seen.wire), 200)])
	}
	for key, values := range seen.metadata {
		if piece, whose := leakFinder().find([]byte(key + "\x00" + strings.Join(values, "\x00"))); piece != "" {
			complain("the service got %q of %s as metadata %s", piece, whose, key)
		}
	}
}

// checkMessage judges an answer that is a JSON-RPC message.
func checkMessage(version string, w want, got answer, complain func(string, ...any)) {
	if contentType := got.header.Get("Content-Type"); contentType != "application/json" {
		complain("Content-Type %q", contentType)
	}
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		complain("the answer may be stored or sniffed: %v", got.header)
	}
	var message struct {
		JSONRPC string                     `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Result  map[string]json.RawMessage `json:"result"`
		Error   *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(got.body, &message); err != nil || message.JSONRPC != "2.0" {
		complain("the answer is no message: %v: %.500q", err, got.body)
		return
	}
	if string(message.ID) != w.ID {
		complain("id %s, want %q", message.ID, w.ID)
	}
	code := 0
	if message.Error != nil {
		code = message.Error.Code
		if message.Error.Message == "" || message.Result != nil {
			complain("an ill-formed error: %.500s", got.body)
		}
	} else if message.Result == nil {
		complain("neither result nor error: %.500s", got.body)
	}
	if code != w.Code {
		complain("code %d, want %d: %.500s", code, w.Code, got.body)
		return
	}
	if code != 0 {
		return
	}
	checkEra(version, message.Result, complain)
	if w.Call != noCall {
		checkResult(version, w, message.Result, complain)
	}
}

// modernResultMeta is the `_meta` that every result of the modern era has.
const modernResultMeta = `{"` + keyServerInfo + `":` + serverInfo + `}`

// checkEra: a result says what it is and whose it is in the modern era, and not in the legacy one.
func checkEra(version string, result map[string]json.RawMessage, complain func(string, ...any)) {
	isModern := version == version20260728
	if kind := string(result["resultType"]); kind != map[bool]string{true: `"complete"`}[isModern] {
		complain("resultType %q", kind)
	}
	if said := strings.Contains(string(result["_meta"]), strings.Trim(modernResultMeta, "{}")); said != isModern {
		complain("the result says whose it is: %v: %s", said, result["_meta"])
	}
}

// checkResult judges the result of a tools/call.
func checkResult(version string, w want, result map[string]json.RawMessage, complain func(string, ...any)) {
	isError := string(result["isError"]) == "true"
	if isError != (w.Call != carried) {
		complain("the result is an error: %v: %.500s", isError, result["content"])
		return
	}
	if !isError {
		if len(result["structuredContent"]) == 0 {
			complain("a success without structured content")
		}
		return
	}
	if result["structuredContent"] != nil {
		complain("an error with structured content")
	}
	var content []struct{ Type, Text string }
	if err := json.Unmarshal(result["content"], &content); err != nil || len(content) != 1 || content[0].Type != "text" {
		complain("the content is %s", result["content"])
		return
	}
	said := content[0].Text
	if w.quiet {
		said = strings.ReplaceAll(said, unsaidAtRoot, "")
	}
	if w.Text != "" && said != w.Text {
		complain("it says\n%.3000q\nwant\n%.3000q", said, w.Text)
	} else if said == "" {
		complain("it says nothing")
	}
	meta := w.Meta
	if meta != "" && version == version20260728 {
		meta = strings.TrimSuffix(modernResultMeta, "}") + "," + strings.TrimPrefix(meta, "{")
	}
	if meta != "" && string(result["_meta"]) != meta {
		complain("_meta %s, want %s", result["_meta"], meta)
	}
}
