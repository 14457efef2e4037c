package boundary_test

import (
	"fmt"
	"strconv"
	"strings"
)

// Families about the HTTP around the message: heads that are odd, double or forged, and requests whose end is disputed
// (mcp-protocol.md 1.1 to 1.7; access.md, "Credentials").

// pinged is a sound body for a request whose head is the hostile part.
func pinged(c canary) string { return c.fill(rpc("ping", `{"x":"$K"}`)) }

// heads makes payloads that differ from a sound ping by header lines.
func heads(family string, w want, list ...[]string) []payload {
	out := make([]payload, len(list))
	for i, lines := range list {
		out[i] = payload{Family: family, Name: fmt.Sprintf("%.100s", strings.Join(lines, " | ")), Lines: lines, Body: pinged, Want: w}
	}
	return out
}

func one(lines ...string) [][]string {
	out := make([][]string, len(lines))
	for i, line := range lines {
		out[i] = []string{line}
	}
	return out
}

func versionHeaders() []payload {
	const family = "protocol version header"
	pin := func(list []payload) []payload {
		for i := range list {
			list[i].Pinned = true
		}
		return list
	}
	out := pin(heads(family, unsupported(), append(one(
		"MCP-Protocol-Version: $V", "MCP-Protocol-Version:", "MCP-Protocol-Version: 1999", "MCP-Protocol-Version: 2024-11-05",
		"MCP-Protocol-Version: 2025-11-25, 2025-11-25", "MCP-Protocol-Version: 2025-11-25;q=1", "MCP-Protocol-Version: 2025-11-25\xff",
		"MCP-Protocol-Version: 2025-11-25 $V", `MCP-Protocol-Version: "2025-11-25"`, "MCP-Protocol-Version: v2025-11-25", "MCP-Protocol-Version: 2025-11", "MCP-Protocol-Version: draft",
		"MCP-Protocol-Version: ２０２５-11-25", "MCP-Protocol-Version: 2025-11-25\t2025-06-18", "MCP-Protocol-Version: =?base64?MjAyNS0xMS0yNQ==?=",
		"MCP-Protocol-Version: "+strings.Repeat("2", 10_000),
	),
		[]string{"MCP-Protocol-Version: 2025-11-25", "MCP-Protocol-Version: 2025-11-25"},
		[]string{"MCP-Protocol-Version: 2025-11-25", "mcp-protocol-version: $V"},
		[]string{"MCP-Protocol-Version: 2025-03-26", "MCP-PROTOCOL-VERSION: 2026-07-28"},
		[]string{"MCP-Protocol-Version:", "MCP-Protocol-Version: 2025-11-25"},
	)...))
	// A version of the modern era needs a body of that era.
	out = append(out, pin(heads(family, ofTheEnvelope(-32602), one(
		"MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2099-01-01", "MCP-Protocol-Version: 9999-99-99",
	)...))...)
	out = append(out, pin(heads(family, answered(), one(
		"MCP-Protocol-Version: 2025-11-25", "mcp-protocol-version: 2025-06-18", "MCP-Protocol-Version:   2025-03-26\t ", "MCP-Protocol-Version:2025-11-25",
		"MCP_Protocol_Version: $V", "Protocol-Version: $V", "X-MCP-Protocol-Version: $V",
	)...))...)
	for _, version := range []string{"$V", "", "1999", "2024-11-05"} {
		out = append(out, payload{
			Family: family, Name: "initialize under " + version, Pinned: true, Lines: []string{"MCP-Protocol-Version: " + version},
			Body: text(rpc("initialize", `{"protocolVersion":"2025-06-18","clientInfo":{"name":"$K"}}`)), Want: answered(),
		})
	}
	notified := unsupported()
	notified.ID = ""
	return append(out, payload{
		Family: family, Name: "a notification in a version of the canary", Pinned: true, Lines: []string{"MCP-Protocol-Version: $V"},
		Body: text(`{"jsonrpc":"2.0","method":"$K"}`), Want: notified,
	})
}

