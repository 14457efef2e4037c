package boundary_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/edge"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

// yard is a house whose edge is served as the program serves it, limits of the head included, before a caller who sees
// some tools and not others.
type yard struct {
	*house
	// host is where the edge is served so.
	host string
	// applicant is an application's machine: it reaches app-api alone.
	applicant credentials
	// references are those that internal errors gave, by payload.
	references map[string]string
}

func newYard(t *testing.T) *yard {
	y := &yard{references: make(map[string]string)}
	y.house = newHouse(t, map[string]string{"hostile/v1/hostile.proto": hostileProto, "parcel/v1/parcel.proto": parcelProto},
		inZone("app-api"), prepared(func(h *house) {
			y.applicant = h.newMachine(participant.Application("acme-org", "orders-app", "applicant"))
			registerOffline(h)
		}))
	y.witness.answer("/hostile.v1.HostileService/Fail", repeatTheCaller(y.message("hostile.v1.FailRequest")))
	y.witness.answer("/hostile.v1.HostileService/Echo", echoes)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	y.host = l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	logger := slog.New(slog.NewJSONHandler(y.lines, &slog.HandlerOptions{Level: slog.LevelInfo}))
	go func() { served <- edge.Serve(ctx, l, y.inFlight.count(y.edge), nil, logger) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve the edge: %v", err)
		}
	})
	return y
}

// registerOffline leaves a contract in the registry whose only instance came and went.
func registerOffline(h *house) {
	h.t.Helper()
	files := schematest.Files(h.t, map[string]string{"offline/v1/offline.proto": offlineProto})
	const service, where = "offline.v1.OfflineService", "app-api"
	ctx := h.t.Context()
	raw, _, err := contract.Normalize(schematest.WholeSet(files), []string{service})
	if err != nil {
		h.t.Fatal(err)
	}
	digest, err := h.store.PutContract(ctx, raw)
	if err != nil {
		h.t.Fatal(err)
	}
	lease, err := h.store.Register(ctx, &registry.Registration{
		TTL: time.Minute, Contract: digest, Address: h.witness.address,
		Services: []registry.ServiceRegistration{{
			Key: registry.Key{Zone: where, Service: service}, AliasRoot: participant.Root(where),
			Tools: []registry.ToolName{{Hash: hashOf(where, service, "Sleep"), Alias: "asleep", Function: contract.QualifiedName(where, service) + "/Sleep"}},
		}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.Deregister(ctx, "", lease.InstanceID); err != nil {
		h.t.Fatal(err)
	}
}

// answer is what came back for a payload.
type answer struct {
	status int
	header http.Header
	body   []byte
	// raw is everything that came over the wire, and rest the part of it that came after the answer's end.
	raw, rest []byte
}

// caller is one client that speaks HTTP/1.1 by hand, one request after another, over a connection that it keeps as
// long as the edge does.
type caller struct {
	host string
	conn net.Conn
	in   *bufio.Reader
	wire *bytes.Buffer
}

func (c *caller) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// send makes the payload's request and reads the one answer. A request that ends a connection begins with a new one.
func (c *caller) send(p *payload, request []byte) (answer, error) {
	single := p.Wire != nil || p.Closes || p.HalfClose
	if single {
		c.close()
		defer c.close()
	}
	got, err := c.attempt(p, request)
	if err != nil {
		c.close()
	}
	return got, err
}

func (c *caller) attempt(p *payload, request []byte) (answer, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.host)
		if err != nil {
			return answer{}, err
		}
		c.conn, c.wire = conn, new(bytes.Buffer)
		c.in = bufio.NewReader(io.TeeReader(conn, c.wire))
	}
	if c.wire.Reset(); c.wire.Cap() > 64<<10 {
		*c.wire = bytes.Buffer{}
	}
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return answer{}, err
	}
	// An edge that refuses by the head may answer before it has read all; it must be read then, or nothing moves.
	written := make(chan error, 1)
	write := func() error {
		_, err := c.conn.Write(request)
		if err == nil && p.HalfClose {
			err = c.conn.(*net.TCPConn).CloseWrite()
		}
		return err
	}
	if len(request) <= 64<<10 {
		written <- write()
	} else {
		go func() { written <- write() }()
	}
	got, err := c.read(p)
	if p.Closes {
		_ = c.conn.(*net.TCPConn).CloseWrite()
		if err == nil {
			got.rest, _ = io.ReadAll(c.in) // a reset ends it as well
		}
		c.close()
	}
	writeErr := <-written
	if err != nil {
		return answer{}, errors.Join(err, writeErr)
	}
	got.raw = bytes.Clone(c.wire.Bytes())
	return got, nil
}

