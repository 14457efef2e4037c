package ingress_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// Each frame must have reached the client before the service sends the next one: a frame that waits anywhere for the
// one after it ends the test.
func TestIngress_streamsFrameByFrame(t *testing.T) {
	h := newHouse(t)
	n := startNginx(t, []*edge{h.startEdge()})
	const signs = 5
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			proceed := make(chan struct{})
			h.depot.on("Watch", func(c *call) error {
				for i := 1; i <= signs; i++ {
					if err := c.progress(&toolv1.Progress{Progress: float64(i), Message: fmt.Sprint("sign ", i)}); err != nil {
						return err
					}
					select {
					case <-proceed:
					case <-c.ctx.Done():
						return c.ctx.Err()
					}
				}
				return c.result("done")
			})
			f := h.client(t, n, version.http2).watch(h.watchBody(`"w"`, `"tök"`))
			if !strings.HasPrefix(f.response.Proto, version.name) {
				t.Errorf("the stream came over %s", f.response.Proto)
			}
			head := f.response.Header
			if got := head.Get("Cache-Control"); got != "no-cache, no-transform" {
				t.Errorf("Cache-Control is %q", got)
			}
			// For another proxy before this one.
			if got := head.Get("X-Accel-Buffering"); got != "no" {
				t.Errorf("X-Accel-Buffering is %q", got)
			}
			for i := 1; i <= signs; i++ {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tök","progress":%d,"message":"sign %d"}}`, i, i)
				if got := f.next(); got != want {
					t.Errorf("frame %d is %s\nwant %s", i, got, want)
				}
				give(t, "the service to wait for the client", proceed)
			}
			if got := f.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"w","result":{`) || !strings.Contains(got, `"text":"done"`) {
				t.Errorf("the last frame is %s", got)
			}
			f.end()
		})
	}
	t.Run("a large result after progress", func(t *testing.T) {
		large := content(3 << 20)
		h.depot.on("Watch", func(c *call) error {
			if err := c.progress(&toolv1.Progress{Progress: 1}); err != nil {
				return err
			}
			return c.result(large)
		})
		f := h.client(t, n, true).watch(h.watchBody("1", "1"))
		f.next()
		got := reply{status: http.StatusOK, body: f.next()}.text(t)
		if got != large {
			t.Errorf("a result of %d bytes arrived as %d others", len(large), len(got))
		}
		f.end()
	})
}

// Several streams share one connection of HTTP/2, and none waits for another.
func TestIngress_streamsSideBySide(t *testing.T) {
	h := newHouse(t)
	n := startNginx(t, []*edge{h.startEdge()})
	const streams = 3
	proceed := make(chan struct{})
	h.depot.on("Watch", func(c *call) error {
		if err := c.progress(&toolv1.Progress{Progress: 1}); err != nil {
			return err
		}
		select {
		case <-proceed:
			return c.result("done")
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	})
	h.depot.on("Echo", echo)
	c := h.client(t, n, true)
	var open []*frames
	for i := range streams {
		f := c.watch(h.watchBody(fmt.Sprint(i), fmt.Sprint(i)))
		f.next()
		open = append(open, f)
	}
	if got := c.post(h.callBody("9", "Echo", `{"text":"beside"}`)).text(t); got != "beside" {
		t.Errorf("a call beside the streams gave %q", got)
	}
	close(proceed)
	for i, f := range open {
		if got := f.next(); !strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{`, i)) {
			t.Errorf("stream %d ended with %s", i, got)
		}
		f.end()
	}
}