func contentTypes() []payload {
	const family = "content headers"
	out := heads(family, atTheHead(415), append(one(
		"Content-Type", "Content-Type:", "Content-Type: text/plain", "Content-Type: text/$V", "Content-Type: $V", "Content-Type: application/$V+json", "Content-Type: application/jsonp",
		"Content-Type: application/json, text/$V", "Content-Type: application/json; charset=utf-16", "Content-Type: application/json; charset=$V",
		"Content-Type: application/json; charset=utf-8; charset=utf-16", "Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data; boundary=$V",
		"Content-Type: text/json", "Content-Type: application /json", "Content-Type: application/json\xff", "Content-Type: application/json; $K", "Content-Type: application/ｊson",
		"Content-Encoding: gzip", "Content-Encoding: $V", "Content-Encoding: deflate, gzip", "Content-Encoding: identity, gzip",
	),
		[]string{"Content-Type: application/json", "Content-Type: application/json"},
		[]string{"Content-Type: application/json", "content-type: text/$V"},
		[]string{"Content-Type: text/$V", "Content-Type: application/json"},
		[]string{"Content-Encoding: identity", "Content-Encoding: gzip"},
		[]string{"Content-Encoding:", "Content-Encoding: $V"},
	)...)
	return append(out, heads(family, answered(), one(
		"Content-Type: application/json; charset=utf-8", "Content-Type: application/json;charset=UTF-8", `Content-Type: application/json; charset="utf-8"`, "Content-Type: APPLICATION/JSON",
		"Content-Type:  application/json \t", "Content-Encoding: identity", "Content-Language: $V", "Content-Location: $V", "Content-Disposition: attachment; filename=$V", "Content-MD5: $V", "Content-Range: bytes 0-1/$N",
	)...)...)
}

func origins() []payload {
	const family = "origin and host"
	out := heads(family, atTheHead(403), append(one(
		"Origin: https://$V.example", "Origin: null", "Origin:", "Origin: $V", "Origin: file://", "Origin: chrome-extension://$V", "Origin: https://localhost.$V.example", "Origin: https://localhost@$V.example",
		"Origin: https://$V@localhost", "Origin: http://localhost/$V", "Origin: http://localhost?$V", "Origin: http://localhost#$V", "Origin: http://localhost, https://$V.example", "Origin: ftp://localhost",
		"Origin: http://localhost.", "Origin: http://127.1", "Origin: http://2130706433", "Origin: http://0x7f.0.0.1", "Origin: http://127.0.0.1.$V.example", "Origin: //localhost", "Origin: localhost",
		"Origin: http://%6cocalhost:%31", "Origin: http://[::1", "Origin: http://local\xffhost", "Origin: "+strings.Repeat("http://x", 1000),
		"Host: $V.example", "Host: $V.example:80", "Host: localhost.$V.example", "Host: 127.0.0.1.$V.example", "Host: localhost.", "Host: 127.1", "Host: 2130706433", "Host: 0x7f.0.0.1", "Host: 0.0.0.0",
		"Host: 169.254.169.254", "Host:", "Host: [::2]", "Host: [::ffff:192.0.2.1]", "Host: localhost,$V", "Host: "+strings.Repeat("a.", 2000)+"$V",
	),
		[]string{"Origin: http://localhost", "Origin: http://localhost"},
		[]string{"Origin: http://localhost", "Origin: https://$V.example"},
		[]string{"Host: $V.example", "Origin: https://$V.example"},
		[]string{"Host: $V.example", "X-Forwarded-Host: localhost"},
	)...)
	out = append(out, heads(family, answered(), one(
		"Origin: http://localhost", "Origin: http://localhost:6274", "Origin: https://127.0.0.1:1", "Origin: http://[::1]:8080", "Origin: HTTP://LOCALHOST", "Host: localhost", "Host: LOCALHOST:1", "Host: 127.0.0.2:80",
		"Host: [::1]:80", "Host: [::ffff:127.0.0.1]",
	)...)...)
	for _, target := range []string{"http://$V.example/mcp", "http://$V.example:80/mcp?$K", "https://$V@evil.example/mcp"} {
		out = append(out, payload{Family: family, Name: "absolute target " + target, Target: target, Body: pinged, Want: atTheHead(403)})
	}
	return append(out,
		payload{Family: family, Name: "absolute target on loopback", Target: "http://localhost/mcp?$K=$V", Lines: []string{"Host: $V.example"}, Body: pinged, Want: answered()},
		payload{Family: family, Name: "two hosts", Lines: []string{"Host: localhost", "Host: $V.example"}, Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "no host", Lines: []string{"Host"}, Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "host with user", Lines: []string{"Host: $V@localhost"}, Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "host with a path", Lines: []string{"Host: localhost/$V"}, Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "host with a quote", Lines: []string{`Host: "$V"`}, Body: pinged, Want: byHTTP(400), Closes: true},
	)
}

