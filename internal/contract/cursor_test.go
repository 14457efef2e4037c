package contract_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

func TestCursor_roundTrip(t *testing.T) {
	for _, hash := range []string{vectorName, "0", "zzzzzzzzzzzzzzzzzzzzzzzzz"} {
		cursor := contract.EncodeCursor(hash)
		if strings.ContainsAny(cursor, "=+/") || len(cursor) > 256 {
			t.Errorf("cursor %q is not unpadded base64url", cursor)
		}
		if got, err := contract.DecodeCursor(cursor); err != nil || got != hash {
			t.Errorf("decoded %q (%v), want %q", got, err, hash)
		}
	}
}

func TestDecodeCursor_refuses(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	good := contract.EncodeCursor(vectorName)
	for _, row := range []struct{ name, in string }{
		{"empty", ""},
		{"not base64", "!!!"},
		{"padding", base64.URLEncoding.EncodeToString([]byte("\x01abc")) + "="},
		{"another version", encode([]byte("\x02" + vectorName))},
		{"no version", encode([]byte(vectorName))},
		{"no hash", encode([]byte{1})},
		{"a capital", encode([]byte("\x01ABC"))},
		{"too long a hash", encode([]byte("\x01" + strings.Repeat("a", 26)))},
		{"a line break", good[:4] + "\n" + good[4:]},
		{"longer than 256 bytes", strings.Repeat("A", 257)},
		{"stray bits", encode([]byte("\x01a"))[:2] + "_"},
		{"standard alphabet", "AWFi+/"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := contract.DecodeCursor(row.in); !errors.Is(err, contract.ErrCursor) || got != "" {
				t.Errorf("decoded %q (%v)", got, err)
			}
		})
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(contract.EncodeCursor(vectorName))
	f.Add("")
	f.Add("AWE\n")
	f.Add(strings.Repeat("A", 300))
	f.Fuzz(func(t *testing.T, s string) {
		last, err := contract.DecodeCursor(s)
		if err != nil {
			if strings.Contains(err.Error(), s) && s != "" && len(s) > 3 {
				t.Errorf("the error repeats the cursor %q", s)
			}
			return
		}
		if again := contract.EncodeCursor(last); again != s {
			t.Errorf("%q decodes to %q, which encodes to %q", s, last, again)
		}
	})
}
