package redact

import (
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// number is one value that numbers of the texts spell, and where.
type number struct {
	at   [][2]int // places in the index, from and to
	mark mark
}

// unitDigits is how many digits a number must have to be found with a unit joined to it, as in 30000ms: shorter ones
// begin too many names.
const unitDigits = 4

// addNumbers finds the numbers in a view of the index: those that are whole tokens, by value, so that 1e2 is found as
// 100. What dots join is a version or an address and no number. A comma between groups of three digits is read both ways.
func (ix *index) addNumbers(start, end int) {
	for i := start; i < end; i++ {
		if !isDigit(ix.exact[i]) {
			continue
		}
		ix.digits = true
		if i > start && (word(ix.exact[i-1]) || ix.exact[i-1] == '.' && i > start+1 && isDigit(ix.exact[i-2])) {
			continue
		}
		grouped := ix.digitsEnd(i, end)
		for groups := 0; grouped < end && ix.exact[grouped] == ',' && ix.digitsEnd(grouped+1, end) == grouped+4; groups++ {
			grouped += 4
		}
		ix.addNumber(start, i, ix.numberEnd(grouped, end), end)
		plain := ix.digitsEnd(i, end)
		next := plain
		if grouped != plain {
			next = ix.numberEnd(plain, end)
			ix.addNumber(start, i, next, end)
		}
		i = next - 1
	}
}

// digitsEnd is the place behind the digits that begin at i.
func (ix *index) digitsEnd(i, end int) int {
	for i < end && isDigit(ix.exact[i]) {
		i++
	}
	return i
}

// numberEnd is the place behind a number whose whole part ends at i: behind its fraction and its exponent.
func (ix *index) numberEnd(i, end int) int {
	if i < end && ix.exact[i] == '.' {
		if fraction := ix.digitsEnd(i+1, end); fraction > i+1 {
			i = fraction
		}
	}
	if i < end && (ix.exact[i] == 'e' || ix.exact[i] == 'E') {
		exponent := i + 1
		if exponent < end && (ix.exact[exponent] == '+' || ix.exact[exponent] == '-') {
			exponent++
		}
		if behind := ix.digitsEnd(exponent, end); behind > exponent {
			i = behind
		}
	}
	return i
}

// addNumber notes the number from i to j of a view, and its negative where a minus belongs to it.
func (ix *index) addNumber(start, i, j, end int) {
	if j < end && word(ix.exact[j]) && j-i < unitDigits {
		return
	}
	if j+1 < end && ix.exact[j] == '.' && isDigit(ix.exact[j+1]) {
		return
	}
	text := strings.ReplaceAll(string(ix.exact[i:j]), ",", "")
	ix.noteNumber(text, i, j)
	if i > start && ix.exact[i-1] == '-' && !(i > start+1 && word(ix.exact[i-2])) {
		ix.noteNumber("-"+text, i-1, j)
	}
}

func (ix *index) noteNumber(text string, i, j int) {
	d, ok := schema.ParseDecimal(text)
	if !ok {
		return
	}
	n := ix.numbers[d]
	if n == nil {
		n = &number{}
		ix.numbers[d] = n
	}
	n.at = append(n.at, [2]int{i, j})
}

// momentEnd is the place behind the fraction and the offset, with its name, of a moment whose seconds end at i.
func (ix *index) momentEnd(i int) int {
	if r := ix.at(i); r == '.' || r == ',' {
		if end := ix.digitsEnd(i+1, len(ix.exact)); end > i+1 {
			i = end
		}
	}
	switch ix.at(i) {
	case 'Z', 'z':
		return i + 1
	case ' ':
		if name := string(ix.exact[i+1 : min(i+4, len(ix.exact))]); name == "UTC" || name == "GMT" {
			return i + 4
		}
		if end := ix.offsetEnd(i + 1); end > i+1 {
			return ix.zoneNameEnd(end)
		}
		return i
	default:
		return ix.offsetEnd(i)
	}
}

// offsetEnd is the place behind an offset like +02:00 or +0200 at i, and i where there is none.
func (ix *index) offsetEnd(i int) int {
	if r := ix.at(i); r != '+' && r != '-' {
		return i
	}
	hours := ix.digitsEnd(i+1, len(ix.exact))
	switch {
	case hours == i+5:
		return hours
	case hours == i+3 && ix.at(hours) == ':' && ix.digitsEnd(hours+1, len(ix.exact)) == hours+3:
		return hours + 3
	}
	return i
}

// zoneNameEnd is the place behind the name of a zone like CEST, which Go prints behind an offset.
func (ix *index) zoneNameEnd(i int) int {
	if ix.at(i) != ' ' {
		return i
	}
	end := i + 1
	for 'A' <= ix.at(end) && ix.at(end) <= 'Z' {
		end++
	}
	if end == i+1 || end > i+6 || word(ix.at(end)) {
		return i
	}
	return end
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }
