package contract_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

func TestCompile_hintsByName(t *testing.T) {
	var (
		overwrites = contract.Hints{Destructive: true, Idempotent: true}
		ensures    = contract.Hints{Idempotent: true}
		reads      = contract.Hints{ReadOnly: true}
		acts       = contract.Hints{}
	)
	rows := map[string]contract.Hints{
		// The examples.
		"DeleteById":             overwrites,
		"CreatePersonIfNotExist": ensures,
		"PeopleCount":            reads,
		"GetOrCreatePerson":      acts,
		"NotifyPeople":           acts,
		// Every word counts, at every place and in every spelling.
		"OrderSave":               overwrites,
		"SaveIfNotExists":         overwrites,
		"GetAndDelete":            overwrites,
		"create_if_not_exists":    ensures,
		"createIfNotExists":       ensures,
		"EnsureIfNotExistsReally": reads,
		"findById":                reads,
		"list_items":              reads,
		"HTTPGet":                 reads,
		"MemberList":              reads,
		"IsReady":                 reads,
		"ListAndSend":             acts,
		// A word is a whole word.
		"Settle":    acts,
		"Issue":     acts,
		"Listen":    acts,
		"Status":    acts,
		"Range":     acts,
		"Recounted": acts,
	}
	for row, hints := range map[string]contract.Hints{
		"save update put set upsert replace reset delete remove clear drop purge destroy truncate":                                                            overwrites,
		"create add insert register send run start stop retry post publish submit invoke execute trigger cancel approve reject apply import move copy rename": acts,
		"find get list search count query read fetch is has exists load":                                                                                      reads,
	} {
		for _, word := range strings.Fields(row) {
			word = strings.ToUpper(word[:1]) + word[1:]
			rows[word] = hints
			rows["Order"+word] = hints
			rows[word+"Order"] = hints
		}
	}
	var text strings.Builder
	text.WriteString(`service S { option (sallyport.tool.v1.service) = {}; `)
	for method := range rows {
		text.WriteString("rpc " + method + "(Req) returns (Res);\n")
	}
	text.WriteString("}")
	all := tools(compile(t, source(t, text.String())))
	for method, want := range rows {
		t.Run(method, func(t *testing.T) {
			tool := all["acme.S/"+method]
			if tool.Hints != want {
				t.Errorf("hints %+v, want %+v", tool.Hints, want)
			}
			if tool.RepeatSafe {
				t.Error("a name alone makes the call safe to repeat")
			}
		})
	}
}

func TestCompile_declaredHints(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       contract.Hints
		repeatSafe bool
	}{
		{"a declaration that says nothing serves false", `rpc SaveAuditEntry(Req) returns (Res) { option (sallyport.tool.v1.tool) = {description: "Appends an audit entry"}; }`,
			contract.Hints{}, false},
		{"tool_info that says nothing serves false", `rpc SaveAuditEntry(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {}; }`,
			contract.Hints{}, false},
		{"all four as declared", `rpc Notify(Req) returns (Res) { option (sallyport.tool.v1.tool) = {read_only_hint: true destructive_hint: true idempotent_hint: true open_world_hint: true}; }`,
			contract.Hints{ReadOnly: true, Destructive: true, Idempotent: true, OpenWorld: true}, true},
		{"open world is declared only", `rpc FetchWorld(Req) returns (Res);`, contract.Hints{ReadOnly: true}, false},
		{"NO_SIDE_EFFECTS", `rpc SaveNothing(Req) returns (Res) { option idempotency_level = NO_SIDE_EFFECTS; }`,
			contract.Hints{ReadOnly: true, Idempotent: true}, true},
		{"IDEMPOTENT", `rpc GetOrCreate(Req) returns (Res) { option idempotency_level = IDEMPOTENT; }`,
			contract.Hints{Idempotent: true}, true},
		{"IDEMPOTENCY_UNKNOWN says nothing", `rpc Get(Req) returns (Res) { option idempotency_level = IDEMPOTENCY_UNKNOWN; }`,
			contract.Hints{ReadOnly: true}, false},
		{"a declaration beats the level in what is served", `rpc Get(Req) returns (Res) { option idempotency_level = NO_SIDE_EFFECTS; option (sallyport.tool.v1.tool) = {}; }`,
			contract.Hints{}, true},
		{"a declared idempotent hint makes repeating safe", `rpc Place(Req) returns (Res) { option (sallyport.tool.v1.tool) = {idempotent_hint: true}; }`,
			contract.Hints{Idempotent: true}, true},
		{"a declared read-only hint makes repeating safe", `rpc Place(Req) returns (Res) { option (sallyport.tool.v1.tool) = {read_only_hint: true}; }`,
			contract.Hints{ReadOnly: true}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			tool := one(t, `service S { option (sallyport.tool.v1.service) = {}; `+row.text+` }`)
			if tool.Hints != row.want {
				t.Errorf("hints %+v, want %+v", tool.Hints, row.want)
			}
			if tool.RepeatSafe != row.repeatSafe {
				t.Errorf("safe to repeat: %t", tool.RepeatSafe)
			}
		})
	}
}
