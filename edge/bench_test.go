package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// The benchmarks below run everything in one process over real sockets: load, edge and service. What the edge costs is
// Call less the sum of FloorHTTP and FloorGRPC, which make the same exchanges without it; read it in cpu-ns/op and in
// allocations, not in elapsed time.

// benchWorkers is how many requests are under way at a time, for each core.
const benchWorkers = 8

// benchLog logs to a file, as the command does.
func benchLog(b *testing.B) slog.Handler {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	lines := lifecycle.NewLines(f)
	b.Cleanup(func() {
		lines.Close()
		f.Close()
	})
	return lines.Handler(slog.LevelInfo)
}

// rawBytes is a gRPC codec that carries bytes as they are.
type rawBytes struct{}

func (rawBytes) Name() string { return "proto" }

func (rawBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawBytes) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// startEcho serves every method with one constant response.
func startEcho(t testing.TB, response []byte) *probe {
	t.Helper()
	p := &probe{name: "echo"}
	p.server = grpc.NewServer(grpc.ForceServerCodecV2(rawBytes{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return stream.SendMsg(&response)
		}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(l) }()
	t.Cleanup(func() {
		p.server.Stop()
		<-served
	})
	return p
}

// sayResponse is a SayResponse of a word on the wire.
func sayResponse(word string) []byte {
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	b = protowire.AppendString(b, word)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendString(b, "bench")
}

// cpu is the processor time that the process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// measure runs op in benchWorkers goroutines for each core; open makes what one goroutine needs.
func measure[C any](b *testing.B, open func() (C, func()), op func(c C) error) {
	b.Helper()
	b.ReportAllocs()
	b.SetParallelism(benchWorkers)
	before := cpu()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, done := open()
		defer done()
		for pb.Next() {
			if err := op(c); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}

// wire is one keep-alive connection that sends one request over and over.
type wire struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
	want    []byte
}

func dialWire(b *testing.B, url string, c credentials, body, want string) func() (*wire, func()) {
	address := strings.TrimPrefix(url, "http://")
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2025-06-18\r\nclientId: %s\r\nclientSecret: %s\r\nContent-Length: %d\r\n\r\n%s", address, c.id, c.secret, len(body), body)
	return func() (*wire, func()) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		return &wire{conn, bufio.NewReaderSize(conn, 64<<10), []byte(request), []byte(want)}, func() { conn.Close() }
	}
}

// exchange sends the request and reads the answer, which must have the wanted bytes at its start.
func (w *wire) exchange() error {
	if _, err := w.conn.Write(w.request); err != nil {
		return err
	}
	length := -1
	for {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	start, err := w.reader.Peek(min(length, len(w.want)))
	if err != nil || !bytes.Equal(start, w.want) {
		return fmt.Errorf("answer of %d bytes begins with %q: %w", length, start, err)
	}
	_, err = w.reader.Discard(length)
	return err
}

// benchHouse is a house with the tool `say`, served by a service that always says the word.
func benchHouse(b *testing.B, word string) (h *house, caller credentials) {
	b.Helper()
	h = newHouse(b)
	h.register(startEcho(b, sayResponse(word)), "system-api")
	caller = h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) > 0 })
	return h, caller
}

var benchSizes = []struct {
	name string
	word string
}{{"small", strings.Repeat("word ", 100)}, {"large", strings.Repeat("word ", 2400)}}

func BenchmarkCall(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			h, caller := benchHouse(b, size.word)
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"word":"` + size.word[:200] + `"}}}`
			measure(b, dialWire(b, h.url, caller, body, `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":`), (*wire).exchange)
		})
	}
}

func BenchmarkPing(b *testing.B) {
	h, caller := benchHouse(b, "word")
	body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	measure(b, dialWire(b, h.url, caller, body, `{"jsonrpc":"2.0","id":1,"result":{}`), (*wire).exchange)
}

// BenchmarkFloorHTTP is a handler that reads the body and writes as many bytes as a call's answer has.
func BenchmarkFloorHTTP(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			answer := []byte(strings.Repeat("x", 2*len(size.word)+200))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					b.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
				_, _ = w.Write(answer)
			}))
			defer server.Close()
			body := strings.Repeat("x", 300)
			measure(b, dialWire(b, server.URL, credentials{"tester", "secret"}, body, "xxxx"), (*wire).exchange)
		})
	}
}

// BenchmarkFloorGRPC is a client that passes a request through as bytes.
func BenchmarkFloorGRPC(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			p := startEcho(b, sayResponse(size.word))
			client, err := grpc.NewClient("passthrough:///"+p.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawBytes{})))
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			request := sayResponse(size.word[:200])
			measure(b, func() (struct{}, func()) { return struct{}{}, func() {} }, func(struct{}) error {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				var response []byte
				return client.Invoke(ctx, "/probe.v1.ProbeService/Say", &request, &response)
			})
		})
	}
}

// BenchmarkFloorBoth is the two floors behind each other in one process: a handler that passes bytes through, for which
// the sum of the two is too little, since each waits for the other's sockets.
func BenchmarkFloorBoth(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			p := startEcho(b, sayResponse(size.word))
			client, err := grpc.NewClient("passthrough:///"+p.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawBytes{})))
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			answer := []byte(strings.Repeat("x", 2*len(size.word)+200))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					b.Error(err)
				}
				ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
				defer cancel()
				var response []byte
				if err := client.Invoke(ctx, "/probe.v1.ProbeService/Say", &body, &response); err != nil {
					b.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
				_, _ = w.Write(answer)
			}))
			defer server.Close()
			body := strings.Repeat("x", 300)
			measure(b, dialWire(b, server.URL, credentials{"tester", "secret"}, body, "xxxx"), (*wire).exchange)
		})
	}
}
