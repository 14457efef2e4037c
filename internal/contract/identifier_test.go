package contract_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

func TestParseIdentifier(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     contract.Identifier
	}{
		{"a service", "srv://acme.v1.OrderService", contract.Identifier{Service: "acme.v1.OrderService"}},
		{"a function", "srv://acme.v1.OrderService/FindById", contract.Identifier{Service: "acme.v1.OrderService", Method: "FindById"}},
		{"with a zone", "srv://app.acme-org.orders-app~com.acme.OrderService/findById",
			contract.Identifier{Zone: "app.acme-org.orders-app", Service: "com.acme.OrderService", Method: "findById"}},
		{"with a scope", "srv://edge-1@system-api~etcdserverpb.KV/Range",
			contract.Identifier{Scope: "edge-1", Zone: "system-api", Service: "etcdserverpb.KV", Method: "Range"}},
		{"with a version", "srv://acme.S#2.1", contract.Identifier{Service: "acme.S", Version: "2.1"}},
		{"with everything", "srv://a@app-api~acme.S/M#v1", contract.Identifier{Scope: "a", Zone: "app-api", Service: "acme.S", Method: "M", Version: "v1"}},
		{"without a package", "srv://Service", contract.Identifier{Service: "Service"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := contract.ParseIdentifier(row.in)
			if err != nil || got != row.want {
				t.Errorf("got %+v (%v), want %+v", got, err, row.want)
			}
			if got.String() != row.in {
				t.Errorf("spelled %q", got)
			}
		})
	}
	for _, row := range []struct{ name, in string }{
		{"empty", ""},
		{"no scheme", "acme.S/M"},
		{"another scheme", "SRV://acme.S"},
		{"no service", "srv://"},
		{"an empty zone", "srv://~acme.S"},
		{"an empty method", "srv://acme.S/"},
		{"an empty scope", "srv://@acme.S"},
		{"an empty version", "srv://acme.S#"},
		{"a zone with a capital", "srv://App-api~acme.S"},
		{"a zone with an edge dash", "srv://app-~acme.S"},
		{"a zone with an empty label", "srv://app..x~acme.S"},
		{"a method with a dot", "srv://acme.S/M.N"},
		{"two methods", "srv://acme.S/M/N"},
		{"two zones", "srv://a~b~acme.S"},
		{"a service with a dash", "srv://acme-x.S"},
		{"overlong", "srv://" + strings.Repeat("a", 3000)},
	} {
		t.Run("refuses "+row.name, func(t *testing.T) {
			if got, err := contract.ParseIdentifier(row.in); err == nil {
				t.Errorf("parsed %+v", got)
			}
		})
	}
}

func TestTool_resource(t *testing.T) {
	s := source(t, `service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res); }`)
	s.Zone = "app.acme.orders"
	if got := tools(compile(t, s))["acme.S/Find"].Resource(); got != "srv://app.acme.orders~acme.S/Find" {
		t.Errorf("resource %s", got)
	}
	s.Zone = ""
	if got := tools(compile(t, s))["acme.S/Find"].Resource(); got != "srv://acme.S/Find" {
		t.Errorf("un-zoned resource %s", got)
	}
}

func FuzzParseIdentifier(f *testing.F) {
	for _, seed := range []string{"srv://a@app-api~acme.S/M#v1", "srv://acme.S", "srv://~@/#", "srv://a~b~c", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := contract.ParseIdentifier(s)
		if err == nil && id.String() != s {
			t.Errorf("%q parses to %+v, which is spelled %q", s, id, id)
		}
	})
}
