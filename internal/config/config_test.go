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

func TestLoad_saysWhichFileIsMissing(t *testing.T) {
	t.Parallel()
	err := config.Load(filepath.Join(t.TempDir(), "gone.yaml"), new(configv1.EdgeConfig))
	if err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("error = %v", err)
	}
}
