package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/participant"
)

// Compile turns descriptors into tools. Everything that is wrong is reported at once, as a [*ConflictError]; there is
// no contract then. Uniqueness of declared names is judged within the source; across the contracts of a zone's root the
// registry judges it.
//
// The same source always gives the same contract. Compile keeps no state and may be called concurrently.
func Compile(s Source) (*Contract, error) {
	linked, err := link(s.Files)
	if err != nil {
		return nil, &ConflictError{[]Conflict{{
			Function: strings.Join(s.Services, ", "),
			Problem:  fmt.Sprintf("the descriptors do not link: %v; send every file that the services need", err),
		}}}
	}
	files, err := Link(linked)
	if err != nil {
		return nil, err
	}
	return files.Compile(s)
}

// Compile is the package's Compile for files that are linked already, whatever s.Files holds.
func (f *Files) Compile(s Source) (*Contract, error) {
	c := &compiler{
		source:      s,
		files:       f,
		descriptors: map[string]protoreflect.ServiceDescriptor{},
		overlays:    map[string]*registryv1.Overlay{},
		seen:        map[string]bool{},
	}
	c.compile()
	if len(c.conflicts) > 0 {
		return nil, &ConflictError{c.conflicts}
	}
	return &c.contract, nil
}

// compiler holds one run of Compile.
type compiler struct {
	source      Source
	files       *Files
	descriptors map[string]protoreflect.ServiceDescriptor // the services of the source, by full name
	overlays    map[string]*registryv1.Overlay            // by function
	contract    Contract
	conflicts   []Conflict
	seen        map[string]bool // conflicts, so that each is reported once
}

func (c *compiler) report(function string, at place, format string, args ...any) {
	conflict := Conflict{Function: function, Problem: fmt.Sprintf(format, args...)}
	if key := conflict.String(); c.seen[key] {
		return
	} else {
		c.seen[key] = true
	}
	conflict.File, conflict.Line, conflict.Column = at.locate()
	c.conflicts = append(c.conflicts, conflict)
}

func (c *compiler) warn(function, format string, args ...any) {
	c.contract.Warnings = append(c.contract.Warnings, function+": "+fmt.Sprintf(format, args...))
}

func (c *compiler) compile() {
	if len(c.source.Services) == 0 {
		c.report("(no function)", place{}, "no service is named")
	}
	if c.source.DefaultProfile.ID == "" {
		if p, ok := schema.Builtin(defaultProfile); ok {
			c.source.DefaultProfile = p
		}
	}
	var names []string
	for _, name := range c.source.Services {
		if c.descriptors[name] != nil || slices.Contains(names, name) {
			continue // the same service twice is one entry
		}
		names = append(names, name)
		d, err := c.files.own.FindDescriptorByName(protoreflect.FullName(name))
		sd, ok := d.(protoreflect.ServiceDescriptor)
		switch {
		case err != nil:
			c.report(name, place{}, "no such service is in the descriptors")
		case !ok:
			c.report(name, place{descriptor: d}, "it is not a service")
		default:
			c.descriptors[name] = sd
		}
	}
	c.checkOverlays(c.source.Overlays)
	for _, name := range names {
		if sd := c.descriptors[name]; sd != nil {
			c.service(sd)
		}
	}
	var tools []*Tool
	for _, s := range c.contract.Services {
		tools = append(tools, s.Tools...)
	}
	c.checkNames(tools)
}

