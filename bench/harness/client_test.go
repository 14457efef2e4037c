package harness

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The load reads what net/http writes: with a length, in chunks, empty, and one after the other on one connection.
func TestConnection_readsWhatServersWrite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch r.URL.Path {
		case "/empty":
			w.WriteHeader(http.StatusAccepted)
		case "/length":
			_, _ = w.Write(body)
		case "/chunked":
			for part := range strings.SplitSeq(string(body), ",") {
				_, _ = io.WriteString(w, part)
				w.(http.Flusher).Flush()
			}
		}
	}))
	defer server.Close()
	c, err := dial(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	long := strings.Repeat("0123456789", 20000)
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"with a length", "/length", "abc", 200, "abc"},
		{"without a body", "/empty", "abc", 202, ""},
		{"in chunks", "/chunked", "a,bc,def", 200, "abcdef"},
		{"long", "/length", long, 200, long},
		{"long, in chunks", "/chunked", long + "," + long, 200, long + long},
		{"short after long", "/length", "x", 200, "x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, body, err := c.ask(post(test.path, plainHeaders, []byte(test.body)))
			if err != nil {
				t.Fatal(err)
			}
			if status != test.status || string(body) != test.want {
				t.Errorf("got %d and %d bytes, want %d and %d", status, len(body), test.status, len(test.want))
			}
		})
	}
}

func TestConnection_refusesWhatItCannotRead(t *testing.T) {
	tests := []struct{ name, answer string }{
		{"another protocol", "SSH-2.0-x\r\n"},
		{"no status", "HTTP/1.1 abc\r\n\r\n"},
		{"neither length nor chunks", "HTTP/1.1 200 OK\r\n\r\nabc"},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"},
		{"a chunk without its end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"},
		{"the end too early", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 1024))
				_, _ = io.WriteString(conn, test.answer)
				_ = conn.Close()
			}()
			c, err := dial(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			if status, body, err := c.ask(post("/", plainHeaders, nil)); err == nil {
				t.Errorf("read %d %q", status, body)
			}
		})
	}
}

func TestQuestion_check(t *testing.T) {
	call := question{contains: []byte("w07"), length: 12}
	list := question{whole: []byte("all of it")}
	tests := []struct {
		name   string
		q      question
		status int
		body   string
		ok     bool
	}{
		{"right", call, 200, "item w07 ok.", true},
		{"another status", call, 500, "item w07 ok.", false},
		{"another worker's", call, 200, "item w08 ok.", false},
		{"another length", call, 200, "item w07 ok", false},
		{"the whole", list, 200, "all of it", true},
		{"not the whole", list, 200, "all of xx", false},
		{"an error result", question{contains: []byte("w07"), length: 22}, 200, `{"w07","isError":true}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.q.check(test.status, []byte(test.body)); (err == nil) != test.ok {
				t.Errorf("check = %v, right: %v", err, test.ok)
			}
		})
	}
}