func credentialHeaders() []payload {
	const family = "credentials"
	challenged := want{Status: 401, Code: 401}
	out := heads(family, challenged,
		[]string{"clientId: $V"},
		[]string{"clientId: $V", "clientSecret: $K"},
		[]string{"clientId:", "clientSecret:"},
		[]string{"clientId"},
		[]string{"clientId: $CLIENT, $V"},
		[]string{"clientId: $CLIENT@$V.example"},
		[]string{"clientId: \xff$V"},
		[]string{"clientId: $SECRET", "clientSecret: $CLIENT"},
		[]string{"clientId: " + strings.Repeat("x", 30_000), "clientSecret: " + strings.Repeat("y", 30_000)},
		[]string{"Authorization: Bearer $V"},
		[]string{"Authorization: bearer $V"},
		[]string{"Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIkViJ9.$V"},
		[]string{"Authorization: Bearer \xff$V"},
	)
	// Of a known id: once each, since failed attempts are counted by id.
	known := heads(family, challenged,
		[]string{"clientSecret: $V"},
		[]string{"clientSecret"},
		[]string{"clientSecret: $SECRET$V"},
		[]string{"clientSecret: $SECRET\tx$V"},
	)
	for i := range known {
		known[i].Once = true
	}
	out = append(out, known...)
	out = append(out, heads(family, want{Status: 400, Code: -32600},
		[]string{"clientId: $CLIENT", "clientId: $CLIENT"},
		[]string{"clientId: $CLIENT", "clientid: $V"},
		[]string{"clientId: $V", "CLIENTID: $CLIENT"},
		[]string{"clientSecret: $SECRET", "clientSecret: $SECRET"},
		[]string{"clientSecret: $SECRET", "clientSecret: $V"},
		[]string{"Authorization: BEARER"},
		[]string{"Authorization: Bearer "},
		[]string{"Authorization: Bearer $V", "Authorization: Basic x"},
		[]string{"Authorization: Basic x", "Authorization: Bearer $V"},
		[]string{"organizationId: $V", "organizationId: $K"},
		[]string{"applicationId: $V", "applicationId: $V"},
	)...)
	out = append(out, heads(family, answered(),
		[]string{"Authorization: Basic $V"},
		[]string{"Authorization: $V"},
		[]string{"Authorization:"},
		[]string{"Authorization: Digest username=\"$V\""},
		[]string{"Proxy-Authorization: Bearer $V"},
		[]string{"Cookie: session=$V; clientId=$K"},
		[]string{"organizationId: $V", "applicationId: $K"},
		[]string{"client-id: $V", "client_secret: $K"},
		[]string{"CLIENTID: $CLIENT", "clientsecret: $SECRET"},
		[]string{"X-Client-Id: $V", "X-Api-Key: $K"},
	)...)
	for _, query := range []string{"access_token=$V", "clientId=$V&clientSecret=$K"} {
		out = append(out, payload{Family: family, Name: "none but in the query " + query, Anonymous: true, Target: "/mcp?" + query, Body: pinged, Want: challenged})
	}
	return append(out,
		payload{Family: family, Name: "none", Anonymous: true, Body: pinged, Want: challenged},
		payload{Family: family, Name: "none, and a body that is no JSON", Anonymous: true, Body: text(`$V`), Want: challenged},
		payload{Family: family, Name: "none, and forwarded headers", Anonymous: true, Lines: []string{"X-Forwarded-Host: $V.example", "X-Forwarded-Proto: $K", "Forwarded: host=$V.example"}, Body: pinged, Want: challenged},
		payload{Family: family, Name: "none, and a participant of one's own", Anonymous: true, Lines: []string{"sallyport-participant-bin: $V", "sallyport-assertion: $K"}, Body: pinged, Want: challenged},
		payload{Family: family, Name: "of a kilobyte more than a head may have", Lines: []string{"clientId: $V" + strings.Repeat("x", 70_000)}, Body: pinged, Want: byHTTP(431), Closes: true},
	)
}

