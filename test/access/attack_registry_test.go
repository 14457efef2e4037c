package access_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/descriptorpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

// startRegistry serves a registry over the yard's etcd for the length of the test.
func (y *yard) startRegistry(t *testing.T) *grpc.ClientConn {
	t.Helper()
	cfg := &configv1.RegistryConfig{
		Store:      &configv1.RegistryConfig_Etcd{Etcd: &configv1.EtcdClient{Endpoints: []string{y.etcd.Endpoint()}}},
		GrpcListen: "127.0.0.1:0",
		Addresses:  []*configv1.ZoneAddresses{{Zone: "*", Ranges: []string{"127.0.0.1/32"}, Ports: []uint32{9001}}},
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, cfg, slog.New(slog.DiscardHandler), func(a server.Addresses) { ready <- a })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the registry ended with %v", err)
		}
	})
	var where server.Addresses
	select {
	case where = <-ready:
	case <-time.After(patience):
		t.Fatal("the registry is not ready")
	}
	conn, err := grpc.NewClient(where.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A team cannot register a policy that costs every caller's edge too much, nor one that is none: the registry refuses it
// and names the function.
func TestAttack_costlyPolicies(t *testing.T) {
	y := newYard(t)
	host := machine("host", participant.Organization("acme", ""))
	host.Kind = registryv1.MachineKind_MACHINE_KIND_HOST
	y.put(organization("acme"), application("acme", "orders"), host)
	client := registryv1.NewRegistryServiceClient(y.startRegistry(t))
	register := func(policy string) error {
		text := fmt.Sprintf(`syntax = "proto3";
package costly.v1;
import "sallyport/tool/v1/options.proto";
message Ask { string note = 1; repeated string notes = 2; }
service CostlyService {
  rpc Refund(Ask) returns (Ask) { option (sallyport.tool.v1.tool) = {access: {policy: %q}}; }
}`, policy)
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		ctx = metadata.AppendToOutgoingContext(ctx, "clientid", "host", "clientsecret", theSecret)
		_, err := client.Register(ctx, &registryv1.RegisterRequest{
			Zone: "app.acme.orders", Services: []string{"costly.v1.CostlyService"}, Address: "127.0.0.1:9001",
			Contract: &registryv1.RegisterRequest_Descriptors{Descriptors: costly(t, text)},
		})
		return err
	}
	const each = `participant.roles.all(a, `
	roles := `participant.roles`
	for name, policy := range map[string]string{
		"loops in loops":             strings.Repeat(each, 4) + "true" + strings.Repeat(")", 4),
		"loops over arguments":       `arguments.notes.all(a, arguments.notes.all(b, arguments.notes.all(c, a != b || b != c)))`,
		"a text that doubles":        `(` + roles + `.map(a, ` + roles + `.map(b, ` + roles + `.map(c, a + b + c)))).size() > 0`,
		"a list that grows":          `[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, ` + roles + `.map(c, ` + roles + `))).size() > 0`,
		"patterns in a loop":         roles + `.all(a, ` + roles + `.all(b, a.matches("(x+x+)+y")))`,
		"a pattern of the caller's":  `"x".matches(participant.id)`,
		"a pattern of the arguments": `"x".matches(arguments.note)`,
		"5,000 characters":           `participant.id != "` + strings.Repeat("x", 5000) + `"`,
		"deep":                       strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000),
		"no condition":               `participant.id`,
		"a number":                   `1`,
		"a type":                     `bool`,
		"unknown variable":           `request.id == "x"`,
		"unknown fact":               `tool.secret == "x"`,
		"unknown field":              `participant.password == "x"`,
		"unknown function":           `exec("sh")`,
		"a clock":                    `now() > timestamp("2020-01-01T00:00:00Z")`,
		"unfinished":                 `participant.id ==`,
		"two":                        `true true`,
		"no CEL":                     `SELECT 1`,
		"blank":                      ` `,
	} {
		err := register(policy)
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: registered with %v", name, err)
			continue
		}
		if !strings.Contains(err.Error(), "CostlyService") || !strings.Contains(err.Error(), "policy") {
			t.Errorf("%s: refused without saying where and what: %v", name, err)
		}
	}
	if err := register(`participant.roles.exists(r, r == "refunder") && arguments.note != ""`); err != nil {
		t.Errorf("a sensible policy is refused: %v", err)
	}
}

func costly(t *testing.T, text string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	return schematest.WholeSet(schematest.Files(t, map[string]string{"costly/v1/costly.proto": text}))
}
