package identity_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// Every RPC declares the one action that its name says, and is a tool that says truly whether it changes something.
func TestDeclarations(t *testing.T) {
	for _, m := range rpcs(t) {
		tool := proto.GetExtension(m.Options(), toolv1.E_Tool).(*toolv1.Tool)
		reads := strings.HasPrefix(string(m.Name()), "List")
		verb := "write"
		if reads {
			verb = "read"
		}
		noun := ""
		for _, word := range []string{"Application", "User", "Machine", "Delegate", "Role", "Organization"} {
			if strings.Contains(string(m.Name()), word) && (noun == "" || word != "Role") {
				noun = strings.ToLower(word) + "s"
			}
		}
		if strings.Contains(string(m.Name()), "SigningKey") {
			noun = "keys"
		}
		if want := "identity." + noun + "." + verb; !proto.Equal(tool.GetAccess(), &toolv1.Access{Action: want}) {
			t.Errorf("%s declares %v, want the action %s", m.Name(), tool.GetAccess(), want)
		}
		if tool.GetReadOnlyHint() != reads {
			t.Errorf("%s: read_only_hint %t", m.Name(), tool.GetReadOnlyHint())
		}
		removes := strings.HasPrefix(string(m.Name()), "Remove")
		rotates := strings.HasPrefix(string(m.Name()), "Rotate")
		if tool.GetConfirm() != (removes || rotates || m.Name() == "CreateMachine") {
			t.Errorf("%s: confirm %t", m.Name(), tool.GetConfirm())
		}
		if (removes || rotates) && !tool.GetDestructiveHint() {
			t.Errorf("%s: destructive_hint %t", m.Name(), tool.GetDestructiveHint())
		}
	}
}

// Each RPC with each kind of caller. Requests are about things that do not exist, so that nothing changes on the way: one
// that passes is answered with NOT_FOUND, or is a list or a creation.
func TestCallers(t *testing.T) {
	h := newHouse(t)
	methods := rpcs(t)
	if len(methods) != 34 {
		t.Errorf("%d RPCs: is the new one in the right rows?", len(methods))
	}
	passes, denied := codes.OK, codes.PermissionDenied
	nobody := codes.Unauthenticated
	everywhere := func(code codes.Code) func(protoreflect.MethodDescriptor) codes.Code {
		return func(protoreflect.MethodDescriptor) codes.Code { return code }
	}
	inManagement := func(m protoreflect.MethodDescriptor) codes.Code {
		if m.Parent().Name() == "OrganizationService" {
			return denied
		}
		return passes
	}
	reading := func(m protoreflect.MethodDescriptor) codes.Code {
		if !strings.HasPrefix(string(m.Name()), "List") {
			return denied
		}
		return inManagement(m)
	}
	managing := func(m protoreflect.MethodDescriptor) codes.Code {
		if strings.Contains(string(m.Name()), "Application") {
			return denied
		}
		return inManagement(m)
	}
	as := func(machine string) func(protoreflect.MethodDescriptor) context.Context {
		return func(protoreflect.MethodDescriptor) context.Context { return h.as(machine) }
	}
	vouched := func(machine string) func(protoreflect.MethodDescriptor) context.Context {
		return func(m protoreflect.MethodDescriptor) context.Context {
			return h.vouched(h.people[machine], fullMethod(m), audienceOf(m), time.Now())
		}
	}
	admin := h.people["system.admin"]
	for at, row := range []struct {
		who  string
		ctx  func(protoreflect.MethodDescriptor) context.Context
		want func(protoreflect.MethodDescriptor) codes.Code
	}{
		{"the platform, as an administrator", as("system.admin"), everywhere(passes)},
		{"the platform, without a role", as("system.plain"), everywhere(denied)},
		{"the platform, with some actions", as("system.manager"), managing},
		{"an organization, as an administrator", as("acme.admin"), inManagement},
		{"another organization, as an administrator", as("other.admin"), inManagement},
		{"an organization that may see", as("acme.viewer"), reading},
		{"an organization with a role of its own", as("acme.plain"), everywhere(denied)},
		{"an application with roles that grant everything", as("acme.app"), everywhere(denied)},
		{"an edge for the platform's administrator", vouched("system.admin"), everywhere(passes)},
		{"an edge for the platform without a role", vouched("system.plain"), everywhere(denied)},
		{"an edge for an organization's administrator", vouched("acme.admin"), inManagement},
		{"an edge for an organization that may see", vouched("acme.viewer"), reading},
		{"an edge for an application", vouched("acme.app"), everywhere(denied)},
		{"an edge for nobody", func(m protoreflect.MethodDescriptor) context.Context {
			anonymous := participant.Anonymous()
			anonymous.Roles = []string{"platform-admin"}
			return h.vouched(anonymous, fullMethod(m), audienceOf(m), time.Now())
		}, everywhere(denied)},
		{"nobody", func(protoreflect.MethodDescriptor) context.Context { return h.ctx() }, everywhere(nobody)},
		{"a wrong secret", func(protoreflect.MethodDescriptor) context.Context {
			return metadata.AppendToOutgoingContext(h.ctx(), rpc.ClientIDKey, "system.admin", rpc.ClientSecretKey, h.secrets["acme.admin"])
		}, everywhere(nobody)},
		{"two ids", func(protoreflect.MethodDescriptor) context.Context {
			return metadata.AppendToOutgoingContext(h.as("system.admin"), rpc.ClientIDKey, "system.admin")
		}, everywhere(nobody)},
		{"a participant without an assertion", func(protoreflect.MethodDescriptor) context.Context {
			raw, err := proto.Marshal(admin)
			h.must(err)
			return metadata.AppendToOutgoingContext(h.ctx(), assertion.ParticipantKey, string(raw))
		}, everywhere(nobody)},
		{"a forged assertion", func(m protoreflect.MethodDescriptor) context.Context {
			return h.forged(admin, fullMethod(m), audienceOf(m))
		}, everywhere(nobody)},
		{"a forged assertion beside good credentials", func(m protoreflect.MethodDescriptor) context.Context {
			return metadata.AppendToOutgoingContext(h.forged(admin, fullMethod(m), audienceOf(m)),
				rpc.ClientIDKey, "system.admin", rpc.ClientSecretKey, h.secrets["system.admin"])
		}, everywhere(nobody)},
		{"an assertion for another method", func(m protoreflect.MethodDescriptor) context.Context {
			return h.vouched(admin, fullMethod(m)+"s", audienceOf(m), time.Now())
		}, everywhere(nobody)},
		{"an assertion for the other zone", func(m protoreflect.MethodDescriptor) context.Context {
			zone, service, _ := strings.Cut(audienceOf(m), "~")
			zone = map[string]string{"management-api": "system-api", "system-api": "management-api"}[zone]
			return h.vouched(admin, fullMethod(m), zone+"~"+service, time.Now())
		}, everywhere(nobody)},
		{"an assertion that has expired", func(m protoreflect.MethodDescriptor) context.Context {
			return h.vouched(admin, fullMethod(m), audienceOf(m), time.Now().Add(-2*time.Minute))
		}, everywhere(nobody)},
		{"two assertions", func(m protoreflect.MethodDescriptor) context.Context {
			ctx := h.vouched(admin, fullMethod(m), audienceOf(m), time.Now())
			md, _ := metadata.FromOutgoingContext(ctx)
			return metadata.AppendToOutgoingContext(ctx, assertion.AssertionKey, md.Get(assertion.AssertionKey)[0])
		}, everywhere(nobody)},
	} {
		t.Run(row.who, func(t *testing.T) {
			for _, m := range methods {
				if m.Name() == "RotateSigningKey" && row.want(m) == passes {
					continue // it would go through; see TestSigningKeys
				}
				organization := "acme"
				if strings.HasPrefix(row.who, "another") {
					organization = "other"
				}
				name := "nothing"
				if strings.HasPrefix(string(m.Name()), "Create") {
					name = fmt.Sprintf("made-%d", at)
				}
				_, err := h.call(row.ctx(m), m, request(t, m, organization, name, "delegate:nothing"))
				got := status.Code(err)
				switch want := row.want(m); {
				case want != passes && got != want:
					t.Errorf("%s: %v, want %v", m.Name(), err, want)
				case want == passes && (strings.HasPrefix(string(m.Name()), "List") || strings.HasPrefix(string(m.Name()), "Create")):
					if err != nil && got != codes.AlreadyExists {
						t.Errorf("%s: %v", m.Name(), err)
					}
				case want == passes && got != codes.NotFound:
					t.Errorf("%s: %v, want NOT_FOUND", m.Name(), err)
				}
			}
		})
	}
}

