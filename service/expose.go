package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

// exposure is one Expose, not yet looked up among the services.
type exposure struct {
	function string
	// tool is nil for a bare Expose, which only exposes (tools.md, Exposing).
	tool *toolv1.Tool
}

// An ExposeOption describes a function that [Expose] exposes.
type ExposeOption func(*toolv1.Tool)

// Expose makes an RPC a tool without touching its proto (tools.md, Exposing). function is `pkg.Service/Method`, also
// with gRPC's slash before it as in the generated constants, or the method's name alone where the process serves one
// service besides health and reflection; a name that is there not once, or that would need guessing, is an error of
// [Run]. `pkg.Service` exposes every unary RPC of a service, as the service option does.
//
// A bare Expose only exposes: what describes the RPC stays as it is. Given options, it describes the RPC as a
// method-level `tool` option does and stands before one in the proto: nothing is borrowed from elsewhere, and a hint
// that is not given is false. Of a whole service only [Title] can be given; it is the service half of its tools'
// titles.
func Expose(function string, options ...ExposeOption) Option {
	e := exposure{function: function}
	if len(options) > 0 {
		e.tool = &toolv1.Tool{}
		for _, o := range options {
			o(e.tool)
		}
	}
	return func(s *settings) { s.exposures = append(s.exposures, e) }
}

// Title is the function half of the tool's title; of a whole service, the service half.
func Title(title string) ExposeOption { return func(t *toolv1.Tool) { t.Title = title } }

// Description is what a model reads to decide when to call the tool, at most 4,096 characters.
func Description(description string) ExposeOption {
	return func(t *toolv1.Tool) { t.Description = description }
}

// Name is an alias published instead of the hashed name, `[A-Za-z0-9_-]{1,64}` and not of the shape of a hash.
func Name(alias string) ExposeOption { return func(t *toolv1.Tool) { t.Name = alias } }

// ReadOnly says that a call changes nothing.
func ReadOnly() ExposeOption { return func(t *toolv1.Tool) { t.ReadOnlyHint = true } }

// Destructive says that a call may destroy or overwrite something.
func Destructive() ExposeOption { return func(t *toolv1.Tool) { t.DestructiveHint = true } }

// Idempotent says that repeating a call with the same arguments has no further effect. It also permits the edge to
// repeat a call whose outcome is not known.
func Idempotent() ExposeOption { return func(t *toolv1.Tool) { t.IdempotentHint = true } }

// OpenWorld says that a call reaches systems outside the platform.
func OpenWorld() ExposeOption { return func(t *toolv1.Tool) { t.OpenWorldHint = true } }

// Confirm asks the host to ask its user before each call.
func Confirm() ExposeOption { return func(t *toolv1.Tool) { t.Confirm = true } }

// Timeout is how long a call may take, within the edge's maximum.
func Timeout(d time.Duration) ExposeOption {
	return func(t *toolv1.Tool) { t.Timeout = durationpb.New(d) }
}

// Tool merges a whole tool option in, for what has no function of its own here, such as access and weight.
func Tool(tool *toolv1.Tool) ExposeOption {
	return func(t *toolv1.Tool) { proto.Merge(t, tool) }
}

// overlays looks the exposures up among the services. One error lists every problem.
func overlays(exposures []exposure, services []protoreflect.ServiceDescriptor) ([]*registryv1.Overlay, error) {
	var out []*registryv1.Overlay
	var problems []error
	seen := make(map[string]bool)
	for _, e := range exposures {
		overlay, err := e.resolve(services)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("expose %q: %w", e.function, err))
		case seen[overlay.GetFunction()]:
			problems = append(problems, fmt.Errorf("expose %q: %s is exposed twice", e.function, overlay.GetFunction()))
		default:
			seen[overlay.GetFunction()] = true
			out = append(out, overlay)
		}
	}
	return out, errors.Join(problems...)
}

func (e exposure) resolve(services []protoreflect.ServiceDescriptor) (*registryv1.Overlay, error) {
	if serviceName, method, ok := strings.Cut(strings.TrimPrefix(e.function, "/"), "/"); ok {
		i := slices.IndexFunc(services, func(sd protoreflect.ServiceDescriptor) bool { return string(sd.FullName()) == serviceName })
		if i < 0 {
			return nil, fmt.Errorf("the process does not serve %s: it serves %s", serviceName, names(services))
		}
		return e.method(services[i], method)
	}
	for _, sd := range services {
		if string(sd.FullName()) == e.function {
			return e.service(sd)
		}
	}
	if len(services) != 1 {
		return nil, fmt.Errorf("the process serves %d services: say which one, as pkg.Service/Method (%s)", len(services), names(services))
	}
	return e.method(services[0], e.function)
}

func (e exposure) method(sd protoreflect.ServiceDescriptor, method string) (*registryv1.Overlay, error) {
	if sd.Methods().ByName(protoreflect.Name(method)) == nil {
		return nil, fmt.Errorf("%s has no RPC %q: it has %s", sd.FullName(), method, methodNames(sd))
	}
	return &registryv1.Overlay{Function: string(sd.FullName()) + "/" + method, Tool: e.tool}, nil
}

func (e exposure) service(sd protoreflect.ServiceDescriptor) (*registryv1.Overlay, error) {
	overlay := &registryv1.Overlay{Function: string(sd.FullName()), ServiceTitle: e.tool.GetTitle()}
	if rest := proto.CloneOf(e.tool); rest != nil {
		if rest.Title = ""; proto.Size(rest) > 0 {
			return nil, errors.New("of a whole service only the title can be given: describe its RPCs one by one")
		}
	}
	return overlay, nil
}

func names(services []protoreflect.ServiceDescriptor) string {
	if len(services) == 0 {
		return "none"
	}
	var list []string
	for _, sd := range services {
		list = append(list, string(sd.FullName()))
	}
	return strings.Join(list, ", ")
}

func methodNames(sd protoreflect.ServiceDescriptor) string {
	var list []string
	for i := range sd.Methods().Len() {
		list = append(list, string(sd.Methods().Get(i).Name()))
	}
	return strings.Join(list, ", ")
}
