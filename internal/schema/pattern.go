package schema

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// portablePattern writes an RE2 pattern with what RE2 and ECMA-262 read alike, or reports that it cannot. The dot, \s
// and case folding mean different things there, so they are written out as classes; multi-line anchors and characters
// beyond the basic plane, which an ECMA-262 engine counts in halves without its u flag, are not portable.
func portablePattern(pattern string) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var out strings.Builder
	if !portable(&out, re) || out.Len() > 4096 {
		return "", false
	}
	return out.String(), true
}

func portable(out *strings.Builder, re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r > 0xFFFF {
				return false
			}
			if re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(r) != r {
				out.WriteByte('[')
				for f, done := r, false; !done; done = f == r {
					classRune(out, f)
					f = unicode.SimpleFold(f)
				}
				out.WriteByte(']')
				continue
			}
			writeRune(out, r)
		}
		return true
	case syntax.OpCharClass:
		return class(out, re.Rune)
	case syntax.OpAnyCharNotNL:
		out.WriteString(`[^\n]`)
		return true
	case syntax.OpAnyChar:
		out.WriteString(`[\s\S]`)
		return true
	case syntax.OpBeginText:
		out.WriteByte('^')
		return true
	case syntax.OpEndText:
		out.WriteByte('$')
		return true
	case syntax.OpWordBoundary:
		out.WriteString(`\b`)
		return true
	case syntax.OpNoWordBoundary:
		out.WriteString(`\B`)
		return true
	case syntax.OpCapture:
		return group(out, re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return repeat(out, re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			ok := false
			if sub.Op == syntax.OpAlternate {
				ok = group(out, sub)
			} else {
				ok = portable(out, sub)
			}
			if !ok {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				out.WriteByte('|')
			}
			if !portable(out, sub) {
				return false
			}
		}
		return true
	}
	return false // multi-line anchors, and a class that matches nothing
}

func group(out *strings.Builder, re *syntax.Regexp) bool {
	out.WriteString("(?:")
	if !portable(out, re) {
		return false
	}
	out.WriteByte(')')
	return true
}

func repeat(out *strings.Builder, re *syntax.Regexp) bool {
	sub := re.Sub[0]
	ok := false
	switch {
	case sub.Op == syntax.OpCharClass, sub.Op == syntax.OpAnyChar, sub.Op == syntax.OpAnyCharNotNL, sub.Op == syntax.OpCapture,
		sub.Op == syntax.OpLiteral && len(sub.Rune) == 1:
		ok = portable(out, sub)
	case sub.Op == syntax.OpBeginText, sub.Op == syntax.OpEndText, sub.Op == syntax.OpWordBoundary, sub.Op == syntax.OpNoWordBoundary:
		return false // a repeated assertion is an error in ECMA-262
	default:
		ok = group(out, sub)
	}
	if !ok {
		return false
	}
	switch re.Op {
	case syntax.OpStar:
		out.WriteByte('*')
	case syntax.OpPlus:
		out.WriteByte('+')
	case syntax.OpQuest:
		out.WriteByte('?')
	default:
		switch re.Max {
		case re.Min:
			fmt.Fprintf(out, "{%d}", re.Min)
		case -1:
			fmt.Fprintf(out, "{%d,}", re.Min)
		default:
			fmt.Fprintf(out, "{%d,%d}", re.Min, re.Max)
		}
	}
	// Greed decides what is captured and not whether there is a match.
	return true
}

// class writes a set of characters given as pairs of ends. A set that holds all characters beyond the basic plane is
// written by what it lacks.
func class(out *strings.Builder, ranges []rune) bool {
	if len(ranges) == 0 {
		return false
	}
	negated := ranges[len(ranges)-1] == unicode.MaxRune
	if negated {
		var lacks []rune
		next := rune(0)
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] > next {
				lacks = append(lacks, next, ranges[i]-1)
			}
			next = ranges[i+1] + 1
		}
		ranges = lacks
	}
	if slices.ContainsFunc(ranges, func(r rune) bool { return r > 0xFFFF }) {
		return false
	}
	if len(ranges) == 0 {
		out.WriteString(`[\s\S]`)
		return true
	}
	out.WriteByte('[')
	if negated {
		out.WriteByte('^')
	}
	for i := 0; i < len(ranges); i += 2 {
		classRune(out, ranges[i])
		if ranges[i+1] > ranges[i]+1 {
			out.WriteByte('-')
		}
		if ranges[i+1] > ranges[i] {
			classRune(out, ranges[i+1])
		}
	}
	out.WriteByte(']')
	return true
}

// classRune writes one character inside a class, where a dash is syntax too.
func classRune(out *strings.Builder, r rune) {
	if r == '-' {
		out.WriteByte('\\')
	}
	writeRune(out, r)
}

// writeRune writes one character, escaped where it is syntax in RE2 or in the unicode mode of ECMA-262.
func writeRune(out *strings.Builder, r rune) {
	switch {
	case strings.ContainsRune(`^$\.*+?()[]{}|`, r):
		out.WriteByte('\\')
		out.WriteRune(r)
	case r == '\n':
		out.WriteString(`\n`)
	case r == '\r':
		out.WriteString(`\r`)
	case r == '\t':
		out.WriteString(`\t`)
	case r < 0x20 || r == 0x7F:
		fmt.Fprintf(out, `\x%02x`, r)
	default:
		out.WriteRune(r)
	}
}
