package soak

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// wire is a request as it goes over a connection.
type wire struct {
	method string
	fields []field
	body   []byte
	// declared is the Content-Length of a request whose body never comes; 0 is that of body.
	declared int
}

type field struct{ name, value string }

// phase is when a caller leaves.
type phase int

const (
	_ phase = iota // a caller that stays
	// inHead is before the head is whole, so that there is no request. HTTP/2 sends heads whole.
	inHead
	// inBody is after half of the body.
	inBody
	// waiting is some time after the request is whole, unless an answer comes before.
	waiting
	// inProgress is after some progress notifications.
	inProgress
	// inResult is after some bytes of a JSON answer.
	inResult
)

// leaving says when a caller leaves, if it does.
type leaving struct {
	when  phase
	after time.Duration
	count int
}

// fate is what became of a request.
type fate struct {
	// sent says that the head was sent, so that the edge has something to settle.
	sent bool
	// left says that the caller left as it meant to.
	left bool
}

// transport carries one request at a time.
type transport interface {
	// begin sends a request and gives the answer's head, with a body to be read. There is none where the caller left.
	begin(ctx context.Context, w *wire, l leaving) (*http.Response, fate, error)
	// drop leaves in the middle of an answer.
	drop()
	// end is called when the body was read to its end.
	end(*http.Response)
	// close closes what is open.
	close()
	// name is the protocol's.
	name() string
}

// h1 is a connection of its own, kept open where the edge keeps it.
type h1 struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
}

func (*h1) name() string { return "HTTP/1.1" }

func (c *h1) begin(ctx context.Context, w *wire, l leaving) (*http.Response, fate, error) {
	if c.conn == nil {
		conn, err := (&net.Dialer{Timeout: process.Patience}).DialContext(ctx, "tcp", c.address)
		if err != nil {
			return nil, fate{}, err
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	if err := c.conn.SetDeadline(time.Now().Add(process.Patience)); err != nil {
		return nil, fate{}, err
	}
	message := c.message(w)
	head := len(message) - len(w.body)
	switch l.when {
	case inHead:
		message = message[:head/2]
	case inBody:
		message = message[:head+len(w.body)/2]
	}
	if _, err := c.conn.Write(message); err != nil {
		// Nobody knows how much of it was taken: the edge had no reason to close the connection.
		return nil, fate{}, fmt.Errorf("send: %w", err)
	}
	switch l.when {
	case inHead:
		c.close()
		return nil, fate{left: true}, nil
	case inBody:
		c.close()
		return nil, fate{sent: true, left: true}, nil
	case waiting:
		if !c.answered(l.after) {
			c.close()
			return nil, fate{sent: true, left: true}, nil
		}
	}
	response, err := http.ReadResponse(c.in, &http.Request{Method: w.method})
	if err != nil {
		return nil, fate{sent: true}, fmt.Errorf("read the answer's head: %w", err)
	}
	return response, fate{sent: true}, nil
}

func (c *h1) message(w *wire) []byte {
	b := fmt.Appendf(nil, "%s /mcp HTTP/1.1\r\nHost: %s\r\n", w.method, c.address)
	for _, f := range w.fields {
		b = fmt.Appendf(b, "%s: %s\r\n", f.name, f.value)
	}
	if length := max(w.declared, len(w.body)); length > 0 || w.method == http.MethodPost {
		b = fmt.Appendf(b, "Content-Length: %s\r\n", strconv.Itoa(length))
	}
	return append(append(b, "\r\n"...), w.body...)
}

// answered waits for the first byte of an answer, and no longer than for a while.
func (c *h1) answered(within time.Duration) bool {
	_ = c.conn.SetReadDeadline(time.Now().Add(within))
	_, err := c.in.Peek(1)
	_ = c.conn.SetReadDeadline(time.Now().Add(process.Patience))
	var timeout net.Error
	// Any other error is for whoever reads the answer to meet.
	return !(errors.As(err, &timeout) && timeout.Timeout())
}

func (c *h1) drop() { c.close() }

func (c *h1) end(response *http.Response) {
	if response.Close {
		c.close()
	}
}

func (c *h1) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn, c.in = nil, nil
	}
}

// h2 is one caller among several on a connection that they share. Leaving is a reset of the stream.
type h2 struct {
	address string
	shared  *http.Transport
	cancel  context.CancelFunc
}

// newHTTP2 makes what callers over HTTP/2 share: one connection, with prior knowledge that it is HTTP/2.
func newHTTP2() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{Protocols: protocols, DisableCompression: true}
}

func (*h2) name() string { return "HTTP/2" }

func (c *h2) begin(ctx context.Context, w *wire, l leaving) (*http.Response, fate, error) {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	c.cancel = cancel
	var sent atomic.Bool
	var once sync.Once
	left := make(chan struct{})
	leave := func() {
		once.Do(func() {
			close(left)
			cancel()
		})
	}
	var timer *time.Timer
	if l.when == waiting {
		timer = time.AfterFunc(process.Patience, leave)
		defer timer.Stop()
	}
	trace := &httptrace.ClientTrace{WroteHeaders: func() {
		sent.Store(true)
		if timer != nil {
			timer.Reset(l.after)
		}
	}}
	body := io.Reader(bytes.NewReader(w.body))
	if l.when == inBody {
		body = &half{body: w.body[:len(w.body)/2], then: leave, until: ctx.Done()}
	}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), w.method, "http://"+c.address+"/mcp", body)
	if err != nil {
		return nil, fate{}, err
	}
	request.ContentLength = int64(len(w.body))
	for _, f := range w.fields {
		request.Header.Add(f.name, f.value)
	}
	response, err := c.shared.RoundTrip(request)
	if timer != nil && !timer.Stop() {
		<-left // it fires at this moment
	}
	f := fate{sent: sent.Load()}
	select {
	case <-left:
		// An answer that was there all the same is not read.
		if err == nil {
			_ = response.Body.Close()
		}
		f.left = true
		return nil, f, nil
	default:
	}
	if err != nil {
		return nil, f, err
	}
	return response, f, nil
}

func (c *h2) drop() { c.cancel() }

func (c *h2) end(*http.Response) { c.cancel() }

func (c *h2) close() { c.shared.CloseIdleConnections() }

// half is a body that stops halfway.
type half struct {
	body  []byte
	then  func()
	until <-chan struct{}
}

func (h *half) Read(b []byte) (int, error) {
	if len(h.body) > 0 {
		n := copy(b, h.body)
		h.body = h.body[n:]
		return n, nil
	}
	h.then()
	<-h.until
	return 0, context.Canceled
}
