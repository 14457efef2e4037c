package token

import "strings"

// Scopes is a set of scopes. The zero value is the empty one.
type Scopes uint8

// The scopes. Tools implies the other two.
const (
	// ToolsList is to list tools.
	ToolsList Scopes = 1 << iota
	// ToolsCall is to call them.
	ToolsCall
	// Tools is both.
	Tools

	all = ToolsList | ToolsCall | Tools
)

// names are the scopes in the order in which they are written.
var names = [...]struct {
	scope Scopes
	name  string
}{{Tools, "tools"}, {ToolsList, "tools:list"}, {ToolsCall, "tools:call"}}

// texts and lists hold every set in writing, so that none is put together on a request's path.
var texts, lists = write()

func write() (texts [all + 1]string, lists [all + 1][]string) {
	for s := range all + 1 {
		for _, n := range names {
			if s&n.scope != 0 {
				lists[s] = append(lists[s], n.name)
			}
		}
		texts[s] = strings.Join(lists[s], " ")
	}
	return texts, lists
}

// Names are the names of all scopes.
func Names() []string { return append([]string(nil), lists[all]...) }

// List gives the names in the set. The slice is shared: do not modify it.
func (s Scopes) List() []string { return lists[s&all] }

// String gives the names in the set with spaces between them, as tokens and requests write them.
func (s Scopes) String() string { return texts[s&all] }

// Permits reports whether the set permits what one scope is for: it is in the set, or implied by what is.
func (s Scopes) Permits(scope Scopes) bool { return s&(scope|Tools) != 0 || scope == 0 }

// ParseScopes reads names with one space between them (RFC 6749, 3.3). unknown says that others than ours are among
// them, or that the text is spelled otherwise; they are not in the set.
func ParseScopes(text string) (s Scopes, unknown bool) {
	for name := range strings.SplitSeq(text, " ") {
		known := false
		for _, n := range names {
			if n.name == name {
				s, known = s|n.scope, true
			}
		}
		unknown = unknown || !known
	}
	return s, unknown
}
