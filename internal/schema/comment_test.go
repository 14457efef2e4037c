package schema

import "testing"

func TestCleanComment(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"blank", " \n\n \n", ""},
		{"one line", " Finds an order.\n", "Finds an order."},
		{"uniform indent goes", "  One.\n    Two.\n  Three.\n", "One.\n  Two.\nThree."},
		{"blank lines at both ends go", "\n\n One.\n\n Two.\n\n", "One.\n\nTwo."},
		{"first line without indent keeps the others", "One.\n Two.", "One.\n Two."},
		{"reference becomes its text", " See [Order][acme.v1.Order].\n", "See Order."},
		{"empty reference becomes its text", " See [acme.v1.Order][].\n", "See acme.v1.Order."},
		{"reference over two lines", " See [Order]\n[acme.v1.Order].\n", "See Order."},
		{"reference to a code span", " See [`Order`][acme.v1.Order] now.\n", "See `Order` now."},
		{"indices are no reference", " m[0][1] stays.\n", "m[0][1] stays."},
		{"html tags go", " <p>Some <b>bold</b> <a href=\"x\">link</a><br/></p>\n", "Some bold link"},
		{"html comment goes", " One <!-- two\n --> three.\n", "One  three."},
		{"type parameters stay", " A map<string, int32> and List<String>.\n", "A map<string, int32> and List<String>."},
		{"code spans keep their tags", " Use `<b>` here <b>now</b>.\n", "Use `<b>` here now."},
		{"lone backtick", " It`s <b>so</b>.\n", "It`s so."},
		{"lint directive goes", " One.\n buf:lint:ignore ENUM_VALUE_PREFIX\n Two.\n", "One.\nTwo."},
		{"exclude goes", " @exclude internal\n Kept.\n", "Kept."},
		{"exclude alone", " @exclude\n", ""},
		{"windows line ends", " One.\r\n Two.\r\n", "One.\nTwo."},
		{"less-than stays", " a < b and b > c\n", "a < b and b > c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := CleanComment(row.in); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