// service compiles one service.
func (c *compiler) service(sd protoreflect.ServiceDescriptor) {
	name := string(sd.FullName())
	said, annotated := option[*toolv1.Service](sd, toolv1.E_Service)
	overlay := c.overlays[name]
	svc := &Service{Name: name, Descriptor: sd, Zone: c.zone(sd, said), Title: nameTitle(string(sd.Name()))}
	if !blank(said.GetTitle()) {
		svc.Title = said.GetTitle()
	}
	if !blank(overlay.GetServiceTitle()) {
		svc.Title = overlay.GetServiceTitle()
	}
	at := func(field protoreflect.Name) place {
		return place{descriptor: sd, option: toolv1.E_Service, field: field}
	}
	if id := said.GetJsonProfile(); id != "" {
		c.checkProfile(name, at("json_profile"), id)
	}
	if defaults, ok := option[*toolv1.File](sd.ParentFile(), toolv1.E_File); ok && defaults.GetJsonProfile() != "" {
		c.checkProfile(name, place{descriptor: sd.ParentFile(), option: toolv1.E_File, field: "json_profile"}, defaults.GetJsonProfile())
	}
	c.checkAccess(name, at("access"), said.GetAccess())
	bases := c.files.bases(sd, func(where protoreflect.ServiceDescriptor, problem string) {
		c.report(name, place{descriptor: where, option: toolv1.E_Service, field: "inherits"}, "%s", problem)
	})

	swept := annotated || overlay != nil
	exposed := 0
	var guarded []*Tool // by a policy of the service's that reads arguments, where that is to be checked
	for i := range sd.Methods().Len() {
		d := collect(sd.Methods().Get(i), c.overlays[functionName(sd.Methods().Get(i))], bases)
		for _, own := range d.own() {
			c.checkDeclaration(functionName(d.method), own)
		}
		if !d.exposed(swept) {
			continue
		}
		exposed++
		if t := c.tool(svc, said, d); t != nil {
			svc.Tools = append(svc.Tools, t)
			if !c.source.RulesChecked && d.access == nil && t.Input != nil && len(t.Rule.Reads()) > 0 {
				guarded = append(guarded, t)
			}
		}
	}
	c.checkShared(name, at("access"), guarded)
	if swept && exposed == 0 {
		c.report(name, at(""), "the service asks to be exposed, but none of its RPCs is: it has none, or excludes them all")
	}
	c.contract.Services = append(c.contract.Services, svc)
}

// zone is the zone of a service: its own, its file's, the one that the process supplies.
func (c *compiler) zone(sd protoreflect.ServiceDescriptor, said *toolv1.Service) string {
	defaults, _ := option[*toolv1.File](sd.ParentFile(), toolv1.E_File)
	zone, at := c.source.Zone, place{descriptor: sd}
	switch {
	case said.GetZone() != "":
		zone, at = said.GetZone(), place{descriptor: sd, option: toolv1.E_Service, field: "zone"}
	case defaults.GetZone() != "":
		zone, at = defaults.GetZone(), place{descriptor: sd.ParentFile(), option: toolv1.E_File, field: "zone"}
	}
	if zone != "" {
		if err := participant.CheckZone(zone); err != nil {
			c.report(string(sd.FullName()), at, "%v", err)
		}
	}
	return zone
}

// exposed reports whether the RPC is a tool (tools.md, "Exposing"): it carries `tool`, code says so, or its service is
// swept and it is not excluded.
func (d *declarations) exposed(swept bool) bool {
	return d.tool != nil || d.overlay != nil || swept && !d.excluded()
}

// tool compiles one exposed RPC; nil where it cannot be a tool.
func (c *compiler) tool(svc *Service, said *toolv1.Service, d *declarations) *Tool {
	m, all := d.method, d.all()
	function := functionName(m)
	t := &Tool{
		Name:       ToolName(QualifiedName(svc.Zone, svc.Name), string(m.Name())),
		Zone:       svc.Zone,
		Service:    svc.Name,
		Method:     string(m.Name()),
		FullMethod: "/" + function,
		Descriptor: m,
	}
	problems := len(c.conflicts)
	c.describe(t, svc, d)
	c.settle(t, said, d)
	c.rule(t)
	t.Result = c.resultOf(t, d)

	profile, known := c.profileOf(function, all, said, m.ParentFile())
	if known && t.Result != nil {
		t.Profile = profile
		c.derive(t)
		if !c.source.RulesChecked {
			c.checkReads(t, d.access)
		}
	}
	if len(c.conflicts) > problems {
		return nil
	}
	return t
}

