package contract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// words splits the name of an RPC or a service into its words as they are spelled (tools.md, "Description"). A word
// begins at an underscore, at a capital after a small letter or a digit, and at the last capital of a run that a small
// letter follows, so that runs of capitals stay together: `GetHTTPStatus` is Get, HTTP, Status. The plural s of such
// a run belongs to it: `ListIDs` is List, IDs. Digits belong to what stands before them.
func words(name string) []string {
	var out []string
	runes := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, string(runes[start:end]))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case r == '_':
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r):
			if !unicode.IsUpper(runes[i-1]) || beginsWord(runes, i) {
				cut(i)
			}
		}
	}
	cut(len(runes))
	return out
}

// beginsWord reports whether the capital at i, which stands after another one, begins a new word.
func beginsWord(runes []rune, i int) bool {
	if i+1 >= len(runes) || !unicode.IsLower(runes[i+1]) {
		return false
	}
	plural := runes[i+1] == 's' && (i+2 >= len(runes) || !unicode.IsLower(runes[i+2]))
	return !plural
}

// nameTitle is the name as capitalised words: `findById` gives `Find By Id`.
func nameTitle(name string) string {
	split := words(name)
	for i, w := range split {
		split[i] = capitalised(w)
	}
	return strings.Join(split, " ")
}

// nameSentence is the name as a sentence: `findByRepoFullName` gives `Find by repo full name`.
func nameSentence(name string) string {
	split := words(name)
	for i, w := range split {
		if !isRun(w) {
			w = strings.ToLower(w)
		}
		if i == 0 {
			w = capitalised(w)
		}
		split[i] = w
	}
	return strings.Join(split, " ")
}

// isRun reports whether a word is spelled in capitals: HTTP, V2, IDs.
func isRun(word string) bool {
	first, n := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(first) || len(word) == n {
		return false
	}
	rest := word[n:]
	if len(rest) > 1 {
		rest = strings.TrimSuffix(rest, "s")
	}
	return strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsUpper(r) && !unicode.IsDigit(r) }) < 0
}

func capitalised(word string) string {
	r, n := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[n:]
}
