package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// connection is one keep-alive connection to a target. It speaks just the HTTP/1.1 that the targets answer, since the
// load must cost less than what it loads.
type connection struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

func dial(address string) (*connection, error) {
	conn, err := net.DialTimeout("tcp", address, process.Patience)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (c *connection) close() { _ = c.conn.Close() }

// do sends a request and reads the answer. The body is valid until the next do.
func (c *connection) do(request []byte) (status int, body []byte, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, err
	}
	return c.read()
}

// ask is do for a request beside the measuring: an answer that does not come in time closes the connection.
func (c *connection) ask(request []byte) (status int, body []byte, err error) {
	late := time.AfterFunc(process.Patience, c.close)
	defer late.Stop()
	return c.do(request)
}

var errMalformed = errors.New("the answer is not HTTP/1.1 as the load reads it")

func (c *connection) read() (status int, body []byte, err error) {
	line, err := c.line()
	if err != nil {
		return 0, nil, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || len(line) < 12 {
		return 0, nil, errMalformed
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, errMalformed
	}
	length, chunked := -1, false
	for {
		if line, err = c.line(); err != nil {
			return 0, nil, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, nil, errMalformed
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.Equal(bytes.TrimSpace(value), []byte("chunked"))
		}
	}
	c.body = c.body[:0]
	switch {
	case chunked:
		err = c.chunks()
	case length < 0:
		err = errMalformed
	default:
		err = c.more(length)
	}
	return status, c.body, err
}

// chunks reads a chunked body, and the trailer that none of the targets fills.
func (c *connection) chunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return errMalformed
		}
		if err := c.more(int(n)); err != nil {
			return err
		}
		if line, err = c.line(); err != nil {
			return err
		}
		if len(line) != 0 {
			return errMalformed
		}
		if n == 0 {
			return nil
		}
	}
}

// more appends n bytes to the body.
func (c *connection) more(n int) error {
	have := len(c.body)
	if cap(c.body) < have+n {
		c.body = append(make([]byte, 0, 2*(have+n)), c.body...)
	}
	c.body = c.body[:have+n]
	_, err := io.ReadFull(c.in, c.body[have:])
	return err
}

// line reads to the next line feed and takes the end of line off. It is valid until the next read.
func (c *connection) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
