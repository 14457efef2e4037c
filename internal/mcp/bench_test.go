package mcp

import "testing"

// benchBody is a call of a few hundred bytes.
const benchBody = `{"jsonrpc":"2.0","id":101,"method":"tools/call","params":{"name":"get-item","arguments":{"id":"item-w00",` +
	`"filter":{"tags":["tea","green"],"status":"STATUS_ACTIVE","minVersion":"9007199254740993","labels":{"region":"eu-west"}},` +
	`"since":"2026-01-02T03:04:05Z","limit":25}}}`

func BenchmarkDecode(b *testing.B) {
	l := newLimits(DefaultMaxJSONDepth, DefaultMaxJSONNumber)
	body := []byte(benchBody)
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := l.decode(body); refusal != nil {
			b.Fatal(string(refusal.body))
		}
	}
}
