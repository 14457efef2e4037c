package contract_test

import (
	"strings"
	"testing"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

const orders = `
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto";
message Order {
  int32 unit_price = 1;
  bool open = 2;
  repeated Line lines = 3;
  map<string, Line> by_name = 4;
  google.protobuf.Struct free = 5;
  google.protobuf.Any other = 6;
  google.protobuf.Timestamp placed = 7;
  Order replaces = 8;
  oneof how { string card = 9; string voucher = 10; }
}
message Line { int32 count = 1; string sku = 2; }
message None {}
`

// What a policy names in the arguments must be something that arguments can have.
func TestCompile_policyReads(t *testing.T) {
	for _, row := range []struct {
		policy string
		want   string // part of the conflict; empty for none
	}{
		{`arguments.unitPrice < 5`, ""},
		{`arguments['unitPrice'] < 5`, ""},
		{`arguments[participant.id] == 5`, ""},
		{`!has(arguments.card) || arguments.card == ''`, ""},
		{`arguments.lines.all(l, l.count < 5) && arguments.lines[0].sku != ''`, ""},
		{`arguments.byName.all(k, k != '') && arguments.byName['x'].count == 1 && arguments.byName.x.sku != ''`, ""},
		{`arguments.free.anything.at.all == 1 && arguments.other['@type'] == 'x'`, ""},
		{`arguments.replaces.replaces.open`, ""},
		{`timestamp(arguments.placed) < timestamp('2030-01-01T00:00:00Z')`, ""},
		{`'card' in arguments`, ""},
		{`arguments.all(k, k != 'free')`, ""},

		{`arguments.unit_price < 5`, "the policy names arguments.unit_price, and arguments has no such field: its fields are unitPrice, open, lines, byName"},
		{`arguments.unitPrise < 5`, "arguments.unitPrise"},
		{`arguments['unitPrise'] < 5`, "arguments.unitPrise"},
		{`!has(arguments.crad) || arguments.card == ''`, "arguments.crad"},
		{`!('crad' in arguments)`, "arguments.crad"},
		{`arguments.how == 'card'`, "arguments.how"},
		{`arguments.lines.all(l, l.number < 5)`, "the policy names arguments.lines[].number, and arguments.lines[] has no such field: its fields are count, sku"},
		{`arguments.lines.count > 5`, "arguments.lines is an array: name an item of it by its number, or visit them all with all() or exists()"},
		{`arguments.byName.x.number == 1`, "arguments.byName.x has no such field"},
		{`arguments.byName.all(k, k.count == 1)`, "the policy names arguments.byName[].count, and arguments.byName[] has no fields: it is a text"},
		{`arguments.unitPrice.units == 1`, "arguments.unitPrice has no fields: it is a number"},
		{`arguments.open.x == 1`, "it is a boolean"},
		{`arguments.placed.seconds == 1`, "arguments.placed has no fields: it is a text"},
		{`arguments.replaces.replaces.opne`, "the policy names arguments.replaces.replaces.opne, and arguments.replaces.replaces has no such field"},
	} {
		s := source(t, orders+`service S { rpc Place(Order) returns (Res) { option (sallyport.tool.v1.tool) = {access: {policy: "`+row.policy+`"}}; } }`)
		if row.want == "" {
			compile(t, s)
			continue
		}
		if got := conflicts(t, s); !strings.HasPrefix(got[0].Problem, "tool: access: ") || !strings.Contains(got[0].Problem, row.want) || got[0].Line == 0 {
			t.Errorf("%s: %+v", row.policy, got)
		}
	}
	t.Run("no fields at all", func(t *testing.T) {
		s := source(t, orders+`service S { rpc Place(None) returns (Res) { option (sallyport.tool.v1.tool) = {access: {policy: "arguments.x == 1"}}; } }`)
		if got := conflicts(t, s); !strings.HasSuffix(got[0].Problem, "arguments has no fields") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the names of the profile count", func(t *testing.T) {
		place := `service S { rpc Place(Order) returns (Res) {
  option (sallyport.tool.v1.tool) = {json_profile: "proto" access: {policy: "arguments.NAME > 1"}}; } }`
		compile(t, source(t, orders+strings.Replace(place, "NAME", "unit_price", 1)))
		if got := conflicts(t, source(t, orders+strings.Replace(place, "NAME", "unitPrice", 1))); !strings.Contains(got[0].Problem, "its fields are unit_price") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("said in code", func(t *testing.T) {
		s := source(t, orders+`service S { rpc Place(Order) returns (Res); }`,
			&registryv1.Overlay{Function: "acme.S/Place", Tool: &toolv1.Tool{Access: &toolv1.Access{Policy: "arguments.x == 1"}}})
		if got := conflicts(t, s); !strings.HasPrefix(got[0].Problem, "the description in code: access: the policy names arguments.x") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a stored contract is not judged again", func(t *testing.T) {
		s := source(t, orders+`service S { rpc Place(Order) returns (Res) { option (sallyport.tool.v1.tool) = {access: {policy: "arguments.x == 1"}}; } }`)
		s.RulesChecked = true
		compile(t, s)
	})
}

// The policy of a service holds for RPCs with other arguments, too: what some do not have it may ask for.
func TestCompile_policyReadsOfAService(t *testing.T) {
	service := func(policy, rpcs string) string {
		return orders + `service S { option (sallyport.tool.v1.service) = {access: {policy: "` + policy + `"}}; ` + rpcs + ` }`
	}
	const both = `rpc Place(Order) returns (Res); rpc Find(Req) returns (Res);`
	for _, row := range []struct {
		name, policy, rpcs string
		conflict, warning  string // empty for none
	}{
		{"all have it", `arguments.id != ''`, `rpc Find(Req) returns (Res); rpc Get(Req) returns (Res);`, "", ""},
		{"one does not", `arguments.id != ''`, both, "",
			"acme.S/Place: access: the policy names arguments.id, and arguments has no such field: its fields are unitPrice"},
		{"it is asked for", `!has(arguments.id) || arguments.id != ''`, both, "", ""},
		{"and so is what it is in", `!has(arguments.replaces) || arguments.replaces.open`, both, "", ""},
		{"nobody has it", `arguments.idd != ''`, both, "acme.S: access: the policy names arguments.idd, and", ""},
		{"nobody has what is asked for", `!has(arguments.idd) || participant.id != ''`, both, "acme.S: access: the policy names arguments.idd, and", ""},
		{"an RPC has an access of its own", `arguments.id != ''`,
			`rpc Find(Req) returns (Res); rpc Place(Order) returns (Res) { option (sallyport.tool.v1.tool) = {access: {}}; }`, "", ""},
		{"an RPC is excluded", `arguments.id != ''`,
			`rpc Find(Req) returns (Res); rpc Place(Order) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; }`, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, service(row.policy, row.rpcs))
			if row.conflict != "" {
				if got := conflicts(t, s); len(got) != 1 || !strings.HasPrefix(got[0].String(), row.conflict) || got[0].Line == 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			warnings := compile(t, s).Warnings
			if row.warning == "" && len(warnings) > 0 || row.warning != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0], row.warning)) {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
	t.Run("an inherited policy", func(t *testing.T) {
		inheriting := orders + `service Base { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {access: {policy: "POLICY"}}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc Find(Order) returns (Res); }`
		c := compile(t, source(t, strings.Replace(inheriting, "POLICY", "arguments.id != ''", 1)))
		if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "acme.S/Find: access: the policy names arguments.id") {
			t.Errorf("warnings %q", c.Warnings)
		}
		c = compile(t, source(t, strings.Replace(inheriting, "POLICY", "!has(arguments.id) || arguments.id != ''", 1)))
		if len(c.Warnings) != 0 {
			t.Errorf("warnings %q", c.Warnings)
		}
	})
}