func (c *caller) read(p *payload) (answer, error) {
	for {
		response, err := http.ReadResponse(c.in, &http.Request{Method: or(p.Method, http.MethodPost)})
		if err != nil {
			return answer{}, fmt.Errorf("no answer: %w", err)
		}
		if response.StatusCode/100 == 1 {
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil && !(p.Closes && errors.Is(err, syscall.ECONNRESET)) {
			return answer{}, fmt.Errorf("answer %d is cut: %w", response.StatusCode, err)
		}
		if response.Close && !p.Closes {
			c.close()
		}
		return answer{status: response.StatusCode, header: response.Header, body: body}, nil
	}
}

// corpus is every payload, by family in a fixed order.
var corpus = sync.OnceValue(func() []payload {
	all := slices.Concat(
		duplicateKeys(), notJSON(), notUTF8(), surrogates(), depth(), hugeNumbers(),
		typeConfusion(), undeclared(), requiredOnes(), bothSpellings(), prototypeNames(),
		bounds(), integerText(), controls(), contentIsNotShape(), enumGames(), oneofGames(), mapKeys(), anyGames(), timeForms(), longOnes(), afterTheGate(),
		ids(), versionsOfJSONRPC(), messages(), responses(), batches(), methods(), paramsShapes(), initializes(), cursors(), argumentsShapes(), unknownTools(),
		versionHeaders(), contentTypes(), origins(), credentialHeaders(), ignoredHeaders(), httpMethods(), targets(), wires(), chunkedBodies(),
		statuses(), repeatedResults(),
	)
	for i := range all {
		all[i].canary = newCanary(all[i].Family, all[i].Name)
	}
	return all
})

// versions are those that the corpus runs in; the blank one sends no header.
var versions = []string{"", version20250326, version20250618, version20251125, version20260728}

// runs says in which versions a payload is sent.
func (p *payload) runs() []string {
	if p.Pinned || p.Once || p.Wire != nil {
		return []string{""}
	}
	return versions
}

// sender is the applicant in a version.
func (y *yard) sender(version string) sender {
	return sender{host: y.host, credentials: y.applicant, version: version}
}

// wanted is the answer in a version.
func (p *payload) wanted(version string) want {
	if version == version20260728 {
		return p.Want.modern()
	}
	return p.Want
}

// leaks finds canaries of the whole corpus in bytes: whole ones, pieces of them, and those of other requests than the
// one that the bytes belong to.
type leaks struct {
	words  map[[pieceLength]byte]int
	digits map[[digitsLength]byte]int
}

// A piece is long enough that no reference, hash or date contains one by chance.
const (
	pieceLength  = 10
	digitsLength = 14
)

var leakFinder = sync.OnceValue(func() *leaks {
	l := &leaks{words: make(map[[pieceLength]byte]int), digits: make(map[[digitsLength]byte]int)}
	for i, p := range corpus() {
		c := p.canary
		for _, word := range []string{c.Value, c.Key} {
			for at := 0; at+pieceLength <= len(word); at++ {
				l.words[[pieceLength]byte([]byte(word[at:at+pieceLength]))] = i
			}
		}
		l.digits[[digitsLength]byte([]byte(c.Digits))] = i
	}
	return l
})

// find returns the first piece of a canary in b, whatever its case, and whose it is; blank for none.
func (l *leaks) find(b []byte) (piece, whose string) {
	lower := bytes.ToLower(b)
	run, digits := 0, 0 // how many letters and digits, and digits alone, end here
	for i, c := range lower {
		letter, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if run++; !letter && !digit {
			run = 0
		}
		if digits++; !digit {
			digits = 0
		}
		if run >= pieceLength {
			if at, found := l.words[[pieceLength]byte(lower[i+1-pieceLength:i+1])]; found {
				return string(lower[i+1-pieceLength : i+1]), corpus()[at].title()
			}
		}
		if digits >= digitsLength {
			if at, found := l.digits[[digitsLength]byte(lower[i+1-digitsLength:i+1])]; found {
				return string(lower[i+1-digitsLength : i+1]), corpus()[at].title()
			}
		}
	}
	return "", ""
}

func (p *payload) title() string { return p.Family + ": " + p.Name }

// withoutTheEchoed takes out of an answer what may be repeated: the JSON-RPC id, and the result of a successful call.
func (p *payload) withoutTheEchoed(w want, got answer) []byte {
	raw := got.raw
	if w.ID != "" && w.ID != "1" {
		raw = bytes.Replace(raw, []byte(`"id":`+w.ID), []byte(`"id":`), 1)
	}
	if p.Family == "echoes" && w.Call == carried {
		// Its own alone: what stands of another's in a result came out of a buffer.
		if at := bytes.Index(raw, []byte(`"result":`)); at >= 0 {
			own := strings.NewReplacer(p.canary.Value, "", p.canary.Key, "", p.canary.Digits, "")
			raw = append(bytes.Clone(raw[:at]), own.Replace(string(raw[at:]))...)
		}
	}
	return raw
}

// answerHeaders are all headers that an answer may have; the page of the metrics has one more.
var answerHeaders = strings.Fields("Allow Cache-Control Connection Content-Length Content-Type Date Retry-After Www-Authenticate X-Content-Type-Options")
