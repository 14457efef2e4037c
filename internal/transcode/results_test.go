package transcode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// Fields without presence are written in every profile but compact.
const defaults = `"str":"","flag":false,"raw":"","num":0,"small":0,"i32":0,"u32":0,"i64":"0","u64":"0","state":"E_UNSPECIFIED","null":null,"items":[],"byName":{},"byNumber":{},"byFlag":{},"called":"","longs":{},"many":[]`

// TestResults_profiles holds the rows of tools.md, "JSON profiles", and the JSON of every kind of field.
func TestResults_profiles(t *testing.T) {
	md := schematest.Message(t, everything)
	for _, row := range []struct{ name, profile, protojson, want string }{
		{"nothing", "protojson", `{}`, `{` + defaults + `}`},
		{"nothing, compact", "compact", `{}`, `{}`},
		{"scalars", "compact", `{"str":"<&>\u2028","num":1.5,"i64":"-9223372036854775808","u64":"18446744073709551615"}`, "{\"str\":\"<&>\u2028\",\"num\":1.5,\"i64\":\"-9223372036854775808\",\"u64\":\"18446744073709551615\"}"},
		{"not finite", "compact", `{"num":"NaN","small":"-Infinity"}`, `{"num":"NaN","small":"-Infinity"}`},
		{"unknown enum number", "compact", `{"state":99}`, `{"state":99}`},
		{"presence", "compact", `{"maybe":"","a":""}`, `{"a":"","maybe":""}`},
		{"well-known types", "compact", `{"at":"2024-01-01T01:00:00.5+01:00","took":"1.5s","mask":"aB.c","boxed":"7","nothing":{},"object":{"b":1,"a":null},"list":[1],"anyJson":"42"}`,
			`{"at":"2024-01-01T00:00:00.500Z","took":"1.500s","mask":"aB.c","object":{"a":null,"b":1},"list":[1],"anyJson":"42","nothing":{},"boxed":"7"}`},
		{"maps sorted", "compact", `{"byNumber":{"10":"x","-1":"y","9":"z"},"byFlag":{"true":"x","false":"y"}}`, `{"byNumber":{"-1":"y","9":"z","10":"x"},"byFlag":{"false":"y","true":"x"}}`},
		{"hidden and input-only fields are left out", "compact", `{"str":"x","secret":"s","password":"p","items":[{"innerSecret":"s","skuCode":"x"}],"byName":{"k":{"innerSecret":"s"}}}`,
			`{"str":"x","items":[{"skuCode":"x"}],"byName":{"k":{}}}`},
		{"published names", "compact", `{"renamedField":"x","items":[{"named":"y"}]}`, `{"items":[{"the.name":"y"}],"called":"x"}`},
		{"names as declared", "proto", `{"anyJson":1,"items":[{"skuCode":"x"}],"renamedField":"y"}`,
			strings.NewReplacer(`"null"`, `"any_json":1,"null"`, `"items":[]`, `"items":[{"sku_code":"x","quantity":"0","parts":[],"the.name":""}]`,
				`"byN`, `"by_n`, `"byF`, `"by_f`, `"called":""`, `"called":"y"`).Replace(`{` + defaults + `}`)},
		{"numeric", "numeric", `{"i64":"-5","u64":"18446744073709551615","boxed":"7","items":[{"quantity":"3"}],"byNumber":{"5":"x"},"longs":{"k":"9007199254740993"},"many":["1"]}`,
			`{"str":"","flag":false,"raw":"","num":0,"small":0,"i32":0,"u32":0,"i64":-5,"u64":18446744073709551615,"state":"E_UNSPECIFIED","null":null,"boxed":7,"items":[{"skuCode":"","quantity":3,"parts":[],"the.name":""}],"byName":{},"byNumber":{"5":"x"},"byFlag":{},"called":"","longs":{"k":9007199254740993},"many":[1]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := compileResults(t, md, row.profile)
			wire := wireOf(t, md, row.protojson)
			got, err := r.AppendJSON(nil, wire)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, string(got)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			result, isError, err := r.AppendResult([]byte(`{`), wire)
			if err != nil || isError {
				t.Fatal(isError, err)
			}
			if diff := cmp.Diff(`{"structuredContent":`+row.want+`,"content":`+textBlock(row.want), string(result)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			doc, _, err := schema.Output(md, profile(t, row.profile))
			if err != nil {
				t.Fatal(err)
			}
			if !schematest.Accepts(t, schematest.Validator(t, doc.JSON()), got) {
				t.Error("the output schema refuses it")
			}
		})
	}
}

// TestResults_responseTypes holds the rows of tools.md, "Results", for responses that are no plain messages.
func TestResults_responseTypes(t *testing.T) {
	files := schematest.Files(t, map[string]string{"t.proto": schematest.Head})
	for _, row := range []struct{ message, protojson, json, text string }{
		{"google.protobuf.StringValue", `"a \"b\""`, `"a \"b\""`, `a \"b\"`},
		{"google.protobuf.StringValue", `""`, `""`, ``},
		{"google.protobuf.Int64Value", `"42"`, `"42"`, `42`},
		{"google.protobuf.UInt64Value", `"42"`, `"42"`, `42`},
		{"google.protobuf.Int32Value", `42`, `42`, `42`},
		{"google.protobuf.UInt32Value", `0`, `0`, `0`},
		{"google.protobuf.DoubleValue", `"NaN"`, `"NaN"`, `NaN`},
		{"google.protobuf.FloatValue", `0.1`, `0.1`, `0.1`},
		{"google.protobuf.BoolValue", `true`, `true`, `true`},
		{"google.protobuf.BytesValue", `"YQ=="`, `"YQ=="`, `YQ==`},
		{"google.protobuf.Timestamp", `"2024-01-01T00:00:00Z"`, `"2024-01-01T00:00:00Z"`, `2024-01-01T00:00:00Z`},
		{"google.protobuf.Duration", `"1.500s"`, `"1.500s"`, `1.500s`},
		{"google.protobuf.FieldMask", `"a,bC"`, `"a,bC"`, `a,bC`},
		{"google.protobuf.ListValue", `[1, "x"]`, `[1,"x"]`, `[1,\"x\"]`},
		{"google.protobuf.Value", `{"a": 1}`, `{"a":1}`, `{\"a\":1}`},
		{"google.protobuf.Value", `"42"`, `"42"`, `\"42\"`},
		{"google.protobuf.Value", `42`, `42`, `42`},
		{"google.protobuf.Value", `null`, `null`, `null`},
	} {
		t.Run(row.message+" "+row.protojson, func(t *testing.T) {
			md := schematest.Find(t, files, row.message)
			r, wire := compileResults(t, md, "protojson"), wireOf(t, md, row.protojson)
			if got, err := r.AppendJSON(nil, wire); err != nil || string(got) != row.json {
				t.Errorf("JSON %s, %v, want %s", got, err, row.json)
			}
			got, isError, err := r.AppendResult([]byte("before "), wire)
			if want := `before "content":[{"type":"text","text":"` + row.text + `"}]`; err != nil || isError || string(got) != want {
				t.Errorf("result %s, %v, %v, want %s", got, isError, err, want)
			}
		})
	}
	for _, row := range []struct{ message, protojson, json, text string }{
		{"google.protobuf.Empty", `{}`, `{}`, `{}`},
		{"google.protobuf.Struct", `{"b": 1, "a": 2}`, `{"a":2,"b":1}`, `{\"a\":2,\"b\":1}`},
		{"google.protobuf.Any", `{"@type": "type.googleapis.com/google.protobuf.Duration", "value": "1s"}`,
			`{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}`, `{\"@type\":\"type.googleapis.com/google.protobuf.Duration\",\"value\":\"1s\"}`},
	} {
		t.Run(row.message+" "+row.protojson, func(t *testing.T) {
			// An Any carries what the contract has; its own file has nothing else.
			md, carried := schematest.Find(t, files, row.message), schematest.Find(t, files, "google.protobuf.Duration")
			r, err := transcode.CompileResults(md, profile(t, "protojson"), carried)
			if err != nil {
				t.Fatal(err)
			}
			got, isError, err := r.AppendResult(nil, wireOf(t, md, row.protojson))
			if want := `"structuredContent":` + row.json + `,"content":[{"type":"text","text":"` + row.text + `"}]`; err != nil || isError || string(got) != want {
				t.Errorf("result %s, %v, %v, want %s", got, isError, err, want)
			}
		})
	}
	t.Run("numeric", func(t *testing.T) {
		md := schematest.Find(t, files, "google.protobuf.Int64Value")
		got, _, err := compileResults(t, md, "numeric").AppendResult(nil, wireOf(t, md, `"42"`))
		if want := `"content":[{"type":"text","text":"42"}]`; err != nil || string(got) != want {
			t.Errorf("result %s, %v, want %s", got, err, want)
		}
	})
}

func TestCompileResults_refuses(t *testing.T) {
	for _, row := range []struct{ name, text, where string }{
		{"a content field that holds no content", `message M { string a = 1 [(sallyport.tool.v1.field).content = true]; }`, "t.v1.M.a"},
		{"two fields of one name", `message M { string a = 1; string b = 2 [(sallyport.tool.v1.field).name = "a"]; }`, "t.v1.M.b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := transcode.CompileResults(schematest.Message(t, row.text), profile(t, "protojson"))
			if err == nil || !strings.Contains(err.Error(), row.where) {
				t.Errorf("got %v, want an error that names %s", err, row.where)
			}
		})
	}
	for _, row := range []struct{ name, path, text string }{
		{"a Timestamp without nanos", "google/protobuf/timestamp.proto", `message Timestamp { int64 seconds = 1; }`},
		{"a Timestamp in strings", "google/protobuf/timestamp.proto", `message Timestamp { string seconds = 1; int32 nanos = 2; }`},
		{"a Struct without a map", "google/protobuf/struct.proto", `message Struct { repeated Value fields = 1; } message Value { double number_value = 1; }`},
		{"a wrapper of a list", "google/protobuf/wrappers.proto", `message BoolValue { repeated bool value = 1; }`},
	} {
		t.Run(row.name, func(t *testing.T) {
			name := "google.protobuf." + strings.Fields(row.text)[1]
			files := schematest.Files(t, map[string]string{row.path: `syntax = "proto3"; package google.protobuf; ` + row.text})
			_, err := transcode.CompileResults(schematest.Find(t, files, name), profile(t, "protojson"))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want an error that names %s", err, name)
			}
		})
	}
}
