package main

import (
	"strings"
	"testing"
)

func TestFlags_refuseToServeSecretsInTheClear(t *testing.T) {
	const loopback = "127.0.0.1:0"
	for _, row := range []struct {
		name, listen, rest, grpc string
		wanted                   string
	}{
		{"all on loopback", loopback, "localhost:0", "[::1]:0", ""},
		{"edge on every address", "0.0.0.0:8080", loopback, loopback, "--listen"},
		{"edge on every address, spelled short", ":8080", loopback, loopback, "--listen"},
		{"REST on a private address", loopback, "10.0.0.1:7070", loopback, "--registry-rest"},
		{"gRPC by a name", loopback, loopback, "registry.example.com:7071", "--registry-grpc"},
		{"no port", "127.0.0.1", loopback, loopback, "host:port"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := flags{listen: row.listen, registryREST: row.rest, registryGRPC: row.grpc}.check()
			if row.wanted == "" && err != nil || row.wanted != "" && (err == nil || !strings.Contains(err.Error(), row.wanted)) {
				t.Errorf("error %v, want one that names %q", err, row.wanted)
			}
		})
	}
}
