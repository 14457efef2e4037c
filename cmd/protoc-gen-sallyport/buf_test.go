package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const repository = "../.."

// bufProgram finds the pinned buf, which comes with the Node packages.
func bufProgram(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"@bufbuild/buf-linux-x64/bin/buf", ".bin/buf"} {
		program, err := filepath.Abs(filepath.Join(repository, "tools/node_modules", path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(program); err == nil {
			return program
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("buf is not installed in tools/node_modules: CI needs it")
	}
	t.Skip("SKIP: buf is not installed in tools/node_modules; make tools/node_modules/.stamp installs it")
	return ""
}

// workspace is a team's repository: its proto file, our options, and the two buf files.
func workspace(t *testing.T, plugin, parameter string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	api := filepath.Join(repository, "api")
	err := filepath.WalkDir(filepath.Join(api, "sallyport/tool"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(api, path)
		if err != nil {
			return err
		}
		write(filepath.Join("vendored", relative), string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	write("buf.yaml", "version: v2\nmodules:\n  - path: proto\n  - path: vendored\n")
	write("buf.gen.yaml", "version: v2\ninputs:\n  - directory: proto\nplugins:\n"+
		"  - {local: ["+plugin+"], out: gen, strategy: all, opt: [paths=source_relative"+parameter+"]}\n")
	for path, text := range files {
		write(filepath.Join("proto", path), text)
	}
	return dir
}

func TestBufGenerate(t *testing.T) {
	buf := bufProgram(t)
	plugin := filepath.Join(t.TempDir(), "protoc-gen-sallyport")
	if out, err := exec.Command("go", "build", "-o", plugin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	generate := func(t *testing.T, dir string) (string, error) {
		t.Helper()
		cmd := exec.Command(buf, "generate")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("run buf: %v", err)
		}
		return string(out), err
	}

	// The base lives in another directory and nobody imports it: strategy all shows it all the same.
	base := strings.Replace(shop, "shop.v1;", "base.v1;", 1) + `
service Base {
  // Gets one, says the base.
  rpc Get(Req) returns (Res) {
    option (sallyport.tool.v1.tool_info) = {read_only_hint: true};
  }
}`
	t.Run("a good file", func(t *testing.T) {
		dir := workspace(t, plugin, ", profiles=house, profiles=home", map[string]string{
			"base/v1/base.proto": base,
			"shop/v1/shop.proto": shop + `
// The shop.
service Shop {
  option (sallyport.tool.v1.service) = {inherits: ["base.v1.Base", "sallyport.crud.v1.CrudService"] json_profile: "house"};
  rpc Get(Req) returns (Res);
}`})
		if out, err := generate(t, dir); err != nil {
			t.Fatalf("buf generate: %v\n%s", err, out)
		}
		for _, path := range []string{"gen/shop/v1/shop.sallyport.go", "gen/base/v1/base.sallyport.go"} {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				t.Error(err)
			}
		}
	})

	// Which column it is depends on how far buf records positions within an option.
	for _, row := range []struct{ name, text, line, function string }{
		{"a swept streaming RPC", `service Shop {
  option (sallyport.tool.v1.service) = {};
  rpc Watch(Req) returns (stream Res);
}`, "shop/v1/shop.proto:9:", " shop.v1.Shop/Watch: "},
		{"a clashing alias", `service Shop {
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "find"};
  }
  rpc Seek(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "find"};
  }
}`, "shop/v1/shop.proto:12:", " shop.v1.Shop/Seek: "},
		{"an unknown profile", `service Shop {
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {json_profile: "house"};
  }
}`, "shop/v1/shop.proto:9:", " shop.v1.Shop/Find: "},
		{"a bad inherits", `service Shop {
  option (sallyport.tool.v1.service) = {inherits: "base.v1.Bass"};
  rpc Get(Req) returns (Res);
}`, "shop/v1/shop.proto:8:", " shop.v1.Shop: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := workspace(t, plugin, "", map[string]string{"base/v1/base.proto": base, "shop/v1/shop.proto": shop + row.text})
			out, err := generate(t, dir)
			if err == nil {
				t.Fatalf("buf generate succeeds:\n%s", out)
			}
			_, after, found := strings.Cut(out, row.line)
			if !found || !strings.Contains(after, row.function) {
				t.Errorf("buf prints\n%s\nwant %s and %q", out, row.line, row.function)
			}
			if _, err := os.Stat(filepath.Join(dir, "gen/shop/v1/shop.sallyport.go")); err == nil {
				t.Error("a file is generated all the same")
			}
		})
	}
}
