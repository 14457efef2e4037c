package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/internal/dispatch"
)

// connKey is the key of a request's connection in its context.
type connKey struct{}

// serveHTTP2 answers calls with what h writes, frame by frame as net/http does, and gives the address.
func serveHTTP2(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: h, Protocols: protocols, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { server.Close(); running.Wait() })
	return listener.Addr().String()
}

// head begins a response as gRPC services do, and sends it.
func head(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

// say ends a response whose head was sent with a status.
func say(w http.ResponseWriter, code, message string) {
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", code)
	w.Header().Set(http.TrailerPrefix+"Grpc-Message", message)
}

// The service's own status is told from those that gRPC makes up for a call that ended without one, whichever way
// either comes. Only an instance that was lost is ejected.
func TestCall_tellsTheServicesStatusFromOneOfGRPCs(t *testing.T) {
	for _, row := range []struct {
		name    string
		answer  http.HandlerFunc
		code    codes.Code
		said    string // by the service
		ejected bool
	}{
		{"a status at once", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "5")
			w.Header().Set("Grpc-Message", "no such order")
		}, codes.NotFound, "no such order", false},
		{"a status at once that reads like one of gRPC's", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "14")
			w.Header().Set("Grpc-Message", "error reading from server: EOF")
		}, codes.Unavailable, "error reading from server: EOF", false},
		{"a status after the head", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			say(w, "5", "no such order")
		}, codes.NotFound, "no such order", false},
		{"unavailable after the head", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			say(w, "14", "warming up")
		}, codes.Unavailable, "warming up", false},
		{"a status without words after the head", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			say(w, "9", "")
		}, codes.FailedPrecondition, "", false},
		{"a status and metadata after the head", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			say(w, "14", "transport: closing")
			w.Header().Set(http.TrailerPrefix+"X-Reason", "night")
		}, codes.Unavailable, "transport: closing", false},
		{"a status after a message", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			_, _ = w.Write([]byte("\x00\x00\x00\x00\x03abc"))
			say(w, "10", "changed meanwhile")
		}, codes.Aborted, "changed meanwhile", false},
		{"no response and a good status", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			say(w, "0", "")
		}, codes.Internal, "-", false},
		{"two messages", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			_, _ = w.Write([]byte("\x00\x00\x00\x00\x03abc\x00\x00\x00\x00\x03abc"))
			say(w, "0", "")
		}, codes.Internal, "-", false},
		{"half a message", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			_, _ = w.Write([]byte("\x00\x00\x00\x00\x09abc"))
			say(w, "0", "")
		}, codes.Internal, "-", false},
		{"a compressed message that no one announced", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			_, _ = w.Write([]byte("\x01\x00\x00\x00\x03abc"))
			say(w, "0", "")
		}, codes.Internal, "-", false},
		{"a stream reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, codes.Internal, "-", false},
		{"a stream reset after the head", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			panic(http.ErrAbortHandler)
		}, codes.Internal, "-", false},
		{"a page that was not found", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<h1>no such page</h1>", http.StatusNotFound)
		}, codes.Unimplemented, "-", false},
		{"a page that is forbidden", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		}, codes.PermissionDenied, "-", false},
		{"a proxy without a service", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
		}, codes.Unavailable, "-", true},
		{"a good page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<h1>welcome</h1>"))
		}, codes.Unknown, "-", false},
		{"a status that is no number", func(w http.ResponseWriter, _ *http.Request) {
			head(w)
			say(w, "fine", "")
		}, codes.Unknown, "-", false},
		{"a connection lost at once", func(_ http.ResponseWriter, r *http.Request) {
			r.Context().Value(connKey{}).(net.Conn).Close()
		}, codes.Unavailable, "-", true},
		{"a connection lost after the head", func(w http.ResponseWriter, r *http.Request) {
			head(w)
			r.Context().Value(connKey{}).(net.Conn).Close()
		}, codes.Unavailable, "-", true},
		{"a connection lost within a message", func(w http.ResponseWriter, r *http.Request) {
			head(w)
			_, _ = w.Write([]byte("\x00\x00\x00\x00\x09abc"))
			w.(http.Flusher).Flush()
			r.Context().Value(connKey{}).(net.Conn).Close()
		}, codes.Unavailable, "-", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log bytes.Buffer
			d := start(t, func(o *dispatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) },
				stored("a", serveHTTP2(t, row.answer)))
			response, failure := call(d, request(""))
			if failure == nil {
				t.Fatalf("got %q", response)
			}
			if failure.Code != row.code || (failure.Status == nil) != (row.said == "-") || failure.TooLarge {
				t.Errorf("got %+v", failure)
			}
			if failure.Status != nil && failure.Status.Message() != row.said {
				t.Errorf("the service said %q", failure.Status.Message())
			}
			unknown := failure.Status == nil || row.code == codes.Unavailable
			if (failure.Executed == dispatch.ExecutedUnknown) != unknown {
				t.Errorf("executed %q", failure.Executed)
			}
			if ejected := strings.Contains(log.String(), "does not answer"); ejected != row.ejected {
				t.Errorf("ejected: %t", ejected)
			}
		})
	}
}
