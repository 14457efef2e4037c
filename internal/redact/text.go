package redact

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// text is something that a service wrote.
type text struct {
	// clean is the part of it that is read: valid UTF-8 without control characters.
	clean string
	// end is up to where it may be shown, in bytes. What is behind is there to recognise what it begins.
	end int
	// limit is how many characters of it are shown.
	limit int
}

// margin is how many characters at the end of a text that was cut are read and not shown. They may be the beginning of a
// value, too short to be recognised: fifteen characters, each of them escaped.
const margin = 128

// clean takes from a text of a service what is read of it to show at most limit characters: twice as many, since what is
// put in a value's place may be shorter than the value. Control characters and line separators become spaces, invalid
// UTF-8 the replacement character.
func clean(s string, limit int) text {
	s = strings.TrimSpace(s)
	var out strings.Builder
	t := text{limit: limit}
	read := 0
	for _, r := range s {
		if read == 2*limit {
			t.clean = out.String()
			t.end = bound(t.clean, 0, back(t.clean, margin))
			return t
		}
		read++
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			r = ' '
		}
		out.WriteRune(r) // the replacement character for a byte that is no UTF-8
	}
	t.clean = out.String()
	t.end = len(t.clean)
	return t
}

// back is the place count characters before the end of s.
func back(s string, count int) int {
	end := len(s)
	for range count {
		_, n := utf8.DecodeLastRuneInString(s[:end])
		end -= n
	}
	return end
}

// bound is the last place from start to end at which s can be cut without cutting a token: what is left of one might
// be a value of the caller's.
func bound(s string, start, end int) int {
	for end > start {
		before, n := utf8.DecodeLastRuneInString(s[:end])
		after, _ := utf8.DecodeRuneInString(s[end:])
		if end == len(s) || !word(before) || !word(after) {
			return end
		}
		end -= n
	}
	return start
}

// redact looks every value of the arguments up in the texts, and returns them as they may be shown. An error is that of
// arguments which could not be read: nothing may be shown then.
func redact(doc *schema.Document, arguments []byte, texts []text) ([]string, error) {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = t.clean
	}
	found, err := find(doc, arguments, all)
	if err != nil {
		return nil, err
	}
	shown := make([]string, len(texts))
	for i, t := range texts {
		shown[i] = t.show(found[i])
	}
	return shown, nil
}

// find returns where values of the arguments stand in texts, in order, none within another.
func find(doc *schema.Document, arguments []byte, texts []string) ([][]span, error) {
	if strings.Join(texts, "") == "" {
		return make([][]span, len(texts)), nil
	}
	f := &finder{ix: newIndex(texts), doc: doc}
	err := Values(doc, arguments, func(v *Value) bool {
		f.look(v)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	all := f.ix.spans(len(texts))
	for i, spans := range all {
		// The first, the longest of those, the value that was given first.
		slices.SortFunc(spans, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.by, b.by))
		})
		covered := 0
		all[i] = slices.DeleteFunc(spans, func(s span) bool {
			if s.to <= covered {
				return true
			}
			covered = s.to
			return false
		})
	}
	return all, nil
}

// show writes the text with a path in braces in the place of each span. Where spans overlap, the part that both cover
// is written once.
func (t text) show(spans []span) string {
	w := writer{left: t.limit - 1} // one for the mark of what is missing
	covered, last := 0, ""
	for _, s := range spans {
		if s.from > t.end {
			break
		}
		if s.from > covered {
			w.text(t.clean, covered, s.from)
			last = ""
		}
		if s.path != last {
			w.path(s.path)
		}
		covered, last = s.to, s.path
	}
	if covered < t.end {
		w.text(t.clean, covered, t.end)
	}
	shown := strings.TrimSpace(w.out.String())
	if shown != "" && (w.full || t.end < len(t.clean)) {
		shown += "…"
	}
	return shown
}

// writer writes up to a limit.
type writer struct {
	out  strings.Builder
	left int // characters
	full bool
}

func (w *writer) text(s string, from, to int) {
	if w.full {
		return
	}
	end := from
	for i := range s[from:to] {
		if w.left == 0 {
			w.full = true
			end = bound(s, from, from+i)
			break
		}
		w.left--
		end = to
	}
	w.out.WriteString(s[from:end])
}

func (w *writer) path(path string) {
	if n := utf8.RuneCountInString(path) + 2; w.full || n > w.left {
		w.full = true
		return
	} else {
		w.left -= n
	}
	w.out.WriteString("{" + path + "}")
}
