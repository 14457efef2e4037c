package strict_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/strict"
)

// The rows are boundary.md, "The decoder".
func TestLimits_Document(t *testing.T) {
	limits := strict.Limits{Depth: 3, Number: 5}
	syntax := func(err error) bool { var s *jsontext.SyntacticError; return errors.As(err, &s) }
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	none := func(err error) bool { return err == nil }
	for _, row := range []struct {
		name, text string
		want       func(error) bool
	}{
		{"an object", `{"a":[1,"x",null,true]}`, none},
		{"a scalar", ` 1 `, none},
		{"as deep as may be", `[[[]]]`, none},
		{"too deep", `[[[[]]]]`, is(strict.ErrDepth)},
		{"as long a number as may be", `[12345]`, none},
		{"too long a number", `[123456]`, is(strict.ErrNumber)},
		{"too long a number by itself", `123456`, is(strict.ErrNumber)},
		{"something after it", `{} {}`, is(strict.ErrTrailing)},
		{"a bracket after it", `{}]`, is(strict.ErrTrailing)},
		{"a name twice", `{"a":1,"a":2}`, is(jsontext.ErrDuplicateName)},
		{"a name twice, escaped", `{"a":1,"\u0061":2}`, is(jsontext.ErrDuplicateName)},
		{"a name twice within", `[{"b":{"a":1,"a":2}}]`, is(jsontext.ErrDuplicateName)},
		{"a comment", `{/**/}`, syntax},
		{"a trailing comma", `[1,]`, syntax},
		{"single quotes", `{'a':1}`, syntax},
		{"leading zero", `01`, func(err error) bool { return err != nil }},
		{"NaN", `NaN`, syntax},
		{"a raw control character", "\"\x01\"", syntax},
		{"invalid UTF-8", "\"\xff\"", syntax},
		{"a lone surrogate", `"\ud800"`, syntax},
		{"a byte order mark", "\ufeff{}", syntax},
		{"nothing", ``, func(err error) bool { return err != nil }},
		{"half", `{"a":`, func(err error) bool { return err != nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := limits.Document([]byte(row.text)); !row.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLimits_SkipLeavesWhatFollows(t *testing.T) {
	d := jsontext.NewDecoder(strings.NewReader(`{"a":[1]} "next"`), jsontext.AllowDuplicateNames(false))
	if err := (strict.Limits{Depth: 9, Number: 9}).Skip(d); err != nil {
		t.Fatal(err)
	}
	if v, err := d.ReadValue(); err != nil || string(v) != `"next"` {
		t.Errorf("got %s, %v", v, err)
	}
}
