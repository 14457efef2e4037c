package mcp

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// slowConnection accepts each write after a while.
type slowConnection struct {
	recorder
	takes     time.Duration
	deadlines int
	late      int
}

func (c *slowConnection) SetWriteDeadline(t time.Time) error {
	c.deadlines++
	return c.recorder.SetWriteDeadline(t)
}

func (c *slowConnection) Write(b []byte) (int, error) {
	time.Sleep(c.takes)
	if !c.deadline.IsZero() && !c.deadline.After(time.Now()) {
		c.late++
		return 0, http.ErrHandlerTimeout
	}
	return c.unsent.Write(b)
}

// A caller may take its time for a large answer, as long as each piece is accepted in time. An answer that the buffers
// of a connection take pays for no deadline, except over HTTP/2.
func TestDeliver_givesEachPieceItsTime(t *testing.T) {
	body := strings.Repeat("x", pieceSize-1)
	for _, row := range []struct {
		name         string
		body, shared string
		protocol     int
		takes        time.Duration
		deadlines    int
		whole        bool
	}{
		{"small", "x", "", 1, time.Hour, 0, true},
		{"small, with a shared part", "xx", "yy", 1, time.Hour, 0, true},
		{"small, over HTTP/2", "x", "", 2, 29 * time.Second, 1, true},
		{"small, over HTTP/2, too slow", "x", "", 2, 31 * time.Second, 1, false},
		{"large and slow", body + body + body, "", 1, 29 * time.Second, 3, true},
		{"large and slow, with a shared part", "xx", body + body, 1, 29 * time.Second, 4, true},
		{"large and too slow", body + body, "", 1, 31 * time.Second, 1, false},
		{"nothing", "", "", 1, time.Hour, 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowConnection{takes: row.takes}
				w.header = http.Header{}
				x := &exchange{h: &Handler{options: Options{WriteTimeout: DefaultWriteTimeout}}, w: w, r: &http.Request{ProtoMajor: row.protocol}}
				a := &answer{status: 200, body: []byte(row.body), outcome: lifecycle.Success}
				if row.shared != "" {
					a.shared, a.sharedAt = []byte(row.shared), 1
				}
				if got := x.deliver(a); (got.outcome == lifecycle.Success) != row.whole || (got.outcome == lifecycle.Cancelled) == row.whole {
					t.Errorf("settled as %s", got.outcome)
				}
				want := row.body
				if row.shared != "" {
					want = row.body[:1] + row.shared + row.body[1:]
				}
				if w.deadlines != row.deadlines || (w.unsent.String() == want) != row.whole || (w.late == 0) != row.whole {
					t.Errorf("%d deadlines, %d late writes, %d bytes", w.deadlines, w.late, w.unsent.Len())
				}
			})
		})
	}
}
