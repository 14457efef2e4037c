package contract

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/participant"
)

const (
	identifierScheme = "srv://"
	maxIdentifier    = 2048
)

// Identifier names a service or a function in logs, audit lines and admin output (tools.md, "Resource identifiers"):
// `srv://[scope@][zone~]package.Service[/Method][#version]`. Case is kept, and two identifiers are the same only where
// they are equal.
type Identifier struct {
	Scope   string // free of the separators; empty where none is said
	Zone    string // empty for un-zoned
	Service string // fully qualified
	Method  string // the RPC's simple name; empty for the service itself
	Version string // empty where none is said
}

// String spells the identifier. [ParseIdentifier] reads back what it gives for a valid one.
func (id Identifier) String() string {
	var b strings.Builder
	b.WriteString(identifierScheme)
	if id.Scope != "" {
		b.WriteString(id.Scope + "@")
	}
	b.WriteString(QualifiedName(id.Zone, id.Service))
	if id.Method != "" {
		b.WriteString("/" + id.Method)
	}
	if id.Version != "" {
		b.WriteString("#" + id.Version)
	}
	return b.String()
}

// ParseIdentifier reads an identifier. A part whose separator is there may not be empty.
func ParseIdentifier(s string) (Identifier, error) {
	id, err := parseIdentifier(s)
	if err != nil {
		return Identifier{}, fmt.Errorf("resource identifier: %w", err)
	}
	return id, nil
}

func parseIdentifier(s string) (id Identifier, err error) {
	if len(s) > maxIdentifier {
		return id, fmt.Errorf("it is longer than %d characters", maxIdentifier)
	}
	rest, ok := strings.CutPrefix(s, identifierScheme)
	if !ok {
		return id, errors.New("it does not begin with srv://")
	}
	if before, after, found := strings.Cut(rest, "#"); found {
		if id.Version, rest = after, before; !isToken(id.Version) {
			return id, errors.New("the version after # is not 1 or more of [A-Za-z0-9._-]")
		}
	}
	if before, after, found := strings.Cut(rest, "@"); found {
		if id.Scope, rest = before, after; !isToken(id.Scope) {
			return id, errors.New("the scope before @ is not 1 or more of [A-Za-z0-9._-]")
		}
	}
	if before, after, found := strings.Cut(rest, "~"); found {
		id.Zone, rest = before, after
		if err := participant.CheckZone(id.Zone); err != nil {
			return id, err
		}
	}
	if before, after, found := strings.Cut(rest, "/"); found {
		if id.Method, rest = after, before; !protoreflect.Name(id.Method).IsValid() {
			return id, errors.New("what stands after / is not the name of an RPC")
		}
	}
	if id.Service = rest; !protoreflect.FullName(id.Service).IsValid() {
		return id, errors.New("it has no fully qualified service name")
	}
	return id, nil
}

// isToken reports whether s is 1 or more of [A-Za-z0-9._-].
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}
