package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

// blueprint is a contract: services of rules, written as a team would write them.
type blueprint struct {
	t        testing.TB
	services []*serviceDraft
}

// serviceDraft is one service; its methods take a note and answer what the witness was told.
type serviceDraft struct {
	name      string
	inherited rule
	// deaf gives the service an option field that an edge must understand and does not.
	deaf    bool
	methods []methodDraft
}

type methodDraft struct {
	name        string
	own         *rule
	alias       string
	destructive bool
	// strange changes the compiled option, for what no .proto text of this version can say.
	strange func(*toolOption)
}

// toolOption is what a method's option says.
type toolOption = toolv1.Tool

// option is the rule as the text of an option's message.
func (r rule) option() string {
	var parts []string
	if r.mode != "" {
		parts = append(parts, "mode: ACCESS_MODE_"+r.mode)
	}
	for _, name := range r.roles {
		parts = append(parts, fmt.Sprintf("roles: %q", name))
	}
	if r.action != "" {
		parts = append(parts, fmt.Sprintf("action: %q", r.action))
	}
	if r.policy != 0 {
		parts = append(parts, fmt.Sprintf("policy: %q", policies[r.policy].cel))
	}
	return "access: {" + strings.Join(parts, " ") + "}"
}

// text is the contract as .proto text; every alias ends with the suffix.
func (b *blueprint) text(suffix string) string {
	var w strings.Builder
	w.WriteString(`syntax = "proto3";
package matrix.v1;
import "sallyport/tool/v1/options.proto";
message Ask { string note = 1; }
message Told { string participant = 1; string audience = 2; string method = 3; }
`)
	for _, s := range b.services {
		fmt.Fprintf(&w, "service %s {\n", s.name)
		if s.inherited.declares() || s.deaf {
			fmt.Fprintf(&w, "  option (sallyport.tool.v1.service) = {%s};\n", s.inherited.option())
		}
		for _, m := range s.methods {
			option := fmt.Sprintf("destructive_hint: %t", m.destructive)
			if m.own != nil {
				option += " " + m.own.option()
			}
			if m.alias != "" {
				option += fmt.Sprintf(" name: %q", m.alias+suffix)
			}
			fmt.Fprintf(&w, "  rpc %s(Ask) returns (Told) { option (sallyport.tool.v1.tool) = {%s}; }\n", m.name, option)
		}
		w.WriteString("}\n")
	}
	return w.String()
}

func (r rule) declares() bool {
	return r.mode != "" || len(r.roles) > 0 || r.action != "" || r.policy != 0
}

// set compiles the contract, and puts in what its text cannot say.
func (b *blueprint) set(suffix string) *descriptorpb.FileDescriptorSet {
	b.t.Helper()
	set := schematest.WholeSet(schematest.Files(b.t, map[string]string{"matrix/v1/matrix.proto": b.text(suffix)}))
	for _, file := range set.GetFile() {
		if file.GetPackage() != "matrix.v1" {
			continue
		}
		for i, s := range b.services {
			compiled := file.GetService()[i]
			if s.deaf {
				option := proto.GetExtension(compiled.GetOptions(), toolv1.E_Service).(*toolv1.Service)
				setUnknown(option, 1500)
				proto.SetExtension(compiled.GetOptions(), toolv1.E_Service, option)
			}
			for j, m := range s.methods {
				if m.strange == nil {
					continue
				}
				options := compiled.GetMethod()[j].GetOptions()
				option := proto.GetExtension(options, toolv1.E_Tool).(*toolv1.Tool)
				m.strange(option)
				proto.SetExtension(options, toolv1.E_Tool, option)
			}
		}
	}
	return set
}

// setUnknown gives a message a field that this build does not know.
func setUnknown(m proto.Message, number uint64) {
	var raw []byte
	for tag := number << 3; ; tag >>= 7 {
		if tag < 0x80 {
			raw = append(raw, byte(tag))
			break
		}
		raw = append(raw, byte(tag)|0x80)
	}
	m.ProtoReflect().SetUnknown(protoreflect.RawFields(append(raw, 1)))
}

// place says where a contract is registered.
type place struct {
	zone string
	// suffix ends the aliases there.
	suffix string
	// services are the names of those that are registered; nil is all.
	services []string
	// gone says that the only instance came and went.
	gone bool
}

// register registers the contract in a place, as the registry does for a service of the platform, and gives the tools
// that came of it. The instance is the witness.
func (y *yard) register(b *blueprint, p place) []*tool {
	y.t.Helper()
	set := b.set(p.suffix)
	names := p.services
	if names == nil {
		for _, s := range b.services {
			names = append(names, "matrix.v1."+s.name)
		}
	}
	raw, _, err := contract.Normalize(set, names)
	if err != nil {
		y.t.Fatal(err)
	}
	ctx := y.t.Context()
	digest, err := y.store.PutContract(ctx, raw)
	if err != nil {
		y.t.Fatal(err)
	}
	compiled, err := contract.Compile(contract.Source{Files: set, Services: names, Zone: p.zone})
	if err != nil {
		y.t.Fatal(err)
	}
	r := &registry.Registration{TTL: time.Minute, Contract: digest, Address: y.witness.address}
	var tools []*tool
	for _, service := range compiled.Services {
		claim := registry.ServiceRegistration{
			Key: registry.Key{Zone: service.Zone, Service: service.Name}, AliasRoot: participant.Root(service.Zone),
		}
		at := slices.IndexFunc(b.services, func(s *serviceDraft) bool { return "matrix.v1."+s.name == service.Name })
		draft := b.services[at]
		for _, compiled := range service.Tools {
			claim.Tools = append(claim.Tools, registry.ToolName{
				Hash: compiled.Name, Alias: compiled.Alias, Function: contract.QualifiedName(compiled.Zone, compiled.Service) + "/" + compiled.Method,
			})
			at := slices.IndexFunc(draft.methods, func(m methodDraft) bool { return m.name == compiled.Method })
			m := draft.methods[at]
			t := &tool{
				zone: p.zone, service: service.Name, method: m.name, hash: compiled.Name, destructive: m.destructive,
				online: !p.gone, own: m.own, inherited: draft.inherited,
			}
			if m.alias != "" {
				t.alias = m.alias + p.suffix
			}
			tools = append(tools, t)
		}
		r.Services = append(r.Services, claim)
	}
	lease, err := y.store.Register(ctx, r)
	if err != nil {
		y.t.Fatal(err)
	}
	if p.gone {
		if err := y.store.Deregister(ctx, "", lease.InstanceID); err != nil {
			y.t.Fatal(err)
		}
		return tools
	}
	y.keepAlive(lease)
	return tools
}

// keepAlive renews a lease until the test ends, or etcd does.
func (y *yard) keepAlive(lease *registry.Lease) {
	done := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		tick := time.NewTicker(lease.TTL / 5)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = y.store.KeepAlive(ctx, "", lease.InstanceID) // one that fails is followed by another
			case <-ctx.Done():
				return
			}
		}
	}()
	y.t.Cleanup(func() {
		stop()
		<-done
	})
}
