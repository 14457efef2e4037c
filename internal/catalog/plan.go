package catalog

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/strict"
)

// planKey tells plans apart: a contract, a service of it, and what the process said in code.
type planKey struct {
	digest   string
	service  registry.Key
	overlays string // serialised
}

func newPlanKey(service registry.Key, digest string, overlays []*registryv1.Overlay) planKey {
	k := planKey{digest: digest, service: service}
	if len(overlays) > 0 {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&registryv1.StoredServiceContract{Overlays: overlays})
		if err == nil { // what was unmarshalled marshals
			k.overlays = string(raw)
		}
	}
	return k
}

// plan is a contract of a service, compiled. It is immutable.
type plan struct {
	key   planKey
	files *contract.Files
	tools []*toolPlan
	// err says why there are no tools; transient, that trying again may help.
	err       error
	transient bool
}

// toolPlan is one function. All snapshots that show it share it, and with it the plan of its calls.
type toolPlan struct {
	tool     *contract.Tool
	resource string
	// spelled is what differs between dialects.
	spelled [dialect.Count]spelledPlan
	// texts are the limits of JSON texts within arguments.
	texts strict.Limits
}

// spelledPlan is one function in one dialect. What is in it is made when it is first asked for: most functions of a
// large catalog are never called, and most dialects never listed.
type spelledPlan struct {
	listed sync.Once
	// published is the definition under the name that is published by itself: the alias, else the hash.
	published []byte

	called   sync.Once
	calls    *CallPlan
	callsErr error
}

// definition gives the function's entry in tools/list.
func (p *toolPlan) definition(d dialect.Dialect) []byte {
	s := &p.spelled[d]
	s.listed.Do(func() { s.published = p.tool.DefinitionIn(d, publishedName(p.tool)) })
	return s.published
}

// callPlan gives the plan of the function's calls. After the first time it costs one atomic load.
func (p *toolPlan) callPlan(d dialect.Dialect) (*CallPlan, error) {
	s := &p.spelled[d]
	s.called.Do(func() {
		if d == dialect.Canonical {
			s.calls, s.callsErr = compileCalls(p.tool)
			return
		}
		var canonical *CallPlan
		if canonical, s.callsErr = p.callPlan(dialect.Canonical); s.callsErr == nil {
			s.calls, s.callsErr = canonical.spell(d, p.tool, p.texts)
		}
	})
	return s.calls, s.callsErr
}

// compiler compiles plans. It is safe for concurrent use.
type compiler struct {
	texts     strict.Limits
	contracts Contracts
	profile   schema.Profile
}

// compile makes the plans of one contract. Whatever goes wrong is in the plans.
func (c *compiler) compile(ctx context.Context, keys []planKey, overlays [][]*registryv1.Overlay, files *contract.Files) []*plan {
	plans := make([]*plan, len(keys))
	var err error
	if files == nil {
		files, err = c.load(ctx, keys[0].digest)
	}
	for i, key := range keys {
		p := &plan{key: key, files: files}
		if err != nil {
			var unusable unusableError
			p.err, p.transient = err, !errors.As(err, &unusable)
		} else if p.tools, p.err = c.service(key, overlays[i], files); p.err != nil {
			p.tools = nil
		}
		plans[i] = p
	}
	return plans
}

// unusableError says that a contract was read and is no use, so that reading it again will not help.
type unusableError struct{ error }

func (c *compiler) load(ctx context.Context, digest string) (*contract.Files, error) {
	set, err := c.contracts.Contract(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	files, err := link(set)
	if err != nil {
		return nil, unusableError{fmt.Errorf("link contract %.12s: %w", digest, err)}
	}
	return files, nil
}

// link and service contain what a hostile or broken contract may do to the code that reads it: a panic hides the
// contract's tools and nothing else.
func link(set *descriptorpb.FileDescriptorSet) (files *contract.Files, err error) {
	defer recovered(&err)
	registered, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	return contract.Link(registered)
}

func (c *compiler) service(key planKey, overlays []*registryv1.Overlay, files *contract.Files) (tools []*toolPlan, err error) {
	defer recovered(&err)
	compiled, err := files.Compile(contract.Source{
		Services: []string{key.service.Service}, Zone: key.service.Zone, Overlays: overlays, DefaultProfile: c.profile,
		RulesChecked: true, // at registration; they are compiled with the plan of the first call
	})
	if err != nil {
		return nil, err
	}
	for _, s := range compiled.Services {
		if s.Zone != key.service.Zone {
			return nil, fmt.Errorf("the contract puts the service into zone %q, but it is registered in %q", s.Zone,
				key.service.Zone)
		}
		for _, t := range s.Tools {
			tools = append(tools, compileTool(t, c.texts))
		}
	}
	return tools, nil
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("compiling panicked: %v\n%s", r, debug.Stack())
	}
}

// compileTool renders one function that somebody may see.
func compileTool(t *contract.Tool, texts strict.Limits) *toolPlan {
	p := &toolPlan{tool: t, resource: t.Resource(), texts: texts}
	if t.Denied == "" {
		p.definition(dialect.Canonical)
	}
	return p
}

// publishedName is the name that a tool is published under by itself.
func publishedName(t *contract.Tool) string {
	if t.Alias != "" {
		return t.Alias
	}
	return t.Name
}
