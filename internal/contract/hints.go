package contract

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// Hints say what a call does. All four are always served: the protocol's own default for an absent open-world hint is
// true, and a host takes an absent one for the worst.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// nameRule is one row of the word table of tools.md, "Hints".
type nameRule struct {
	matches func(words []string) bool
	hints   Hints
}

// nameRules is the table in its order: the first row that matches wins, and every word of a name counts.
var nameRules = [...]nameRule{
	{
		anyOf("save", "update", "put", "set", "upsert", "replace", "reset", "delete", "remove", "clear", "drop", "purge",
			"destroy", "truncate"),
		Hints{Destructive: true, Idempotent: true},
	},
	{endsInIfNotExist, Hints{Idempotent: true}},
	{
		anyOf("create", "add", "insert", "register", "send", "run", "start", "stop", "retry", "post", "publish", "submit",
			"invoke", "execute", "trigger", "cancel", "approve", "reject", "apply", "import", "move", "copy", "rename"),
		Hints{},
	},
	{
		anyOf("find", "get", "list", "search", "count", "query", "read", "fetch", "is", "has", "exists", "load"),
		Hints{ReadOnly: true},
	},
}

func anyOf(table ...string) func([]string) bool {
	return func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(table, w) })
	}
}

func endsInIfNotExist(words []string) bool {
	n := len(words)
	return n >= 3 && words[n-3] == "if" && words[n-2] == "not" && (words[n-1] == "exist" || words[n-1] == "exists")
}

// declaredHints are the hints of the declaration that describes a function: exactly what it says, false included.
func declaredHints(t *toolv1.Tool) Hints {
	return Hints{
		ReadOnly:    t.GetReadOnlyHint(),
		Destructive: t.GetDestructiveHint(),
		Idempotent:  t.GetIdempotentHint(),
		OpenWorld:   t.GetOpenWorldHint(),
	}
}

// inferredHints are the hints of a function that nothing declares: from proto's own idempotency level where it is set,
// else from the name.
func inferredHints(method string, level descriptorpb.MethodOptions_IdempotencyLevel) Hints {
	switch level {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		return Hints{ReadOnly: true, Idempotent: true}
	case descriptorpb.MethodOptions_IDEMPOTENT:
		return Hints{Idempotent: true}
	default:
		return hintsByName(method)
	}
}

func hintsByName(method string) Hints {
	split := words(method)
	for i, w := range split {
		split[i] = strings.ToLower(w)
	}
	for _, rule := range nameRules {
		if rule.matches(split) {
			return rule.hints
		}
	}
	return Hints{}
}
