package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/config"
)

func TestLoad_readsEveryKindOfField(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "edge.yaml")
	text := `
etcd:
  endpoints: ["https://etcd-0.example.com:2379"]
  prefix: /sallyport/v1/
page_size: 250
default_timeout: 20s
log_level: LOG_LEVEL_DEBUG
addresses:
  - zone: "*"
    ranges: [10.0.0.0/8]
    ports: [8443]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var cfg configv1.EdgeConfig
	if err := config.Load(path, &cfg); err != nil {
		t.Fatal(err)
	}
	if got := cfg.GetDefaultTimeout().AsDuration(); got != 20*time.Second {
		t.Errorf("default_timeout = %v", got)
	}
	if cfg.GetPageSize() != 250 || cfg.GetLogLevel() != configv1.LogLevel_LOG_LEVEL_DEBUG ||
		cfg.GetAddresses()[0].GetPorts()[0] != 8443 {
		t.Errorf("unexpected message: %v", &cfg)
	}
}

func TestLoad_namesLineAndField(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown field", "etcd:\n  endpoints: [a:1]\npage_sise: 3\n", []string{"edge.yaml:3", "page_sise"}},
		{"broken rule", "etcd:\n  endpoints: [a:1]\n\npage_size: 10001\n", []string{"edge.yaml:4", "page_size"}},
		{"depth past its bound", "etcd:\n  endpoints: [a:1]\nmax_json_depth: 1001\n", []string{"edge.yaml:3", "max_json_depth"}},
		{"number length past its bound", "etcd:\n  endpoints: [a:1]\nmax_json_number_length: 10001\n",
			[]string{"edge.yaml:3", "max_json_number_length"}},
		{"wrong type", "etcd:\n  endpoints: [a:1]\npage_size: many\n", []string{"edge.yaml:3", "page_size"}},
		{"missing block", "page_size: 3\n", []string{"edge.yaml", "etcd"}},
		{"empty document", "", []string{"edge.yaml", "etcd"}},
		{"two problems at once", "etcd:\n  endpoints: [a:1]\npage_size: -1\nmax_request_bytes: -1\n",
			[]string{"edge.yaml:3", "edge.yaml:4"}},
		{"not YAML", "etcd: [\n", []string{"edge.yaml"}},
		{"a key twice", "etcd:\n  endpoints: [a:1]\npage_size: 3\npage_size: 4\n",
			[]string{"edge.yaml:4:1 page_size stands twice", "line 3"}},
		{"a key twice in two spellings", "etcd:\n  endpoints: [a:1]\npage_size: 3\npageSize: 4\n",
			[]string{"edge.yaml:4:1 pageSize stands twice", "line 3"}},
		{"a list twice", "etcd:\n  endpoints: [a:1]\n  prefix: /x/\n  endpoints: [b:1]\n",
			[]string{"edge.yaml:4:3 etcd.endpoints stands twice", "line 2"}},
		{"a key twice in an item", "etcd: {endpoints: [a:1]}\naddresses:\n- zone: x\n  ports: [1]\n- zone: y\n  zone: z\n",
			[]string{"edge.yaml:6:3 addresses[1].zone stands twice", "line 5"}},
		{"a key without a value", "etcd:\n  endpoints: [a:1]\nauthorization_server:\n",
			[]string{"edge.yaml:3:1 authorization_server has no value", "write {}", "leave the key out"}},
		{"null", "etcd:\n  endpoints: [a:1]\n  prefix: null\npage_size: ~\n",
			[]string{"edge.yaml:3:3 etcd.prefix has no value", "edge.yaml:4:1 page_size has no value"}},
		{"an item without a value", "etcd:\n  endpoints:\n  - a:1\n  -\n", []string{"edge.yaml:4:4 etcd.endpoints[1] has no value"}},
		{"a key twice and an unknown one", "etcd: {endpoints: [a:1]}\npage_size: 3\npage_size: 4\npage_sise: 5\n",
			[]string{"edge.yaml:3:1 page_size stands twice", "edge.yaml:4:1 unknown field"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := config.Parse("edge.yaml", []byte(test.text), new(configv1.EdgeConfig))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %q", err, want)
				}
			}
		})
	}
}

func TestLoad_takesWhatIsEmptyButSaid(t *testing.T) {
	t.Parallel()
	text := "etcd: {endpoints: [a:1], prefix: \"\"}\naddresses: []\nauthorization_server: {}\n"
	var cfg configv1.EdgeConfig
	if err := config.Parse("edge.yaml", []byte(text), &cfg); err != nil || cfg.GetAuthorizationServer() == nil {
		t.Errorf("message %v, error %v", &cfg, err)
	}
}

func TestLoad_saysWhichFileIsMissing(t *testing.T) {
	t.Parallel()
	err := config.Load(filepath.Join(t.TempDir(), "gone.yaml"), new(configv1.EdgeConfig))
	if err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("error = %v", err)
	}
}
