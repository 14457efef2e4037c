package server

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// ListTools implements RegistryService.
func (s *Server) ListTools(ctx context.Context, req *registryv1.ListToolsRequest) (*registryv1.ListToolsResponse, error) {
	view := s.o.Watcher.View()
	p, err := rpc.NewPage(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	answer := &registryv1.ListToolsResponse{}
	for _, k := range s.reached(ctx, view, req.GetZone(), req.GetService()) {
		if p.More() {
			break
		}
		if p.Past(k.Zone, k.Service) { // not worth compiling
			continue
		}
		service, err := s.compiled.service(ctx, k, view.Published(k))
		if err != nil {
			if !isBroken(err) {
				return nil, statusOf(err)
			}
			if p.Take(k.Zone, k.Service, "") {
				answer.Tools = append(answer.Tools, &registryv1.ToolSummary{
					Resource:      contract.Identifier{Zone: k.Zone, Service: k.Service}.String(),
					HiddenBecause: "the contract does not compile: " + err.Error(),
				})
			}
			continue
		}
		tools := slices.Clone(service.Tools)
		slices.SortFunc(tools, func(a, b *contract.Tool) int { return cmp.Compare(a.Method, b.Method) })
		for _, t := range tools {
			if p.Take(k.Zone, k.Service, t.Method) {
				answer.Tools = append(answer.Tools, summary(t, hiddenBecause(t, view.Online(k))))
			}
		}
	}
	answer.NextPageToken = p.Next()
	return answer, nil
}

// GetTool implements RegistryService. The hashed name always finds the tool; a declared one finds it where the caller
// reaches one holder of it and not several. A tool that the caller does not reach is as one that does not exist.
func (s *Server) GetTool(ctx context.Context, req *registryv1.GetToolRequest) (*registryv1.GetToolResponse, error) {
	spelling := dialect.Canonical
	if name := req.GetDialect(); name != "" {
		var known bool
		if spelling, known = dialect.Parse(name); !known {
			return nil, status.Errorf(codes.InvalidArgument, "there is no dialect %q: want one of %s", name,
				strings.Join(dialect.Names(), ", "))
		}
	}
	missing := status.Errorf(codes.NotFound, "no tool %q is known to you", req.GetName())
	view := s.o.Watcher.View()
	name := req.GetName()
	functions, err := s.functions(ctx, view, name)
	if canonical := spelling.CanonicalName(name); err == nil && len(functions) == 0 && canonical != name {
		name = canonical
		functions, err = s.functions(ctx, view, name)
	}
	if err != nil {
		return nil, statusOf(err)
	}
	var found *contract.Tool
	for _, function := range functions {
		k, method := parseFunction(function)
		if view.Services[k] == nil || !s.o.Rules.Reaches(rpc.CallerOf(ctx).Participant, k.Zone) {
			continue
		}
		service, err := s.compiled.service(ctx, k, view.Published(k))
		if isBroken(err) {
			return nil, status.Errorf(codes.FailedPrecondition, "the contract of %s does not compile: %v", k, err)
		} else if err != nil {
			return nil, statusOf(err)
		}
		for _, t := range service.Tools {
			if t.Method != method || t.Name != name && t.Alias != name {
				continue
			}
			if found != nil {
				return nil, status.Errorf(codes.FailedPrecondition, "several functions that you reach declare the name %q, among them %s and %s: ask by the hashed name",
					req.GetName(), found.Resource(), t.Resource())
			}
			found = t
		}
	}
	if found == nil {
		return nil, missing
	}
	published := found.Name
	if found.Alias != "" {
		published = found.Alias
	}
	return &registryv1.GetToolResponse{
		Tool:           summary(found, hiddenBecause(found, view.Online(registry.Key{Zone: found.Zone, Service: found.Service}))),
		DefinitionJson: string(found.DefinitionIn(spelling, published)),
		JsonProfile:    found.Profile.ID,
	}, nil
}

// functions are those that may have the name, as `zone~package.Service/Method`.
func (s *Server) functions(ctx context.Context, view *registry.View, name string) ([]string, error) {
	if contract.IsHash(name) {
		function, err := s.o.Store.FunctionOf(ctx, name)
		if errors.Is(err, registry.ErrNotFound) {
			return nil, nil
		}
		return []string{function}, err
	}
	roots := map[string]bool{}
	for _, k := range s.reached(ctx, view, "", "") {
		roots[participant.Root(k.Zone)] = true
	}
	held, err := s.o.Store.AliasHolders(ctx, slices.Sorted(maps.Keys(roots)), name)
	return slices.Sorted(maps.Values(held)), err
}

func summary(t *contract.Tool, hidden string) *registryv1.ToolSummary {
	return &registryv1.ToolSummary{
		Name: t.Name, Alias: t.Alias, Title: t.Title, Description: t.Description, Resource: t.Resource(), HiddenBecause: hidden,
	}
}

// hiddenBecause says why MCP clients do not see the tool; nothing where they do.
func hiddenBecause(t *contract.Tool, online bool) string {
	switch {
	case t.Denied != "":
		return t.Denied
	case !online:
		return "no instance is online"
	}
	return ""
}

// isBroken tells a contract that cannot be served, now or later, from a store that cannot be asked just now.
func isBroken(err error) bool {
	switch status.Code(statusOf(err)) {
	case codes.OK, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return false
	}
	return true
}
