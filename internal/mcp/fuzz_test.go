package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzDecode holds the decoder to wellFormed, which finds the same verdict in another way; and the parts that we cut out
// of the body are themselves JSON. A refusal is always a JSON-RPC error that repeats no more than an id.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"y":null}]},"_meta":{"progressToken":"t"}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"tools/list","params":{"cursor":"AWE"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"\ufeff{}", `{"a":"\ud800"}`, `{} {}`, `{"a":01}`, "{\"a\":\"\xff\"}", ``, `null`,
		strings.Repeat(`{"params":`, 200),
		`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1001) + `,"method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	l := newLimits(DefaultMaxJSONDepth, DefaultMaxJSONNumber)
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		m, refusal := l.decode(body)
		if !bytes.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		malformed := refusal != nil && bytes.Contains(refusal.body, []byte(`"code":-32700`))
		batch := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) // refused whatever it holds
		if want := !wellFormed(body, DefaultMaxJSONDepth+envelopeDepth, DefaultMaxJSONNumber); malformed != want && !batch {
			t.Fatalf("%q: malformed %v, want %v", body, malformed, want)
		}
		if refusal != nil {
			if refusal.status != 400 || !json.Valid(refusal.body) || len(refusal.body) > 600 {
				t.Fatalf("refusal %d %s", refusal.status, refusal.body)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted %q, which is not JSON", body)
		}
		p := m.params
		for _, v := range [][]byte{m.id, p.name, p.arguments, p.cursor, p.protocolVersion, p.meta.protocolVersion} {
			if v != nil && (!json.Valid(v) || !bytes.Contains(body, v)) {
				t.Fatalf("cut %q out of %q", v, body)
			}
		}
		if m.kind == request && !validID(m.id) {
			t.Fatalf("id %q", m.id)
		}
	})
}
