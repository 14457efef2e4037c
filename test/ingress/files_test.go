package ingress_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// The commands of deploy/nginx/README.md, in their order, with a real edge behind.
func TestReadme_commandsWork(t *testing.T) {
	binary := program(t)
	for _, tool := range []string{"bash", "openssl", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is not installed", tool)
			}
			t.Skipf("SKIP: %s is not installed", tool)
		}
	}
	h := newHouse(t)
	e := h.startEdge()
	dir, address := workersFolder(t), stack.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	changes := []change{{"server 127.0.0.1:8180", "server " + e.address}, {"listen 8443", "listen " + address}}
	stack.WriteFile(t, filepath.Join(dir, "nginx.conf"), shipped(t, "nginx.conf", changes))
	for _, name := range []string{"edge.conf", "refusals.conf"} {
		stack.WriteFile(t, filepath.Join(dir, name), shipped(t, name, nil))
	}
	commands := blocks(t, "deploy/nginx/README.md", "sh")
	if len(commands) != 3 {
		t.Fatalf("the page has %d blocks of commands, want 3: make ready, start, ask", len(commands))
	}
	for i := range commands {
		commands[i] = strings.ReplaceAll(commands[i], "8443", port)
	}
	env := []string{"PATH=" + os.Getenv("PATH") + ":" + filepath.Dir(binary)}
	stack.Run(t, env, "bash", "-ec", "cd "+dir+"\n"+commands[0])
	stack.Start(t, dir, env, "bash", "-ec", commands[1])
	waitListening(t, address)
	if got := stack.Run(t, env, "bash", "-ec", "cd "+dir+"\n"+commands[2]); !strings.Contains(got, "401") ||
		!strings.Contains(got, "Valid credentials are needed") {
		t.Errorf("the edge did not ask for credentials:\n%s", got)
	}
}

// What docs/platform-teams.md shows of the files stands in them.
func TestPage_showsWhatIsShipped(t *testing.T) {
	var text string
	for _, name := range []string{"nginx.conf", "edge.conf", "edge.yaml"} {
		text += shipped(t, name, nil)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		lines[bare(line)] = true
	}
	for _, language := range []string{"nginx", "yaml"} {
		shown := 0
		for _, block := range blocks(t, "docs/platform-teams.md", language) {
			if language == "yaml" && !strings.Contains(block, "base_url: https://"+host) {
				continue
			}
			shown++
			for line := range strings.Lines(block) {
				if !lines[bare(line)] {
					t.Errorf("the page shows a line that is in no file of deploy/nginx: %q", line)
				}
			}
		}
		if shown != 1 {
			t.Errorf("the page has %d blocks of %s about the ingress, want 1", shown, language)
		}
	}
}

// bare is a line without its indent and its comment.
func bare(line string) string {
	if i := strings.Index(line, "#"); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSpace(line)
}

// blocks are the fenced blocks of a page in a language.
func blocks(t testing.TB, page, language string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(stack.Root(), filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(raw), -1) {
		found = append(found, m[1])
	}
	return found
}

// The example of routing in nginx.conf, with its marks removed.
func TestIngress_routesByAnArgument(t *testing.T) {
	h := newHouse(t)
	h.depot.on("Route", echo)
	anywhere, europe := h.startEdge(), h.startEdge()
	n := startNginxWith(t, []*edge{anywhere}, func(text string) string {
		return strings.ReplaceAll(text, "#region ", "")
	}, change{"127.0.0.1:8181", europe.address})
	c := h.client(t, n, true)
	for _, row := range []struct {
		region string
		edge   *edge
	}{
		{"eu", europe},
		{"us", anywhere},
	} {
		t.Run(row.region, func(t *testing.T) {
			body := h.modernCall("Route", `{"region":"`+row.region+`"}`)
			got := c.in(t).post(body, h.modern("Route"), header("Mcp-Param-Region", row.region)).text(t)
			if got != row.region {
				t.Errorf("the call gave %q", got)
			}
			row.edge.process.WaitLine(t, "acme.depot.v1.Depot/Route")
		})
	}
	if calls := h.depot.count("Route"); calls != 2 {
		t.Errorf("two calls were sent %d times", calls)
	}
	// The header chooses the way, and nothing else.
	got := c.post(h.modernCall("Route", `{"region":"us"}`), h.modern("Route"), header("Mcp-Param-Region", "eu"))
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"code":-32020`) {
		t.Errorf("a header that differs from the argument: %d %s", got.status, got.body)
	}
}