// rule compiles a tool's access rule. A policy that does not compile has been reported where it is declared, unless that
// is another service, from which this one inherits.
func (c *compiler) rule(t *Tool) {
	t.Rule = access.Nobody()
	if t.Denied != "" {
		return
	}
	rule, err := access.Compile(t.Access, access.Facts{
		Name: t.Name, Function: t.Function(), Zone: t.Zone, ReadOnly: t.Hints.ReadOnly, Destructive: t.Hints.Destructive,
		Idempotent: t.Hints.Idempotent, OpenWorld: t.Hints.OpenWorld, Weight: t.Weight,
	})
	switch {
	case err == nil:
		t.Rule = rule
	case len(c.conflicts) == 0:
		c.report(t.Function(), place{descriptor: t.Descriptor}, policyProblem, err)
	}
}

// derive adds the schemas.
func (c *compiler) derive(t *Tool) {
	at := place{descriptor: t.Descriptor}
	input := c.deriveInput(t)
	if input != nil && !c.source.RulesChecked {
		c.checkRules(t.Function(), at, input)
	}
	output, warnings, err := schema.Output(t.Result, t.Profile)
	if err != nil {
		c.report(t.Function(), at, "no output schema can be derived: %v", err)
	}
	for _, w := range warnings {
		c.warn(t.Function(), "output: %s", w)
	}
	if !c.source.RulesChecked {
		c.checkExamples(t, input)
		c.checkExamples(t, output)
	}
	t.Input, t.Output = input, output
	if input != nil {
		t.Headers = input.Headers()
	}
}

// deriveInput derives the schema of the arguments; nil where there is none, which has been reported.
func (c *compiler) deriveInput(t *Tool) *schema.Document {
	input, warnings, err := schema.Input(t.Descriptor.Input(), t.Profile)
	misplaced, others := splitHeaderProblems(err)
	if len(misplaced) > 0 && others == nil && c.source.RulesChecked {
		for _, p := range misplaced {
			c.warn(t.Function(), "no headers are published: %v", p)
		}
		misplaced = nil
		input, warnings, others = schema.InputWithoutHeaders(t.Descriptor.Input(), t.Profile)
	}
	if others != nil {
		c.report(t.Function(), place{descriptor: t.Descriptor}, "no input schema can be derived: %v", others)
	}
	for _, p := range misplaced {
		c.report(t.Function(), place{descriptor: p.Field, option: toolv1.E_Field, field: "header"}, "%v", p)
	}
	for _, w := range warnings {
		c.warn(t.Function(), "input: %s", w)
	}
	return input
}

// splitHeaderProblems takes the header options that break a rule out of the reasons why a schema cannot be derived.
func splitHeaderProblems(err error) (misplaced []*schema.HeaderProblem, others error) {
	var rest []error
	for _, problem := range unjoin(err) {
		var p *schema.HeaderProblem
		if errors.As(problem, &p) {
			misplaced = append(misplaced, p)
		} else {
			rest = append(rest, problem)
		}
	}
	return misplaced, errors.Join(rest...)
}

// unjoin gives the errors that errors.Join joined.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// checkRules reports protovalidate rules that do not compile. No call could be judged by them.
func (c *compiler) checkRules(function string, at place, input *schema.Document) {
	_, err := rules.Compile(input)
	for _, problem := range unjoin(err) {
		c.report(function, at, "%v", problem)
	}
}

// checkNames reports what would be published twice: two functions that hash alike, and one declared name within one
// zone's root. Neither of two is preferred; the one that comes second is named first.
func (c *compiler) checkNames(tools []*Tool) {
	hashes, aliases := map[string]*Tool{}, map[string]*Tool{}
	for _, t := range tools {
		if first := hashes[t.Name]; first != nil {
			c.report(t.Function(), place{descriptor: t.Descriptor},
				"its name %s is that of %s too: rename one of them", t.Name, first.Function())
			continue
		}
		hashes[t.Name] = t
		if t.Alias == "" {
			continue
		}
		key := participant.Root(t.Zone) + "/" + t.Alias
		if first := aliases[key]; first != nil {
			c.report(t.Function(), place{descriptor: t.Descriptor, option: toolv1.E_Tool, field: "name"},
				"the declared name %q is that of %s too: it must be unique in the zone's root", t.Alias, first.Function())
			continue
		}
		aliases[key] = t
	}
}
