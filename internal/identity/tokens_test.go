package identity_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
)

// A page token that somebody made up, or got from another organization, leads to nothing of others.
func TestPageTokens_madeUp(t *testing.T) {
	h := newHouse(t)
	for _, m := range rpcs(t) {
		tokens := m.Input().Fields().ByName("page_token")
		if tokens == nil || m.Parent().Name() != "IdentityService" {
			continue
		}
		for _, place := range []string{"", "\x00", "/", "../acme/", "../../", "acme", "acme.a", "acme/", "acme/a", "acme/refunder", "_/", "~", "\xff\xff", "zzz/zzz",
			"ada@acme.example", h.delegates["acme"]} {
			req := request(t, m, "", "", "")
			req.ProtoReflect().Set(tokens, protoreflect.ValueOfString(rpc.Token(place)))
			answer, err := h.call(h.as("other.admin"), m, req)
			h.must(err)
			for _, theirs := range []string{"acme", "platform-admin", "user-manager", "system."} {
				if text := prototext.Format(answer); strings.Contains(text, theirs) {
					t.Errorf("%s after %q gives %s:\n%s", m.Name(), place, theirs, text)
				}
			}
		}
	}
}
