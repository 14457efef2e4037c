package contract

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
)

// declaration is one thing that is said of an RPC, and where.
type declaration struct {
	tool   *toolv1.Tool
	option protoreflect.ExtensionType // nil: said in code
	method protoreflect.MethodDescriptor
}

// at is the place of one field of the declaration.
func (d *declaration) at(field protoreflect.Name) place {
	return place{descriptor: d.method, option: d.option, field: field}
}

// where names the declaration for people.
func (d *declaration) where() string {
	if d.option == nil {
		return "the description in code"
	}
	return string(d.option.TypeDescriptor().Name())
}

// declarations are everything that is said of one RPC.
type declarations struct {
	method  protoreflect.MethodDescriptor
	overlay *registryv1.Overlay // what the process says; nil if nothing
	code    *declaration        // the overlay's description
	tool    *declaration
	info    *declaration
	// inherited are the RPCs of the same name in the services that this one inherits, nearest first.
	inherited []protoreflect.MethodDescriptor
	// inheritedInfo is the nearest description among them.
	inheritedInfo *declaration
	// access is the declaration whose access rule counts, once the tool is settled; nil is the service's.
	access *declaration
}

func collect(m protoreflect.MethodDescriptor, overlay *registryv1.Overlay, bases []protoreflect.ServiceDescriptor) *declarations {
	d := &declarations{method: m, overlay: overlay}
	if overlay.GetTool() != nil {
		d.code = &declaration{tool: overlay.GetTool(), method: m}
	}
	d.tool = declared(m, toolv1.E_Tool)
	d.info = declared(m, toolv1.E_ToolInfo)
	for _, base := range bases {
		inherited := base.Methods().ByName(m.Name())
		if inherited == nil {
			continue
		}
		d.inherited = append(d.inherited, inherited)
		if d.inheritedInfo == nil {
			d.inheritedInfo = declared(inherited, toolv1.E_ToolInfo)
		}
	}
	return d
}

func declared(m protoreflect.MethodDescriptor, xt protoreflect.ExtensionType) *declaration {
	if t, ok := option[*toolv1.Tool](m, xt); ok {
		return &declaration{tool: t, option: xt, method: m}
	}
	return nil
}

// all are the declarations, nearest first: code beats proto, `tool` beats `tool_info`, the RPC's own beats what it
// inherits.
func (d *declarations) all() []*declaration {
	return present(d.code, d.tool, d.info, d.inheritedInfo)
}

// own are the declarations on the RPC itself.
func (d *declarations) own() []*declaration { return present(d.code, d.tool, d.info) }

func present(list ...*declaration) []*declaration {
	kept := list[:0]
	for _, d := range list {
		if d != nil {
			kept = append(kept, d)
		}
	}
	return kept
}