// ignoredHeaders are those of a tools/call that the edge has no use for: none of them may reach the service either.
func ignoredHeaders() []payload {
	const family = "headers that mean nothing here"
	var out []payload
	for _, lines := range append(one(
		"Mcp-Session-Id: $V", "Last-Event-ID: $V", "Mcp-Param-Note: $V", "Mcp-Param-$K: $V", "Mcp-Param-$K: =?base64?$V", "Mcp-Name: judge",
		"X-$K: $V", "X-Request-Id: $V", "X-Correlation-Id: $V", "X-Forwarded-For: $V", "X-Forwarded-Host: $V", "X-Forwarded-Proto: $V", "X-Real-Ip: $V", "Forwarded: for=$V;host=$K",
		"X-Original-Url: /$V", "X-Rewrite-Url: /$V", "X-Http-Method-Override: DELETE$V", "X-Forwarded-Prefix: /$V", "X-Accel-Redirect: /$V", "Via: 1.1 $V",
		"User-Agent: $V", "Referer: https://$V.example/", "Cookie: $K=$V", "From: $V@example.com", "Accept-Language: $V", "Accept-Encoding: gzip, br, $K", "Accept-Encoding: $V", "Accept-Charset: $V",
		"If-None-Match: \"$V\"", "If-Match: $V", "If-Modified-Since: $V", "If-Range: $V", "Range: bytes=0-$N", "Cache-Control: $V", "Pragma: $V", "Warning: 199 - $V", "DNT: $V", "Priority: u=$V",
		"TE: trailers, $K", "Trailer: $K", "Upgrade: $V", "Max-Forwards: $N", "Date: $V", "Expect: 100-continue", "Sec-Fetch-Site: $V", "Sec-WebSocket-Key: $V", "Access-Control-Request-Method: $V",
		"Access-Control-Request-Headers: $K", "traceparent: 00-$V", "tracestate: $K=$V", "baggage: $K=$V", "grpc-timeout: 1n", "grpc-encoding: $V", "grpc-metadata-$K: $V", "grpc-status: $N",
		"sallyport-participant-bin: $V", "sallyport-assertion: $V", "sallyport-$K: $V", "dialect: $V", "$K: $V", "A: ", "X-Empty:", "X-Latin: \xe9\xff$V", "X-Tab: a\t$V",
		"X-Long: "+strings.Repeat("x", 50_000)+"$V",
		"Accept: application/json", "Accept: text/event-stream", "Accept: */*", "Accept: $V/$K", "Accept: application/json;q=0", "Accept:", "Accept", "Accept: text/html", "Accept: application/xml; $K=$V",
		"Accept: "+strings.Repeat("a/b,", 5000)+"$V/$K",
	),
		[]string{"Mcp-Session-Id: $V", "Mcp-Session-Id: $K"},
		[]string{"X-Dup: $V", "x-dup: $K"},
		[]string{"Accept: text/event-stream", "Accept: $V/$K"},
		[]string{"Connection: keep-alive, clientId, $K"},
		[]string{"Connection: upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: $V"},
		[]string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: $V"},
		[]string{"Keep-Alive: timeout=$N"},
		[]string{"Proxy-Connection: $V"},
		repeated("X-Many", 200),
	) {
		out = append(out, payload{
			Family: family, Name: fmt.Sprintf("%.100s", strings.Join(lines, " | ")), Lines: lines,
			Body: text(toolCall("judge", `{"note":"$V"}`)), Want: reached(),
		})
	}
	// The modern era has a use for these, and they say something else than the body.
	for _, lines := range append(one(
		"Mcp-Method: $V", "Mcp-Method:", "Mcp-Method: tools/list", "Mcp-Method: TOOLS/CALL", "Mcp-Method: =?base64?dG9vbHMvY2FsbA==?=", "Mcp-Method: tools/call, $V",
		"Mcp-Name: $V", "Mcp-Name:", "Mcp-Name: =?base64?$V?=", "Mcp-Name: =?base64?$V", "Mcp-Name: JUDGE", "Mcp-Name: judge\xff$V", "Mcp-Name: "+strings.Repeat("x", 50_000)+"$V",
	),
		[]string{"Mcp-Method: tools/call", "Mcp-Method: $V"},
		[]string{"Mcp-Method: tools/call", "mcp-method: tools/call"},
		[]string{"Mcp-Name: judge", "Mcp-Name: $V"},
		[]string{"Mcp-Name: judge", "MCP-NAME: judge"},
	) {
		out = append(out, payload{
			Family: family, Name: fmt.Sprintf("%.100s", strings.Join(lines, " | ")), Lines: lines,
			Body: text(toolCall("judge", `{"note":"$V"}`)), Want: reached().but(ofTheEnvelope(-32020)),
		})
	}
	return append(out, payload{
		Family: family, Name: "an expectation that nobody meets", Lines: []string{"Expect: $V"}, Body: pinged, Want: byHTTP(417), Closes: true,
	})
}

