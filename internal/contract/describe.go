package contract

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDescription is the length of the longest description, in characters.
const maxDescription = 4096

var (
	// reference is a cross-reference of a comment: `[text][pkg.Name]`, of which the text stays.
	reference = regexp.MustCompile(`\[([^\[\]]+)\]\[[^\[\]]*\]`)
	// internalNote is what API linters call an internal comment; it holds directives.
	internalNote = regexp.MustCompile(`(?s)\(--.*?--\)`)
	htmlComment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	// htmlTag names the elements, so that a placeholder such as `<project>` is not taken for one.
	htmlTag = regexp.MustCompile(`(?i)</?(?:a|abbr|article|b|big|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|i|img|ins|kbd|li|mark|nav|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var)(?:\s[^<>]*)?/?>`)
)

// directives begin the comment lines that are meant for tools and not for readers.
var directives = [...]string{"buf:lint:ignore", "buf:breaking:ignore", "protolint:", "@exclude"}

// CleanComment makes a description of a comment as descriptors carry it (tools.md, "Description"): blank lines around
// it and the indent that all its lines share are removed, references become their text, HTML tags and lint directives
// go. What is left may be empty.
func CleanComment(comment string) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(comment, "\r\n", "\n"), "\uFFFD")
	text = internalNote.ReplaceAllString(text, "")
	text = htmlComment.ReplaceAllString(text, "")
	text = htmlTag.ReplaceAllString(text, "")
	text = reference.ReplaceAllString(text, "$1")

	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if isDirective(line) {
			continue
		}
		// What a tag or a directive leaves behind is one blank line at most.
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	indent := sharedIndent(lines)
	for i, line := range lines {
		if line != "" {
			lines[i] = line[indent:]
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func isDirective(line string) bool {
	line = strings.TrimLeftFunc(line, unicode.IsSpace)
	for _, d := range directives {
		if strings.HasPrefix(line, d) {
			return true
		}
	}
	return false
}

// sharedIndent counts the blanks that every line that is not blank begins with.
func sharedIndent(lines []string) int {
	shared := -1
	for _, line := range lines {
		if line == "" {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if shared < 0 || indent < shared {
			shared = indent
		}
	}
	return max(shared, 0)
}

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
