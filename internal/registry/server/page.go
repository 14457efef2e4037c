package server

import (
	"encoding/base64"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	defaultPageSize = 100
	// tokenVersion begins every page token, so that a later form can be told from this one.
	tokenVersion = "1"
	// separator joins the parts of a place. It is in none of them, and orders before everything that is.
	separator = "\x00"
)

// page picks the items of one page out of all items, which pass in order. A token is the place of the last item, so
// that it survives changes of what is listed.
type page struct {
	after string // items up to this place are on earlier pages
	size  int
	taken int
	last  string
	more  bool
}

func newPage(size int32, token string) (*page, error) {
	p := &page{size: int(size)}
	if size == 0 {
		p.size = defaultPageSize
	}
	if token == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	place, ok := strings.CutPrefix(string(raw), tokenVersion)
	if err != nil || !ok {
		return nil, status.Error(codes.InvalidArgument, "page_token is not one that a page ended with")
	}
	p.after = place
	// An empty place is one too: that of the un-zoned zone.
	if place == "" {
		p.after = separator
	}
	return p, nil
}

// take reports whether the item at a place belongs to the page.
func (p *page) take(parts ...string) bool {
	place := strings.Join(parts, separator)
	if p.before(place) {
		return false
	}
	if p.full() {
		p.more = true
		return false
	}
	p.taken, p.last = p.taken+1, place
	return true
}

// before reports whether the place is on an earlier page.
func (p *page) before(place string) bool {
	return p.after != "" && (place <= p.after || place == "")
}

// past reports whether everything under a place is on earlier pages.
func (p *page) past(parts ...string) bool {
	prefix := strings.Join(parts, separator) + separator
	return p.after != "" && !strings.HasPrefix(p.after, prefix) && prefix < p.after
}

func (p *page) full() bool { return p.taken == p.size }

// next is the token of the next page; empty where there is none.
func (p *page) next() string {
	if !p.more {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(tokenVersion + p.last))
}