// repeated are n header lines of different names.
func repeated(name string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = name + "-" + strconv.Itoa(i) + ": $V"
	}
	return lines
}

func httpMethods() []payload {
	const family = "http methods"
	var out []payload
	out = append(out, payload{Family: family, Name: "HEAD", Method: "HEAD", Lines: []string{"X-A: $V"}, Want: byHTTP(405)})
	for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "post", "Post", "POSTS", "PROPFIND", "$V", "M-SEARCH", "QUERY"} {
		out = append(out, payload{Family: family, Name: method, Method: newCanary(family, method).fill(method), Body: pinged, Want: atTheHead(405)})
	}
	return append(out,
		payload{Family: family, Name: "GET of a stream", Method: "GET", Lines: []string{"Accept: text/event-stream", "Last-Event-ID: $V", "Mcp-Session-Id: $K"}, Want: atTheHead(405)},
		payload{Family: family, Name: "DELETE of a session", Method: "DELETE", Lines: []string{"Mcp-Session-Id: $V"}, Want: atTheHead(405)},
		payload{Family: family, Name: "preflight", Method: "OPTIONS", Lines: []string{"Origin: https://$V.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: $K"}, Want: atTheHead(403)},
		payload{Family: family, Name: "GET without credentials", Method: "GET", Anonymous: true, Lines: []string{"X-A: $V"}, Want: atTheHead(405)},
		payload{Family: family, Name: "POST without a body", Lines: []string{"X-A: $V"}, Want: noDocument()},
		payload{Family: family, Name: "POST of white space", Body: text(" \r\n"), Want: noDocument()},
	)
}

func targets() []payload {
	const family = "targets"
	var out []payload
	for _, target := range []string{
		"/", "/mcp/", "/mcp/$V", "//mcp", "/MCP", "/./mcp", "/$V/../mcp", "/mcp%2f", "/%6d%63%70?$V", "/mcp%00", "/mcp;$V", "/mcp;x=$V?y=$K", "/mcp#$V", "/mcp.", "/mcp%20", "/mcp%0d%0aX-Injected:%20$V", `/mcp\$V`,
		"/$V", "/api/$V", "/%2e%2e/mcp", "/..;/mcp", "/messages?sessionId=$V", "/sse", "/healthz/$V", "/healthz/", "/metrics/$V", "/readyz%00$V", "/debug/pprof/$V", "/.env?$V", "/oauth/register?$V",
		"/.well-known/oauth-authorization-server/$V", "/" + strings.Repeat("a", 20_000) + "$V", "/$V?a=" + strings.Repeat("b", 20_000), "/%f0%9f%98%80$V", "/mcp/hostile.v1.HostileService/Judge?$K=$V",
	} {
		out = append(out, payload{Family: family, Name: fmt.Sprintf("%.80s", target), Target: target, Body: pinged, Want: byHTTP(404)})
	}
	for _, target := range []string{
		"/mcp?", "/mcp?$K=$V", "/mcp?$K=$V&$K=$V", "/mcp?$V", "/mcp?a=%zz$V", "/mcp?a;b=$V", "/mcp?%00$V", "/mcp??$V", "/mcp?/$V/../x", "/mcp?a=%0d%0aX-Injected:%20$V", "/mcp?method=$V&id=$K",
		"/mcp?" + strings.Repeat("a=b&", 5000) + "$V", "/mcp?callback=$V", "/mcp?name=$V&arguments={\"$K\":1}", "/mcp?\xff$V",
	} {
		out = append(out, payload{Family: family, Name: fmt.Sprintf("%.80s", target), Target: target, Body: pinged, Want: answered()})
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		out = append(out,
			payload{Family: family, Name: path + " with a query", Method: "GET", Target: path + "?$K=$V", Lines: []string{"User-Agent: $V"}, Want: byHTTP(200)},
			payload{Family: family, Name: path + " posted", Target: path + "?$K=$V", Body: pinged, Want: byHTTP(405)},
		)
	}
	return append(out,
		payload{Family: family, Name: "dialect of the canary", Target: "/mcp?dialect=$V", Body: pinged, Want: wrongParams()},
		payload{Family: family, Name: "asterisk", Target: "*", Lines: []string{"X-A: $V"}, Want: byHTTP(404)},
		payload{Family: family, Name: "asterisk for options", Method: "OPTIONS", Target: "*", Lines: []string{"X-A: $V"}, Want: byHTTP(200)},
		payload{Family: family, Name: "a bad escape", Target: "/mcp%zz$V", Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "no slash", Target: "mcp$V", Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "a bad port", Target: "http://localhost:$V/mcp", Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "a blank", Target: "/mcp $V", Body: pinged, Want: byHTTP(400), Closes: true},
		payload{Family: family, Name: "connect", Method: "CONNECT", Target: "$V.example:443", Lines: []string{"X-A: $V"}, Want: byHTTP(404)},
	)
}

