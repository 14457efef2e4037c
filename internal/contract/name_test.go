package contract_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

const (
	vectorQualified = "app.acme-org.orders-app~com.acme.OrderService"
	vectorMethod    = "findById"
	vectorName      = "5nwldv2gqljeygvmd1ywjl2z7"
	vectorXXHSum    = "c563c606e5ddd5535fac237c46442922"
)

func TestToolName_vector(t *testing.T) {
	if got := contract.ToolName(vectorQualified, vectorMethod); got != vectorName {
		t.Errorf("got %s, want %s", got, vectorName)
	}
	if got := contract.QualifiedName("app.acme-org.orders-app", "com.acme.OrderService"); got != vectorQualified {
		t.Errorf("qualified name %s", got)
	}
	if got := contract.QualifiedName("", "com.acme.OrderService"); got != "com.acme.OrderService" {
		t.Errorf("un-zoned qualified name %s", got)
	}
}

// The second source of the vector: the xxHash authors' own program prints the high half first.
func TestToolName_agreesWithXXHSum(t *testing.T) {
	program, err := exec.LookPath("xxhsum")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("xxhsum is not installed: CI needs the package xxhash")
		}
		t.Skip("SKIP: xxhsum is not installed; it comes with the package xxhash")
	}
	for _, row := range []struct{ qualified, method string }{
		{vectorQualified, vectorMethod},
		{"acme.v1.OrderService", "FindById"},
		{"system-api~etcdserverpb.KV", "Range"},
		{"a", "b"},
		{strings.Repeat("long.", 60) + "Service", "Method"},
		{"zone~Ünïcode.Sërvice", "Méthod𝄞"},
	} {
		var input []byte
		for _, unit := range utf16.Encode([]rune(row.qualified + "/" + row.method)) {
			input = binary.LittleEndian.AppendUint16(input, unit)
		}
		cmd := exec.Command(program, "-H2")
		cmd.Stdin = strings.NewReader(string(input))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("run xxhsum: %v", err)
		}
		printed := strings.Fields(string(out))[0]
		if row.qualified == vectorQualified && printed != vectorXXHSum {
			t.Errorf("xxhsum prints %s for the vector, want %s", printed, vectorXXHSum)
		}
		sum, err := hex.DecodeString(printed)
		if err != nil || len(sum) != 16 {
			t.Fatalf("xxhsum prints %q", out)
		}
		swapped := append(append([]byte{}, sum[8:]...), sum[:8]...)
		want := new(big.Int).SetBytes(swapped).Text(36)
		if got := contract.ToolName(row.qualified, row.method); got != want {
			t.Errorf("%s/%s: got %s, xxhsum says %s", row.qualified, row.method, got, want)
		}
	}
}

func TestIsHash(t *testing.T) {
	for _, row := range []struct {
		name string
		in   string
		want bool
	}{
		{"a hash", vectorName, true},
		{"20 characters", strings.Repeat("a", 20), true},
		{"25 characters", strings.Repeat("9", 25), true},
		{"19 characters", strings.Repeat("a", 19), false},
		{"26 characters", strings.Repeat("a", 26), false},
		{"a capital", strings.Repeat("a", 19) + "B", false},
		{"a dash", strings.Repeat("a", 19) + "-", false},
		{"empty", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := contract.IsHash(row.in); got != row.want {
				t.Errorf("IsHash(%q) is %t", row.in, got)
			}
		})
	}
}

func TestCompile_alias(t *testing.T) {
	for _, row := range []struct {
		name, alias, problem string
	}{
		{"letters", "find_order", ""},
		{"all kinds of characters", "Find-Order_2", ""},
		{"64 characters", strings.Repeat("aB", 32), ""},
		{"65 characters", strings.Repeat("aB", 32) + "a", "longer than 64 characters"},
		{"a dot", "find.order", "outside [A-Za-z0-9_-]"},
		{"a blank", "find order", "outside [A-Za-z0-9_-]"},
		{"not ASCII", "trouvér", "outside [A-Za-z0-9_-]"},
		{"of the shape of a hash, 20", strings.Repeat("a", 20), "the shape of a hash"},
		{"of the shape of a hash, 25", vectorName, "the shape of a hash"},
		{"19 small letters", strings.Repeat("a", 19), ""},
		{"26 small letters", strings.Repeat("a", 26), ""},
		{"an underscore and a digit", "_2fa_enable", "begins with an underscore and a digit"},
		{"an underscore and a digit alone", "_7", "begins with an underscore and a digit"},
		{"an underscore and a letter", "_find", ""},
		{"two underscores and a digit", "__2fa", ""},
		{"an underscore alone", "_", ""},
		{"a digit", "2fa_enable", ""},
		{"20 with a dash", "find-the-order-by-id", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "`+row.alias+`"}; } }`)
			if row.problem != "" {
				wantConflict(t, conflicts(t, s), "acme.S/Find", row.problem)
				return
			}
			tool := tools(compile(t, s))["acme.S/Find"]
			if tool.Alias != row.alias {
				t.Errorf("alias %q", tool.Alias)
			}
			if tool.Name != contract.ToolName("acme.S", "Find") {
				t.Errorf("the hash does not stay beside the alias: %s", tool.Name)
			}
		})
	}
}

func TestCompile_aliasIsUniqueInItsZoneRoot(t *testing.T) {
	two := func(zoneA, zoneB string) string {
		return `
service A { option (sallyport.tool.v1.service) = {zone: "` + zoneA + `"};
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; } }
service B { option (sallyport.tool.v1.service) = {zone: "` + zoneB + `"};
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; } }`
	}
	for _, row := range []struct {
		name, zoneA, zoneB string
		clash              bool
	}{
		{"one zone", "app.acme.orders", "app.acme.orders", true},
		{"a sub-zone of the same application", "app.acme.orders", "app.acme.orders.billing", true},
		{"another application", "app.acme.orders", "app.acme.shop", false},
		{"another organization", "app.acme.orders", "app.umbrella.orders", false},
		{"platform zones", "app-api", "management-api", false},
		{"sub-zones of a platform zone", "app-api.a", "app-api.b", true},
		{"un-zoned", "", "", true},
		{"un-zoned and zoned", "", "app-api", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, two(row.zoneA, row.zoneB))
			if row.clash {
				wantConflict(t, conflicts(t, s), "acme.B/Find", `"find" is that of acme.A/Find too`)
				return
			}
			compile(t, s)
		})
	}
	t.Run("within one service", func(t *testing.T) {
		wantConflict(t, conflicts(t, source(t, `service A {
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; }
  rpc Seek(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; } }`)),
			"acme.A/Seek", `"find" is that of acme.A/Find too`)
	})
}