// describing is the one declaration that gives title half, description and hints, chosen by whether it is there and
// never by what it says; nil where nothing describes.
func (d *declarations) describing() *declaration {
	if all := d.all(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// excluded reports whether the RPC is kept out of a sweep: the nearest tool_info decides.
func (d *declarations) excluded() bool {
	info := d.info
	if info == nil {
		info = d.inheritedInfo
	}
	return info != nil && info.tool.GetExclude()
}

// nearest gives the first declaration that says something. Settings are no descriptions: a title in code must not undo
// the access rule or the timeout that stands in the proto, so each is read from the nearest declaration that has it.
func nearest(list []*declaration, says func(*toolv1.Tool) bool) *declaration {
	for _, d := range list {
		if says(d.tool) {
			return d
		}
	}
	return nil
}

// capability is a dotted name of what a client can do, such as `sampling` or `elicitation.form`.
var capability = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*)*$`)

const maxCapability = 128

// check judges what one declaration says, whether or not the RPC is exposed.
func (c *compiler) checkDeclaration(function string, d *declaration) {
	t := d.tool
	report := func(field protoreflect.Name, format string, args ...any) {
		c.report(function, d.at(field), d.where()+": "+format, args...)
	}
	if t.GetDescription() != "" {
		if blank(t.GetDescription()) {
			report("description", "the description is blank: write one, or leave it out to use the comment")
		}
		if n := utf8.RuneCountInString(t.GetDescription()); n > maxDescription {
			report("description", "the description has %d characters: at most 4,096 are allowed", n)
		}
	}
	if t.GetName() != "" {
		if problem := checkAlias(t.GetName()); problem != "" {
			report("name", "%s", problem)
		}
	}
	if id := t.GetJsonProfile(); id != "" {
		c.checkProfile(function, d.at("json_profile"), id)
	}
	for _, name := range t.GetRequiredClientCapabilities() {
		if len(name) > maxCapability || !capability.MatchString(name) {
			report("required_client_capabilities", "%q is not a capability: write a dotted name such as elicitation.form", name)
		}
	}
	c.checkAccess(function, d.at("access"), t.GetAccess())
	if w := t.GetWeight(); w != nil {
		if w.GetLevel() < 0 || w.GetLevel() > 10 {
			report("weight", "the weight's level is %d: it goes from 1 to 10", w.GetLevel())
		}
		least, ok1 := duration(w.GetMinDuration())
		most, ok2 := duration(w.GetMaxDuration())
		if !ok1 || !ok2 || least < 0 || most < 0 {
			report("weight", "the weight has a duration that is negative or out of range")
		} else if w.GetMaxDuration() != nil && most < least {
			report("weight", "the weight's max_duration is shorter than its min_duration")
		}
	}
	if t.GetTimeout() != nil {
		if timeout, ok := duration(t.GetTimeout()); !ok || timeout <= 0 {
			report("timeout", "the timeout is not a positive duration")
		}
	}
	if t.GetExclude() && (d.option == nil || d.option == toolv1.E_Tool) {
		report("exclude", "exclude is read from tool_info only: say tool_info {exclude: true}, or remove it to expose the RPC")
	}
}

// duration is a protobuf duration as Go's, where it is one. An absent one is 0.
func duration(d *durationpb.Duration) (time.Duration, bool) {
	if d == nil {
		return 0, true
	}
	const most = int64(1<<63-1) / int64(time.Second)
	if d.CheckValid() != nil || d.GetSeconds() >= most || d.GetSeconds() <= -most {
		return 0, false
	}
	return d.AsDuration(), true
}

const policyProblem = "access: the policy does not compile: %v"

// checkAccess judges a declared access rule as far as that can be done without a caller.
func (c *compiler) checkAccess(function string, at place, rule *toolv1.Access) {
	for _, role := range rule.GetRoles() {
		if blank(role) {
			c.report(function, at, "access: a role is blank, and nobody has it")
		}
	}
	if problem := access.CheckAction(rule.GetAction()); problem != "" {
		c.report(function, at, "access: %s", problem)
	}
	if rule.GetPolicy() != "" {
		if err := access.CheckPolicy(rule.GetPolicy()); err != nil {
			c.report(function, at, policyProblem, err)
		}
	}
}

// checkOverlays indexes what the process says in code by function, and reports what names nothing.
func (c *compiler) checkOverlays(list []*registryv1.Overlay) {
	for _, o := range list {
		function := strings.TrimPrefix(o.GetFunction(), "/")
		service, method, isMethod := strings.Cut(function, "/")
		sd := c.descriptors[service]
		switch {
		case sd == nil:
			c.report(function, place{}, "it is exposed in code, but %s is none of the services that the process serves", service)
			continue
		case isMethod && sd.Methods().ByName(protoreflect.Name(method)) == nil:
			c.report(function, place{descriptor: sd}, "it is exposed in code, but %s has no RPC of that name", service)
			continue
		case isMethod && o.GetServiceTitle() != "":
			c.report(function, place{}, "a title for the whole service is given to one RPC: name the service alone")
		case !isMethod && o.GetTool() != nil:
			c.report(function, place{}, "a description of one RPC is given to the whole service: name the RPC")
		}
		known := c.overlays[function]
		switch {
		case known == nil:
			c.overlays[function] = o
		case known.GetTool() == nil && known.GetServiceTitle() == "":
			// The earlier one only exposes.
			c.overlays[function] = o
		case o.GetTool() == nil && o.GetServiceTitle() == "":
		case !proto.Equal(known.GetTool(), o.GetTool()) || known.GetServiceTitle() != o.GetServiceTitle():
			c.report(function, place{}, "it is described in code twice, and differently")
		}
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// functionName names an RPC for people and in overlays.
func functionName(m protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("%s/%s", m.Parent().FullName(), m.Name())
}
