package contract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDescription is the length of the longest description, in characters.
const maxDescription = 4096

// cutDescription shortens a text to what a description may have: at the end of a sentence, else between two words,
// else anywhere.
func cutDescription(text string) (cut string, shortened bool) {
	if utf8.RuneCountInString(text) <= maxDescription {
		return text, false
	}
	end := 0
	for range maxDescription {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	kept := text[:end]
	next, _ := utf8.DecodeRuneInString(text[end:])
	for i := len(kept) - 1; i > 0; i-- {
		if c := kept[i]; c != '.' && c != '!' && c != '?' {
			continue
		}
		if i == len(kept)-1 && unicode.IsSpace(next) || i < len(kept)-1 && isSpace(kept[i+1]) {
			return kept[:i+1], true
		}
	}
	if i := strings.LastIndexFunc(kept, unicode.IsSpace); i > 0 && !unicode.IsSpace(next) {
		kept = kept[:i]
	}
	return strings.TrimRightFunc(kept, unicode.IsSpace), true
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
