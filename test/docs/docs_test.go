// Package docs_test runs what the documentation tells its readers to run.
//
// A fenced block preceded by a directive in an HTML comment is executed, in order, in a copy of the repository:
//
//	<!-- run: expect "text" -->              run in the page's shell; the output must contain the text
//	<!-- run: -->                            run in the page's shell; it must succeed
//	<!-- run: background, until "text" -->   start beside the shell, go on when it prints the text
//	<!-- file: path -->                      write the block to the path
//	<!-- show -->                            only shown; for what is an example of output or needs another machine
//
// A block without a directive fails the test: nothing in the documentation may drift unseen.
package docs_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

// pages are tested one after the other: `make run` listens on fixed ports.
var pages = []string{"README.md", "docs/mcp-hosts.md", "docs/service-teams.md", "docs/your-proto.md", "docs/refusals.md",
	"docs/platform-teams.md", "docs/dialects.md", "docs/assertions.md"}

func TestDocs_everyCommandAndSnippetWorks(t *testing.T) {
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			dir := t.TempDir()
			copyRepository(t, dir)
			s := openShell(t, dir)
			for _, b := range blocks(t, page) {
				b.play(t, s, dir)
			}
		})
	}
}

func TestDocs_everyPageIsListed(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(stack.Root(), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		rel := "docs/" + filepath.Base(path)
		listed := false
		for _, page := range pages {
			listed = listed || page == rel
		}
		if !listed {
			t.Errorf("%s is not among the tested pages", rel)
		}
	}
}

type block struct {
	page      string
	line      int
	directive string
	text      string
}

var directive = regexp.MustCompile(`^<!-- (run:.*|file:.*|show) -->$`)

func blocks(t *testing.T, page string) []block {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(stack.Root(), page))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	var pending string
	var current *block
	for i, line := range strings.Split(string(raw), "\n") {
		switch {
		case current != nil && line == "```":
			out = append(out, *current)
			current, pending = nil, ""
		case current != nil:
			current.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			if pending == "" {
				t.Errorf("%s:%d: block without a directive", page, i+1)
			}
			current = &block{page: page, line: i + 1, directive: pending}
		default:
			if m := directive.FindStringSubmatch(line); m != nil {
				pending = m[1]
			} else if strings.TrimSpace(line) != "" {
				pending = ""
			}
		}
	}
	if current != nil {
		t.Fatalf("%s:%d: block is not closed", page, current.line)
	}
	return out
}

func (b block) play(t *testing.T, s *shell, dir string) {
	t.Helper()
	at := fmt.Sprintf("%s:%d", b.page, b.line)
	switch {
	case b.directive == "show", b.directive == "":
	case strings.HasPrefix(b.directive, "file:"):
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimSpace(strings.TrimPrefix(b.directive, "file:"))))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.text), 0o644); err != nil {
			t.Fatal(err)
		}
	case strings.HasPrefix(b.directive, "run: background"):
		until := quoted(t, at, b.directive)
		script := filepath.Join(t.TempDir(), "block.sh")
		stack.WriteFile(t, script, b.text)
		p := stack.Start(t, dir, nil, "/bin/bash", script)
		t.Cleanup(func() { _ = p.Interrupt() })
		p.WaitLine(t, until)
	default:
		out, code := s.run(t, b.text)
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s\n%s", at, code, b.text, out)
		}
		if strings.Contains(b.directive, "expect") {
			if want := quoted(t, at, b.directive); !strings.Contains(out, want) {
				t.Fatalf("%s: the output does not contain %q\n%s\n%s", at, want, b.text, out)
			}
		}
	}
}

func quoted(t *testing.T, at, directive string) string {
	t.Helper()
	i := strings.IndexByte(directive, '"')
	if i < 0 {
		t.Fatalf("%s: directive %q has no quoted text", at, directive)
	}
	text, err := strconv.Unquote(strings.TrimSpace(directive[i:]))
	if err != nil {
		t.Fatalf("%s: directive %q: %v", at, directive, err)
	}
	return text
}

// shell is one bash in which a page's blocks run one after the other, as a reader would paste them.
type shell struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func openShell(t *testing.T, dir string) *shell {
	t.Helper()
	cmd := exec.Command("/bin/bash")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	t.Cleanup(func() {
		_ = in.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
		_ = reader.Close()
	})
	return &shell{in: in, out: bufio.NewReader(reader)}
}

const marker = "block-is-done"

func (s *shell) run(t *testing.T, text string) (string, int) {
	t.Helper()
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '\\n%s %%d\\n' $?\n", text, marker); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, marker+" "); ok {
			code, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				t.Fatal(err)
			}
			return out.String(), code
		}
		out.WriteString(line)
		if err != nil {
			t.Fatalf("the shell ended: %v\n%s", err, out.String())
		}
	}
}

// copyRepository copies what is tracked or would be, so that a page runs as in a fresh clone.
func copyRepository(t *testing.T, dir string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	list.Dir = stack.Root()
	files, err := list.Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		source, err := os.Open(filepath.Join(stack.Root(), name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(file, source); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		_ = source.Close()
		// make compares times: what is up to date here is up to date there.
		info, err := os.Stat(filepath.Join(stack.Root(), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(target, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	if modules := filepath.Join(stack.Root(), "tools", "node_modules"); exists(modules) {
		if err := os.Symlink(modules, filepath.Join(dir, "tools", "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
