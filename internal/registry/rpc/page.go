package rpc

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

// Page picks the items of one page out of all items, which pass in order. A token is the place of the last item, so
// that it survives changes of what is listed.
type Page struct {
	after string // items up to this place are on earlier pages
	size  int
	taken int
	last  string
	more  bool
}

// PageSize is how many items a page of the size that was asked for has.
func PageSize(asked int32) int {
	if asked == 0 {
		return defaultPageSize
	}
	return int(asked)
}

// Token is the token of a page that ended at a place.
func Token(place string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenVersion + place))
}

// PlaceOf reads a token.
func PlaceOf(token string) (place string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	place, ok := strings.CutPrefix(string(raw), tokenVersion)
	if err != nil || !ok {
		return "", status.Error(codes.InvalidArgument, "page_token is not one that a page ended with")
	}
	return place, nil
}

// NewPage begins a page of the size, 0 for the default, after the page that ended with the token.
func NewPage(size int32, token string) (*Page, error) {
	p := &Page{size: PageSize(size)}
	if token == "" {
		return p, nil
	}
	place, err := PlaceOf(token)
	if err != nil {
		return nil, err
	}
	p.after = place
	// An empty place is one too: that of the un-zoned zone.
	if place == "" {
		p.after = separator
	}
	return p, nil
}

// Take reports whether the item at a place belongs to the page.
func (p *Page) Take(parts ...string) bool {
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
func (p *Page) before(place string) bool {
	return p.after != "" && (place <= p.after || place == "")
}

// Past reports whether everything under a place is on earlier pages.
func (p *Page) Past(parts ...string) bool {
	prefix := strings.Join(parts, separator) + separator
	return p.after != "" && !strings.HasPrefix(p.after, prefix) && prefix < p.after
}

// More reports whether an item came after the page was full.
func (p *Page) More() bool { return p.more }

func (p *Page) full() bool { return p.taken == p.size }

// Next is the token of the next page; empty where there is none.
func (p *Page) Next() string {
	if !p.more {
		return ""
	}
	return Token(p.last)
}
