package conformance_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// names are those that the suite calls, and the one whose header it finds in the list.
var names = []string{
	"test_audio_content", "test_custom_header", "test_embedded_resource", "test_error_handling", "test_image_content",
	"test_logging_tool", "test_missing_capability", "test_multiple_content_types", "test_simple_text",
	"test_streaming_elicitation", "test_tool_with_progress",
}

// Everything runs in one house: it takes longer to start than all the calls.
func TestTools(t *testing.T) {
	h := newHouse(t)
	t.Run("list", h.testList)
	t.Run("results", h.testResults)
	t.Run("media", h.testMedia)
	t.Run("progress", h.testProgress)
	t.Run("missing capability", h.testMissingCapability)
	t.Run("custom header", h.testCustomHeader)
	t.Run("logging", h.testLogging)
}

func (h *house) testList(t *testing.T) {
	a := h.post(t, legacy, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	var listed struct {
		Result struct {
			Tools []struct {
				Name, Description string
				InputSchema       struct {
					Properties map[string]struct {
						Type   string
						Header string `json:"x-mcp-header"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(a.messages[0], &listed); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range listed.Result.Tools {
		got = append(got, tool.Name)
		if tool.Description == "" || strings.Contains(tool.Description, "lint") {
			t.Errorf("%s is described as %q", tool.Name, tool.Description)
		}
		if region := tool.InputSchema.Properties["region"]; tool.Name == "test_custom_header" && (region.Type != "string" || region.Header != "Region") {
			t.Errorf("region is published as %+v", region)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("listed %q, want %q", got, names)
	}
}

// What each tool answers, in both eras.
func (h *house) testResults(t *testing.T) {
	const (
		text     = `{"type":"text","text":"Multiple content types test:"}`
		resource = `{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`
	)
	for _, row := range []struct {
		name, arguments, capabilities string
		want                          []string // what the content has, in this order
		isError                       bool
	}{
		{"test_simple_text", `{}`, `{}`, []string{`[{"type":"text","text":"This is a simple text response for testing."}]`}, false},
		{"test_image_content", `{}`, `{}`, []string{`[{"type":"image","data":"`, `","mimeType":"image/png"}]`}, false},
		{"test_audio_content", `{}`, `{}`, []string{`[{"type":"audio","data":"`, `","mimeType":"audio/wav"}]`}, false},
		{
			"test_embedded_resource", `{}`, `{}`,
			[]string{`[{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}]`}, false,
		},
		{"test_multiple_content_types", `{}`, `{}`, []string{`[` + text, `,{"type":"image","data":"`, `},` + resource + `]`}, false},
		{"test_error_handling", `{}`, `{}`, []string{`[{"type":"text","text":"This tool intentionally returns an error for testing."}]`}, true},
		{"test_tool_with_progress", `{}`, `{}`, []string{`[{"type":"text","text":"The work is done."}]`}, false},
		{"test_streaming_elicitation", `{}`, `{"elicitation":{}}`, []string{`[{"type":"text","text":"Done without asking the client."}]`}, false},
		{"test_logging_tool", `{}`, `{}`, []string{`[{"type":"text","text":"Logged, in the service's own log."}]`}, false},
		{"test_custom_header", `{}`, `{}`, []string{`{\"region\":\"\"}`}, false},
	} {
		for _, version := range []string{modern, legacy} {
			t.Run(row.name+" "+version, func(t *testing.T) {
				a := h.call(t, version, row.name, row.arguments, row.capabilities, "")
				result := a.result(t)
				rest := string(result.Content)
				for _, part := range row.want {
					_, after, found := strings.Cut(rest, part)
					if !found {
						t.Fatalf("%q is not where it should be in %s", part, a)
					}
					rest = after
				}
				if result.IsError != row.isError || a.mediaType != "application/json" || len(a.messages) != 1 {
					t.Errorf("answered %s", a)
				}
				if complete := result.ResultType == "complete"; complete != (version == modern) {
					t.Errorf("resultType is %q", result.ResultType)
				}
			})
		}
	}
}

// The picture is one and the sound is one.
func (h *house) testMedia(t *testing.T) {
	data := func(name string) []byte {
		var blocks []struct{ Data string }
		result := h.call(t, legacy, name, `{}`, "", "").result(t)
		if err := json.Unmarshal(result.Content, &blocks); err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(blocks[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	picture, err := png.Decode(bytes.NewReader(data("test_image_content")))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, a := picture.At(0, 0).RGBA(); picture.Bounds().Size().String() != "(1,1)" || r != 0xffff || g != 0 || b != 0 || a != 0xffff {
		t.Errorf("the picture has the bounds %v and the color %v", picture.Bounds(), picture.At(0, 0))
	}
	sound := data("test_audio_content")
	size := binary.LittleEndian.Uint32
	if string(sound[:4]) != "RIFF" || int(size(sound[4:])) != len(sound)-8 || string(sound[8:16]) != "WAVEfmt " ||
		string(sound[36:40]) != "data" || int(size(sound[40:])) != len(sound)-44 || size(sound[24:]) != size(sound[28:]) {
		t.Errorf("the sound begins with % x", sound[:44])
	}
}

// Signs of progress come as a stream to whoever gives a token, with the token as it was given.
func (h *house) testProgress(t *testing.T) {
	for _, row := range []struct{ name, tool, token string }{
		{"a token that is text", "test_tool_with_progress", `"progress-test-1"`},
		{"a token that is a number", "test_tool_with_progress", `17`},
		{"the tool that does not ask back", "test_streaming_elicitation", `"t"`},
	} {
		for _, version := range []string{modern, legacy} {
			t.Run(row.name+" "+version, func(t *testing.T) {
				a := h.call(t, version, row.tool, `{}`, `{"elicitation":{}}`, `"progressToken":`+row.token)
				if a.mediaType != "text/event-stream" || len(a.messages) != 4 {
					t.Fatalf("answered %s", a)
				}
				for i, want := range []float64{0, 50, 100} {
					var sign struct {
						Method string
						Params struct {
							ProgressToken   json.RawMessage
							Progress, Total float64
							Message         string
						}
					}
					if err := json.Unmarshal(a.messages[i], &sign); err != nil {
						t.Fatal(err)
					}
					if p := sign.Params; sign.Method != "notifications/progress" || string(p.ProgressToken) != row.token ||
						p.Progress != want || p.Total != 100 || p.Message != "working" {
						t.Errorf("sign %d is %s", i, a.messages[i])
					}
				}
				if result := a.result(t); result.IsError || !strings.Contains(string(result.Content), `"type":"text"`) {
					t.Errorf("answered %s", a)
				}
			})
		}
	}
}

// A tool that needs sampling is called for clients that declare it.
func (h *house) testMissingCapability(t *testing.T) {
	const name = "test_missing_capability"
	t.Run("declared", func(t *testing.T) {
		a := h.call(t, modern, name, `{}`, `{"sampling":{}}`, "")
		if result := a.result(t); result.IsError || string(result.Content) != `[{"type":"text","text":"The client declared sampling."}]` {
			t.Errorf("answered %s", a)
		}
	})
	t.Run("not declared", func(t *testing.T) {
		a := h.call(t, modern, name, `{}`, `{"elicitation":{}}`, "")
		var refusal struct {
			ID    int
			Error struct {
				Code int
				Data json.RawMessage
			}
		}
		if err := json.Unmarshal(a.messages[0], &refusal); err != nil || a.status != 400 || refusal.ID != 7 ||
			refusal.Error.Code != -32021 || string(refusal.Error.Data) != `{"requiredCapabilities":{"sampling":{}}}` {
			t.Errorf("answered %s", a)
		}
	})
	t.Run("an era in which nothing is declared", func(t *testing.T) {
		a := h.call(t, legacy, name, `{}`, "", "")
		if result := a.result(t); !result.IsError || !strings.Contains(string(result.Content), modern) {
			t.Errorf("answered %s", a)
		}
	})
}

// The region travels in a header as well, in the era that knows of it.
func (h *house) testCustomHeader(t *testing.T) {
	for _, row := range []struct {
		name, version, region string
		headers               []string
		status                int
	}{
		{"the header agrees", modern, "eu-west", []string{"Mcp-Param-Region", "eu-west"}, 200},
		{"in base64", modern, "Köln", []string{"Mcp-Param-Region", "=?base64?S8O2bG4=?="}, 200},
		{"the header disagrees", modern, "eu-west", []string{"Mcp-Param-Region", "us-east"}, 400},
		{"there is none", modern, "eu-west", nil, 400},
		{"an era without such headers", legacy, "eu-west", nil, 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := h.call(t, row.version, "test_custom_header", `{"region":"`+row.region+`"}`, `{}`, "", row.headers...)
			if a.status != row.status {
				t.Fatalf("answered %s", a)
			}
			if row.status != 200 {
				if !strings.Contains(string(a.messages[0]), "-32020") {
					t.Errorf("answered %s", a)
				}
			} else if result := a.result(t); string(result.StructuredContent) != `{"region":"`+row.region+`"}` {
				t.Errorf("answered %s", a)
			}
		})
	}
}

// What the tool logs stays in the service.
func (h *house) testLogging(t *testing.T) {
	before := strings.Count(h.log.String(), "the logging tool was called")
	a := h.call(t, modern, "test_logging_tool", `{}`, `{}`, `"io.modelcontextprotocol/logLevel":"debug"`)
	if a.result(t); len(a.messages) != 1 {
		t.Errorf("answered %s", a)
	}
	if after := strings.Count(h.log.String(), "the logging tool was called"); after != before+1 {
		t.Errorf("%d lines were logged by one call", after-before)
	}
}