// What is another organization's answers as what does not exist, in the same words, and stays as it is.
func TestTenants(t *testing.T) {
	h := newHouse(t)
	before := h.everything()
	for _, m := range rpcs(t) {
		if m.Parent().Name() != "IdentityService" {
			continue
		}
		fields := m.Input().Fields()
		if fields.ByName("organization_id") == nil {
			t.Errorf("%s: whose?", m.Name())
			continue
		}
		t.Run(string(m.Name()), func(t *testing.T) {
			ask := func(organization, things, name, delegate string) string {
				t.Helper()
				req := request(t, m, things, name, delegate)
				req.ProtoReflect().Set(fields.ByName("organization_id"), protoreflect.ValueOfString(organization))
				_, err := h.call(h.as("other.admin"), m, req)
				if status.Code(err) != codes.NotFound {
					t.Errorf("%v, want NOT_FOUND", err)
				}
				text := status.Convert(err).Message()
				for from, to := range map[string]string{"acme": "ORG", "nowhere": "ORG", h.delegates["acme"]: "ID", "delegate:AAAA": "ID", "ada": "NAME", "nobody": "NAME",
					"orders": "NAME", "refunder": "NAME", "admin": "NAME"} {
					text = strings.ReplaceAll(text, from, to)
				}
				return text
			}
			theirs := map[bool]string{fields.ByName("email") != nil: "ada", fields.ByName("application_id") != nil: "orders",
				fields.ByName("name") != nil && fields.ByName("email") == nil: "refunder", fields.ByName("machine_id") != nil: "admin"}[true]
			// By the organization's name.
			if a, b := ask("acme", "acme", theirs, h.delegates["acme"]), ask("nowhere", "nowhere", "nobody", "delegate:AAAA"); a != b {
				t.Errorf("what is another's: %q; what does not exist: %q", a, b)
			}
			// As if it were the caller's own.
			if strings.HasPrefix(string(m.Name()), "List") || strings.HasPrefix(string(m.Name()), "Create") ||
				theirs == "orders" || theirs == "refunder" { // the caller has such, too
				return
			}
			if a, b := ask("", "acme", theirs, h.delegates["acme"]), ask("", "acme", "nobody", "delegate:AAAA"); a != b {
				t.Errorf("what is another's: %q; what does not exist: %q", a, b)
			}
		})
	}
	if after := h.everything(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}