// wires are requests that are no well-formed HTTP, or whose end is disputed. In each the canary may not come back, the
// edge answers once, and what follows is either the next request or a closed connection.
func wires() []payload {
	const family = "request framing"
	const head = "POST /mcp HTTP/1.1\r\nHost: $HOST\r\nContent-Type: application/json\r\n$CREDENTIALS"
	ping := rpc("ping", `{"x":"$V"}`)
	smuggled := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: $K\r\nContent-Length: 0\r\n\r\n"
	var out []payload
	add := func(name, wire string, w want, change ...func(*payload)) {
		p := payload{Family: family, Name: name, Wire: text(wire), Want: w}
		for _, f := range change {
			f(&p)
		}
		out = append(out, p)
	}
	closes := func(p *payload) { p.Closes = true }
	halfClose := func(p *payload) { p.HalfClose, p.Closes = true, true }
	// sized is a request whose body is a ping, with the length line given.
	sized := func(lines string) string { return head + lines + "\r\n" + ping }
	length := func(n int) string {
		return "Content-Length: " + strconv.Itoa(len(newCanary(family, "").fill(ping))+n) + "\r\n"
	}
	for _, r := range []struct{ name, lines string }{
		{"two lengths", length(0) + length(1)},
		{"two lengths in one line", "Content-Length: 5, 6\r\n"},
		{"one length twice in one line", "Content-Length: 5, 5\r\n"},
		{"length with a plus", "Content-Length: +50\r\n"},
		{"negative length", "Content-Length: -1\r\n"},
		{"hexadecimal length", "Content-Length: 0x50\r\n"},
		{"length with a fraction", "Content-Length: 50.0\r\n"},
		{"length of words", "Content-Length: $V\r\n"},
		{"empty length", "Content-Length:\r\n"},
		{"length with a blank", "Content-Length: 5 0\r\n"},
		{"length beyond 64 bits", "Content-Length: $N$N\r\n"},
		{"length with underscores", "Content-Length: 5_0\r\n"},
		{"blank before the colon", "Content-Length : 50\r\n"},
		{"blank before the colon of the transfer encoding", "Transfer-Encoding : chunked\r\n"},
		{"a line without a colon", "$V\r\n" + length(0)},
		{"an empty name", ": $V\r\n" + length(0)},
		{"a name with a blank", "X $K: $V\r\n" + length(0)},
		{"a name with a quote", "X\"$K: $V\r\n" + length(0)},
		{"a name with a slash", "X/$K: $V\r\n" + length(0)},
		{"a name of non-ASCII", "X-\u00e9$K: $V\r\n" + length(0)},
		{"a name with NUL", "X-\x00$K: $V\r\n" + length(0)},
		{"a value with NUL", "X-A: $V\x00\r\n" + length(0)},
		{"a value with a control character", "X-A: $V\x01\r\n" + length(0)},
		{"a value with DEL", "X-A: $V\x7f\r\n" + length(0)},
		{"a value with a bare return", "X-A: $V\rX-B: 1\r\n" + length(0)},
	} {
		add(r.name, sized(r.lines), byHTTP(400), closes)
	}
	for _, r := range []struct{ name, lines string }{
		{"transfer encoding of the canary", "Transfer-Encoding: $V\r\n"},
		{"identity", "Transfer-Encoding: identity\r\n" + length(0)},
		{"gzip, chunked", "Transfer-Encoding: gzip, chunked\r\n"},
		{"chunked, chunked", "Transfer-Encoding: chunked, chunked\r\n"},
		{"chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
		{"chunked, identity in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"},
		{"xchunked", "Transfer-Encoding: xchunked\r\n" + length(0)},
		{"chunked with a parameter", "Transfer-Encoding: chunked;q=1\r\n"},
		{"quoted", "Transfer-Encoding: \"chunked\"\r\n"},
		{"empty", "Transfer-Encoding:\r\n" + length(0)},
	} {
		add("transfer encoding: "+r.name, sized(r.lines), byHTTP(501), closes)
	}
	chunks := func(c string) string { return head + "Transfer-Encoding: chunked\r\n\r\n" + c }
	whole := fmt.Sprintf("%x", len(newCanary(family, "").fill(ping)))
	add("a length and chunks", head+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"+whole+"\r\n"+ping+"\r\n0\r\n\r\n", answered())
	add("a length that covers a second request, and chunks", head+"Content-Length: 4000\r\nTransfer-Encoding: chunked\r\n\r\n"+whole+"\r\n"+ping+"\r\n0\r\n\r\n", answered())
	add("capital Chunked", head+"Transfer-Encoding: Chunked\r\n\r\n"+whole+"\r\n"+ping+"\r\n0\r\n\r\n", answered())
	add("chunk extension", chunks(whole+";$K=$V\r\n"+ping+"\r\n0;$K\r\n\r\n"), answered())
	add("trailer", chunks(whole+"\r\n"+ping+"\r\n0\r\n$K: $V\r\nclientId: x\r\n\r\n"), answered())
	add("single bytes", chunks(oneByOne(ping)), answered())
	unread := want{Status: 400, Code: -32600}
	for _, r := range []struct{ name, chunks string }{
		{"size of words", "$V\r\n" + ping + "\r\n0\r\n\r\n"},
		{"negative size", "-5\r\n" + ping + "\r\n0\r\n\r\n"},
		{"size beyond 64 bits", "fffffffffffffffff\r\n" + ping + "\r\n0\r\n\r\n"},
		{"hexadecimal prefix", "0x10\r\n" + ping + "\r\n0\r\n\r\n"},
		{"no size", "\r\n" + ping + "\r\n0\r\n\r\n"},
		{"size too small", "5\r\n" + ping + "\r\n0\r\n\r\n"},
		{"bare line ends", whole + "\n" + ping + "\n0\n\n"},
		{"endless extension", whole + ";" + strings.Repeat("x", 10_000) + "\r\n" + ping + "\r\n0\r\n\r\n"},
	} {
		add("chunks: "+r.name, chunks(r.chunks), unread, closes)
	}
	add("chunks: cut off", chunks(whole+"\r\n"+ping), unread, halfClose)
	add("chunks: without the last one", chunks(whole+"\r\n"+ping+"\r\n"), unread, halfClose)
	add("a body shorter than its length", sized(length(100)), unread, halfClose)
	add("a body longer than its length", sized(length(-10)), noDocument(), closes)
	add("a second request in the body", head+"X-A: $V\r\nContent-Length: "+strconv.Itoa(len(newCanary(family, "").fill(smuggled)))+"\r\n\r\n"+smuggled, noDocument())
	add("a length over the limit", sized("Content-Length: 99999999999\r\n"), atTheHead(413), closes)
	add("a length over the limit, with an expectation", head+"Expect: 100-continue\r\nX-A: $V\r\nContent-Length: 99999999999\r\n\r\n", atTheHead(413), closes)
	add("no length", sized(""), noDocument(), closes)
	add("folded line", sized("X-A: a\r\n "+"$V\r\n"+length(0)), answered())
	add("folded version", sized("MCP-Protocol-Version: 2025-\r\n 11-25\r\nX-A: $V\r\n"+length(0)), unsupported())
	add("bare line ends", strings.ReplaceAll(strings.ReplaceAll(sized("X-A: $V\r\n"+length(0)), "$CREDENTIALS", ""), "\r\n", "\n"), want{Status: 401, Code: 401})
	add("blank lines before", "\r\n\r\n"+sized(length(0)), byHTTP(400), closes)
	add("blank before the first line", " "+sized(length(0)), byHTTP(400), closes)
	add("fold in the first line", strings.Replace(sized(length(0)), "\r\nHost", "\r\n Host: $V\r\nHost", 1), byHTTP(400), closes)
	for _, r := range []struct{ name, line string }{
		{"no version", "POST /mcp?$V"},
		{"version of the canary", "POST /mcp HTTP/$V"},
		{"version 1.1 in small letters", "POST /mcp?$V http/1.1"},
		{"two blanks", "POST  /mcp?$V HTTP/1.1"},
		{"a tab", "POST\t/mcp?$V HTTP/1.1"},
		{"a method with a parenthesis", "PO(ST /mcp?$V HTTP/1.1"},
		{"a method with NUL", "PO\x00ST /mcp?$V HTTP/1.1"},
		{"nothing", "$V"},
		{"a control character in the target", "POST /mcp?\x01$V HTTP/1.1"},
	} {
		add("first line: "+r.name, r.line+"\r\nHost: $HOST\r\n$CREDENTIALS"+length(0)+"\r\n"+ping, byHTTP(400), closes)
	}
	add("first line: version 9.9", "POST /mcp?$V HTTP/9.9\r\nHost: $HOST\r\n"+length(0)+"\r\n"+ping, byHTTP(505), closes)
	add("first line: version 1.0", "POST /mcp?$V HTTP/1.0\r\nHost: $HOST\r\nContent-Type: application/json\r\n$CREDENTIALS"+length(0)+"\r\n"+ping, answered(), closes)
	add("chunks in version 1.0", "POST /mcp HTTP/1.0\r\nHost: $HOST\r\nContent-Type: application/json\r\n$CREDENTIALSTransfer-Encoding: chunked\r\n"+length(0)+"\r\n"+ping, answered(), closes)
	add("a head of 100,000 bytes", head+strings.Repeat("X-A: $V\r\n", 5_000)+length(0)+"\r\n"+ping, byHTTP(431), closes)
	add("a first line of 100,000 bytes", "POST /mcp?$V"+strings.Repeat("x", 100_000)+" HTTP/1.1\r\nHost: $HOST\r\n\r\n", byHTTP(431), closes)
	add("a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03$V\r\n\r\n", byHTTP(400), closes)
	return out
}

// oneByOne writes a text, whose canary is filled in later, as chunks as small as they get.
func oneByOne(template string) string {
	var out strings.Builder
	for i := 0; i < len(template); i++ {
		if strings.HasPrefix(template[i:], "$V") {
			fmt.Fprintf(&out, "%x\r\n$V\r\n", len(newCanary("", "").Value))
			i++
			continue
		}
		out.WriteString("1\r\n" + template[i:i+1] + "\r\n")
	}
	return out.String() + "0\r\n\r\n"
}

func chunkedBodies() []payload {
	const family = "chunked bodies"
	out := bodies(family,
		body{"a call", toolCall("judge", `{"note":"$V"}`), reached()},
		body{"no JSON", `$V`, noDocument()},
		body{"a refusal", toolCall("judge", `{"$K":"$V"}`), refused("arguments: " + undeclaredOne + acceptedEverything)},
		body{"over the limit", rpc("ping", `{"x":"$V`+strings.Repeat("x", 4<<20)+`"}`), atTheHead(413)},
		body{"over the limit, in white space", rpc("ping", `{"x":"$V"}`) + strings.Repeat(" ", 4<<20), atTheHead(413)},
	)
	for i := range out {
		out[i].Chunked = true
		out[i].Closes = out[i].Want.Status == 413
	}
	return append(out, payload{
		Family: family, Name: "over the limit, with its length", Body: text(rpc("ping", `{"x":"$V`+strings.Repeat("x", 4<<20)+`"}`)), Want: atTheHead(413), Closes: true,
	})
}
