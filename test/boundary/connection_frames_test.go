package boundary_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames is one connection that a test speaks HTTP/2 over by hand.
type frames struct {
	t      testing.TB
	f      *front
	conn   net.Conn
	framer *http2.Framer
	// out is what goes out with the next step, or with the whole request that is being written.
	out   *bufio.Writer
	more  bool
	block bytes.Buffer
	coder *hpack.Encoder
	// away is the last farewell that the edge said.
	away *http2.GoAwayFrame
}

// dialFrames opens a connection on which each stream may bring this many bytes before the test allows more.
func (f *front) dialFrames(t testing.TB, window uint32) *frames {
	t.Helper()
	conn, err := net.Dial("tcp", f.host)
	if err != nil {
		t.Fatal(err)
	}
	if f.trust != nil {
		trust := f.trust.Clone()
		trust.ServerName, trust.NextProtos = "127.0.0.1", []string{"h2"}
		conn = tls.Client(conn, trust)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c := &frames{t: t, f: f, conn: conn, out: bufio.NewWriter(conn)}
	c.framer = http2.NewFramer(c.out, conn)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.coder = hpack.NewEncoder(&c.block)
	_, err = io.WriteString(c.out, http2.ClientPreface)
	c.check(errors.Join(err, c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})))
	return c
}

// check sends what was written, unless more belongs to it.
func (c *frames) check(err error) {
	c.t.Helper()
	if err == nil && !c.more {
		err = c.out.Flush()
	}
	if err != nil {
		c.t.Fatalf("write a frame: %v", err)
	}
}

// encode is the header block of a POST /mcp.
func (c *frames) encode(headers http.Header) []byte {
	c.block.Reset()
	field := func(name, value string) { c.check(c.coder.WriteField(hpack.HeaderField{Name: name, Value: value})) }
	scheme := "http"
	if c.f.trust != nil {
		scheme = "https"
	}
	for _, pseudo := range [][2]string{{":method", http.MethodPost}, {":scheme", scheme}, {":authority", c.f.host}, {":path", "/mcp"}} {
		field(pseudo[0], pseudo[1])
	}
	for name, values := range headers {
		for _, value := range values {
			field(strings.ToLower(name), value)
		}
	}
	return c.block.Bytes()
}

// open begins a request. Its body follows, unless there is none.
func (c *frames) open(stream uint32, headers http.Header, empty bool) {
	c.t.Helper()
	block := c.encode(headers)
	const most = 16 << 10 // the largest frame that everybody accepts
	first := block[:min(len(block), most)]
	c.check(c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: first, EndHeaders: len(first) == len(block), EndStream: empty,
	}))
	for block = block[len(first):]; len(block) > 0; {
		part := block[:min(len(block), most)]
		block = block[len(part):]
		c.check(c.framer.WriteContinuation(stream, len(block) == 0, part))
	}
}

// send brings a piece of a body.
func (c *frames) send(stream uint32, body string, last bool) {
	c.t.Helper()
	c.check(c.framer.WriteData(stream, last, []byte(body)))
}

// call makes a whole request.
func (c *frames) call(stream uint32, s asked) {
	c.t.Helper()
	headers := s.headers(c.f.caller)
	headers.Set("Content-Length", strconv.Itoa(len(s.body())))
	c.more = true
	c.open(stream, headers, false)
	c.more = false
	c.send(stream, s.body(), true)
}

// next is the next frame that is about a stream or says farewell.
func (c *frames) next() (http2.Frame, error) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				c.check(c.framer.WriteSettingsAck())
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				c.check(c.framer.WritePing(true, frame.Data))
			}
		case *http2.WindowUpdateFrame:
		case *http2.GoAwayFrame:
			away := *frame
			c.away = &away
			return frame, nil
		default:
			return frame, nil
		}
	}
}

// answer reads until a stream has ended, and what comes for others is lost. The stream's window is filled up again.
func (c *frames) answer(stream uint32) answer {
	c.t.Helper()
	var a answer
	for {
		frame, err := c.next()
		if err != nil {
			c.t.Fatalf("no answer on stream %d: %v", stream, err)
		}
		if frame.Header().StreamID != stream {
			continue
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			a.status, _ = strconv.Atoi(frame.PseudoValue("status"))
			a.header = make(http.Header)
			for _, field := range frame.RegularFields() {
				a.header.Add(field.Name, field.Value)
			}
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			a.body = append(a.body, frame.Data()...)
			if ended = frame.StreamEnded(); !ended && len(frame.Data()) > 0 {
				n := uint32(len(frame.Data()))
				c.check(errors.Join(c.framer.WriteWindowUpdate(0, n), c.framer.WriteWindowUpdate(stream, n)))
			}
		case *http2.RSTStreamFrame:
			c.t.Fatalf("stream %d was reset: %v", stream, frame.ErrCode)
		}
		if ended {
			return a
		}
	}
}

// untilEnd wants nothing but farewells until the edge ends the connection.
func (c *frames) untilEnd() {
	c.t.Helper()
	for {
		frame, err := c.next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
			return
		case err != nil:
			c.t.Fatalf("the connection did not end: %v", err)
		}
		if _, ok := frame.(*http2.GoAwayFrame); !ok {
			c.t.Fatalf("before its end the connection brought %v", frame)
		}
	}
}

// http2Client makes HTTP/2 requests by library, over one connection as far as that goes.
func (f *front) http2Client(t testing.TB) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: f.trust}
	transport.Protocols.SetUnencryptedHTTP2(f.trust == nil)
	transport.Protocols.SetHTTP2(f.trust != nil)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// http1Client makes HTTP/1.1 requests by library, each at a time over a connection that is free.
func (f *front) http1Client(t testing.TB) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: f.trust}
	transport.Protocols.SetHTTP1(true)
	transport.MaxIdleConnsPerHost = 16
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}
