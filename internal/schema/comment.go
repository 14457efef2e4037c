package schema

import (
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var (
	// A reference to another element: [Foo][pkg.Foo] or [pkg.Foo][], also broken over two lines.
	reference = regexp.MustCompile(`\[([^\[\]]+)\]\s?\[(?:[A-Za-z_.][A-Za-z0-9_.]*)?\]`)

	// Only the names HTML knows: List<String> and <your name> are text.
	htmlTag = regexp.MustCompile(`(?i)</?(?:a|abbr|aside|b|blockquote|br|caption|center|cite|code|dd|del|dfn|div|dl|dt|em|font|h[1-6]|hr|i|img|ins|kbd|li|nobr|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var)(?:\s[^<>]*)?/?>`)

	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)

	// Lines that speak to linters and documentation generators and not to a reader.
	directive = regexp.MustCompile(`^\s*(?:buf:lint:|@exclude\b|\(--|api-linter:|protolint:)`)
)

// CleanComment turns the text of a protobuf comment into a description: references become their text, HTML tags go
// (but not inside a code span), lint directives go, and with them blank lines at both ends and the indent that every
// line shares. A comment with nothing left is "". It is safe for concurrent use. The rule is tools.md, "Description".
func CleanComment(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = outsideCode(text, func(s string) string {
		s = htmlComment.ReplaceAllString(s, "")
		s = reference.ReplaceAllString(s, "$1")
		return htmlTag.ReplaceAllString(s, "")
	})
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if directive.MatchString(line) {
			continue
		}
		kept = append(kept, strings.TrimRight(line, " \t"))
	}
	for len(kept) > 0 && kept[0] == "" {
		kept = kept[1:]
	}
	for len(kept) > 0 && kept[len(kept)-1] == "" {
		kept = kept[:len(kept)-1]
	}
	indent := sharedIndent(kept)
	for i, line := range kept {
		if len(line) >= indent {
			kept[i] = line[indent:]
		}
	}
	return strings.Join(kept, "\n")
}

// outsideCode applies f to the stretches of s that are not between backticks. A backtick without a partner on its
// line opens nothing.
func outsideCode(s string, f func(string) string) string {
	var out strings.Builder
	for {
		open := strings.IndexByte(s, '`')
		if open < 0 {
			break
		}
		shut := strings.IndexAny(s[open+1:], "`\n")
		if shut < 0 || s[open+1+shut] == '\n' {
			// Lone: text up to and with it is ordinary.
			out.WriteString(f(s[:open]))
			out.WriteByte('`')
			s = s[open+1:]
			continue
		}
		end := open + 1 + shut + 1
		// A reference may hold a code span: [`Foo`][pkg.Foo].
		if strings.HasSuffix(s[:open], "[") && strings.HasPrefix(s[end:], "]") {
			if tail := strings.Index(s[end:], "]["); tail == 0 {
				if close := strings.IndexByte(s[end+2:], ']'); close >= 0 {
					out.WriteString(f(s[:open-1]))
					out.WriteString(s[open:end])
					s = s[end+2+close+1:]
					continue
				}
			}
		}
		out.WriteString(f(s[:open]))
		out.WriteString(s[open:end])
		s = s[end:]
	}
	out.WriteString(f(s))
	return out.String()
}

// sharedIndent counts the leading blanks that every line with text has.
func sharedIndent(lines []string) int {
	shared := -1
	for _, line := range lines {
		if line == "" {
			continue
		}
		n := len(line) - len(strings.TrimLeft(line, " \t"))
		if shared < 0 || n < shared {
			shared = n
		}
	}
	return max(shared, 0)
}

func fieldDescription(fd protoreflect.FieldDescriptor) string {
	if text := strings.TrimSpace(FieldOption(fd).GetDescription()); text != "" {
		return text
	}
	if text := leadingComment(fd); text != "" {
		return text
	}
	return trailingComment(fd)
}

func leadingComment(desc protoreflect.Descriptor) string {
	return CleanComment(desc.ParentFile().SourceLocations().ByDescriptor(desc).LeadingComments)
}

func trailingComment(desc protoreflect.Descriptor) string {
	return CleanComment(desc.ParentFile().SourceLocations().ByDescriptor(desc).TrailingComments)
}

func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
