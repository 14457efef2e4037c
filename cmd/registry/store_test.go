package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOnStore_saysThatEtcdDoesNotAnswer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "registry.yaml")
	text := "etcd: {endpoints: [\"http://127.0.0.1:1\"]}\ngrpc_listen: \"127.0.0.1:0\"\naddresses: [{zone: \"*\", ranges: [127.0.0.0/8], ports: [1]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), storePatience+time.Second)
	defer cancel()
	var out, log bytes.Buffer
	c := newRoot()
	c.SetOut(&out)
	c.SetErr(&log)
	c.SetArgs([]string{"role", "list", "--config", file})
	err := c.ExecuteContext(ctx)
	if err == nil || !strings.Contains(err.Error(), "etcd at http://127.0.0.1:1 does not answer") ||
		!strings.Contains(err.Error(), "check that etcd runs there, that etcd.endpoints in "+file) {
		t.Errorf("the error is %v", err)
	}
	if want := "etcd at http://127.0.0.1:1 does not answer; still trying\n"; log.String() != want {
		t.Errorf("on the way it says %q", log.String())
	}
}
