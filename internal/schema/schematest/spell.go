package schematest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// spell writes a value as JSON text in one of the many ways that mean the same: escapes in strings and names, other
// spellings of numbers, white space between tokens, members in another order. Half of the texts, and the simplest
// one, are compact and in the order given.
func spell(t *rapid.T, v *Value) string {
	seed := uint64(0)
	if rapid.Bool().Draw(t, "respelled") {
		seed = rapid.Uint64().Draw(t, "spelling")
	}
	s := &speller{}
	if seed != 0 {
		s.random = rand.New(rand.NewPCG(seed, 0))
		// Each way in some texts only, so that a failure is not buried in all of them.
		s.escapes, s.numbers = s.random.IntN(2) == 0, s.random.IntN(2) == 0
		s.blanks, s.order = s.random.IntN(3) == 0, s.random.IntN(2) == 0
	}
	s.blank()
	s.value(v)
	s.blank()
	return s.out.String()
}

// String writes a value compactly in the order given.
func (v *Value) String() string {
	s := &speller{}
	s.value(v)
	return s.out.String()
}

type speller struct {
	out                             strings.Builder
	random                          *rand.Rand // nil where nothing is left to chance
	escapes, numbers, blanks, order bool
}

func (s *speller) blank() {
	if s.blanks {
		for range max(s.random.IntN(6)-3, 0) {
			s.out.WriteByte(" \t\n\r"[s.random.IntN(4)])
		}
	}
}

func (s *speller) value(v *Value) {
	switch v.Kind {
	case 'n':
		s.out.WriteString("null")
	case 't':
		s.out.WriteString("true")
	case 'f':
		s.out.WriteString("false")
	case '"':
		s.text(v.Text)
	case '0':
		s.number(v.Text)
	case '{':
		order := make([]int, len(v.Members))
		for i := range order {
			order[i] = i
		}
		if s.order {
			order = s.random.Perm(len(order))
		}
		s.out.WriteByte('{')
		for i, at := range order {
			if i > 0 {
				s.out.WriteByte(',')
			}
			s.blank()
			s.text(v.Members[at].Name)
			s.blank()
			s.out.WriteByte(':')
			s.blank()
			s.value(v.Members[at].Value)
			s.blank()
		}
		s.blank()
		s.out.WriteByte('}')
	case '[':
		s.out.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				s.out.WriteByte(',')
			}
			s.blank()
			s.value(item)
			s.blank()
		}
		s.blank()
		s.out.WriteByte(']')
	}
}

// text writes a string, some characters of it as escapes that need not be.
func (s *speller) text(text string) {
	if !s.escapes {
		b, _ := jsontext.AppendQuote(nil, text)
		s.out.Write(b)
		return
	}
	s.out.WriteByte('"')
	for _, r := range text {
		must := r < 0x20 || r == '"' || r == '\\'
		if !must && s.random.IntN(4) > 0 {
			s.out.WriteRune(r)
			continue
		}
		if short := strings.IndexRune("\"\\/\b\f\n\r\t", r); short >= 0 && s.random.IntN(2) == 0 {
			s.out.WriteByte('\\')
			s.out.WriteByte(`"\/bfnrt`[short])
			continue
		}
		format := `\u%04x`
		if s.random.IntN(2) == 0 {
			format = `\u%04X`
		}
		if r > 0xFFFF {
			r -= 0x10000
			fmt.Fprintf(&s.out, format, 0xD800+r>>10)
			r = 0xDC00 + r&0x3FF
		}
		fmt.Fprintf(&s.out, format, r)
	}
	s.out.WriteByte('"')
}

// number writes a number's literal, or another one of the same value.
func (s *speller) number(literal string) {
	if s.numbers {
		if other, ok := s.respelled(literal); ok {
			literal = other
		}
	}
	s.out.WriteString(literal)
}

func (s *speller) respelled(literal string) (string, bool) {
	d, ok := schema.ParseDecimal(literal)
	if !ok || len(literal) > 40 {
		return "", false
	}
	if d.Sign() == 0 {
		// Minus zero is another double, but the same number: only a literal that says it keeps it.
		return strings.Repeat("-", strings.Count(literal[:1], "-")) + []string{"0", "0.0", "0e5", "0E-07", "0.000e+2"}[s.random.IntN(5)], true
	}
	// Digits and exponent, as Decimal writes them, with the point moved.
	text := d.String()
	mantissa, exponentText, _ := strings.Cut(strings.TrimPrefix(text, "-"), "e")
	sign := strings.Repeat("-", strings.Count(text[:1], "-"))
	var exponent int
	if _, err := fmt.Sscan(exponentText, &exponent); err != nil || exponent > 400 || exponent < -400 {
		return "", false
	}
	mantissa += strings.Repeat("0", s.random.IntN(3))
	exponent -= len(mantissa) - len(strings.TrimPrefix(text[:strings.IndexByte(text, 'e')], "-"))
	point := s.random.IntN(len(mantissa) + 1)
	exponent += len(mantissa) - point
	whole, fraction := mantissa[:point], mantissa[point:]
	if whole == "" {
		whole = "0"
	}
	if fraction == "" && s.random.IntN(2) == 0 {
		fraction = "0"
	}
	out := sign + whole
	if fraction != "" {
		out += "." + fraction
	}
	if exponent != 0 || s.random.IntN(3) == 0 {
		out += []string{"e", "E"}[s.random.IntN(2)]
		if exponent >= 0 {
			out += []string{"", "+", "0"}[s.random.IntN(3)]
		}
		out += fmt.Sprint(exponent)
	}
	return out, true
}
