package contract

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// Files are the linked files of a contract, with the built-in base behind them.
type Files struct {
	own     *protoregistry.Files
	builtin *builtin
}

// service finds a service by its full name in the set, else in the built-in base.
func (f *Files) service(name protoreflect.FullName) (protoreflect.ServiceDescriptor, error) {
	d, err := f.own.FindDescriptorByName(name)
	if err != nil {
		d, err = f.builtin.files.FindDescriptorByName(name)
	}
	if err != nil {
		return nil, fmt.Errorf("no service %s is in the descriptors", name)
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a service", name)
	}
	return sd, nil
}

// bases gives the services that sd inherits, nearest first: those that its option names in their order, each followed
// by its own, depth first (tools.md, "Which declaration describes a function"). A service that is reached twice counts
// where it is reached first. Every name that does not resolve and every cycle is reported.
func (f *Files) bases(sd protoreflect.ServiceDescriptor, report func(at protoreflect.ServiceDescriptor, problem string)) []protoreflect.ServiceDescriptor {
	var out []protoreflect.ServiceDescriptor
	done := map[protoreflect.FullName]bool{sd.FullName(): true}
	var visit func(sd protoreflect.ServiceDescriptor, path []string)
	visit = func(sd protoreflect.ServiceDescriptor, path []string) {
		path = append(path, string(sd.FullName()))
		declared, _ := option[*toolv1.Service](sd, toolv1.E_Service)
		for _, name := range declared.GetInherits() {
			if i := indexOf(path, name); i >= 0 {
				report(sd, fmt.Sprintf("inherits goes in a circle: %s", strings.Join(append(path[i:len(path):len(path)], name), " → ")))
				continue
			}
			base, err := f.service(protoreflect.FullName(name))
			if err != nil {
				report(sd, fmt.Sprintf("inherits %q: %v; name a service fully, and generate from a set of files that has it", name, err))
				continue
			}
			if done[base.FullName()] {
				continue
			}
			done[base.FullName()] = true
			out = append(out, base)
			visit(base, path)
		}
	}
	visit(sd, nil)
	return out
}

func indexOf(list []string, want string) int {
	for i, s := range list {
		if s == want {
			return i
		}
	}
	return -1
}

// Link builds the files of a contract. The set must have every file that it imports.
func Link(files *protoregistry.Files) (*Files, error) {
	b, err := loadBuiltin()
	if err != nil {
		return nil, err
	}
	return &Files{own: files, builtin: b}, nil
}

// Bases gives the services from which a service inherits descriptions, nearest first and without those that do not
// resolve, which Compile reports. It is empty for a service that is not among the files.
func (f *Files) Bases(service string) []protoreflect.ServiceDescriptor {
	sd, err := f.service(protoreflect.FullName(service))
	if err != nil {
		return nil
	}
	return f.bases(sd, func(protoreflect.ServiceDescriptor, string) {})
}
