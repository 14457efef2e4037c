package boundary_test

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// How a request of the modern era is written: what each body says of itself in `_meta`, and what the head repeats of it
// (mcp-protocol.md 1.3).

// The keys of `_meta` that the modern era knows.
const (
	keyVersion      = "io.modelcontextprotocol/protocolVersion"
	keyCapabilities = "io.modelcontextprotocol/clientCapabilities"
	keyClientInfo   = "io.modelcontextprotocol/clientInfo"
	keyLogLevel     = "io.modelcontextprotocol/logLevel"
	keyServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// serverInfo is who the edge of a house says it is.
const serverInfo = `{"name":"sallyport","title":"Sallyport","version":"1.2.3"}`

// soundMeta is what the modern era demands of `_meta` in a version.
func soundMeta(version string) string {
	return `{"` + keyVersion + `":` + quote(version) + `,"` + keyCapabilities + `":{}}`
}

// longestRouted is the length of a text that a client would not put into a header any more.
const longestRouted = 10_000

// routingLines are the headers by which a client of the modern era repeats the method and the tool's name of a body.
func routingLines(body string) []string {
	var said struct {
		Method any `json:"method"`
		Params any `json:"params"`
	}
	if decodeFirst(body, &said) != nil {
		return nil
	}
	var lines []string
	if method, ok := said.Method.(string); ok && isHeaderText(method) && len(method) < longestRouted {
		lines = append(lines, "Mcp-Method: "+method)
	}
	params, _ := said.Params.(map[string]any)
	if name, ok := params["name"].(string); ok && said.Method == "tools/call" && len(name) < longestRouted {
		lines = append(lines, "Mcp-Name: "+headerValue(name))
	}
	return lines
}

// isHeaderText says whether a header can carry a text as it is.
func isHeaderText(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\t') || c > '~' {
			return false
		}
	}
	return text != "" && strings.Trim(text, " \t") == text
}

// headerValue is how a client writes a tool's name into a header (mcp-protocol.md 1.3).
func headerValue(text string) string {
	if isHeaderText(text) && !(strings.HasPrefix(text, "=?base64?") && strings.HasSuffix(text, "?=")) {
		return text
	}
	return encoded(text)
}

func encoded(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// The places of a body at which modernized writes, with white space as they have it.
var (
	pingMethod    = regexp.MustCompile(`("method"\s*:\s*)"ping"`)
	methodMember  = regexp.MustCompile(`"method"\s*:\s*"[^"]*"`)
	paramsMember  = regexp.MustCompile(`"params"\s*:\s*`)
	metaMember    = regexp.MustCompile(`"_meta"\s*:\s*`)
	soundMembers  = []string{`"` + keyVersion + `":"` + version20260728 + `"`, `"` + keyCapabilities + `":{}`}
	soundMetaOnly = `"_meta":{` + strings.Join(soundMembers, ",") + `}`
)

// modernized makes a legacy body one of the modern era by adding to its `_meta` what is missing there. It works on the
// text, since a body may be no JSON: what is hostile in it stays as it is. For ping, which the era does not have, stands
// its nearest: a method that every server has and that takes nothing.
func modernized(body string) string {
	body = pingMethod.ReplaceAllString(body, `${1}"server/discover"`)
	params := paramsMember.FindStringIndex(body)
	if params == nil {
		if method := methodMember.FindStringIndex(body); method != nil {
			return body[:method[1]] + `,"params":{` + soundMetaOnly + `}` + body[method[1]:]
		}
		return body
	}
	before, rest := body[:params[1]], body[params[1]:]
	if !strings.HasPrefix(rest, "{") {
		return body
	}
	meta := metaMember.FindStringIndex(rest)
	if meta == nil {
		return before + "{" + joined(soundMetaOnly, rest[1:])
	}
	before, rest = before+rest[:meta[1]], rest[meta[1]:]
	var said struct {
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if !strings.HasPrefix(rest, "{") || decodeFirst(body, &said) != nil {
		return body
	}
	var added []string
	for i, key := range []string{keyVersion, keyCapabilities} {
		if _, found := said.Params.Meta[key]; !found {
			added = append(added, soundMembers[i])
		}
	}
	return before + "{" + joined(strings.Join(added, ","), rest[1:])
}

// decodeFirst reads the JSON that a body begins with, whatever numbers there are in it.
func decodeFirst(body string, into any) error {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	return d.Decode(into)
}

// joined puts members in front of the rest of an object.
func joined(members, rest string) string {
	if members == "" || strings.HasPrefix(strings.TrimSpace(rest), "}") {
		return members + rest
	}
	return members + "," + rest
}
