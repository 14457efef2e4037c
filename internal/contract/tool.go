package contract

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// progressMessage is the type of one sign of life of a running call.
const progressMessage protoreflect.FullName = "sallyport.tool.v1.Progress"

// describe gives a tool what people and models read: title, description and hints, all from the one declaration that
// describes it, else from the RPC itself.
func (c *compiler) describe(t *Tool, svc *Service, d *declarations) {
	by := d.describing()
	function := nameTitle(t.Method)
	if by != nil && !blank(by.tool.GetTitle()) {
		function = by.tool.GetTitle()
	}
	t.Title = svc.Title + " " + function
	t.Description = c.description(d, by)
	if blank(t.Description) || blank(function) {
		c.report(t.Function(), place{descriptor: d.method}, "its description is blank, since its name has no words: write one")
	}

	options, _ := d.method.Options().(*descriptorpb.MethodOptions)
	level := options.GetIdempotencyLevel()
	if by != nil {
		t.Hints = declaredHints(by.tool)
	} else {
		t.Hints = inferredHints(t.Method, level)
	}
	t.RepeatSafe = level != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN ||
		by != nil && (t.Hints.ReadOnly || t.Hints.Idempotent)
}

// description is the first that is not blank: what the declaration says, the comment of the RPC, the comments of the
// RPCs that it inherits, the name as a sentence.
func (c *compiler) description(d *declarations, by *declaration) string {
	if by != nil && by.tool.GetDescription() != "" {
		return by.tool.GetDescription()
	}
	for _, m := range append([]protoreflect.MethodDescriptor{d.method}, d.inherited...) {
		comment := m.ParentFile().SourceLocations().ByDescriptor(m).LeadingComments
		// Nothing guarantees the encoding of a comment in descriptors that somebody sends.
		text := schema.CleanComment(strings.ToValidUTF8(comment, "\uFFFD"))
		if blank(text) {
			continue
		}
		text, cut := cutDescription(text)
		if cut {
			c.warn(functionName(d.method), "its comment is longer than 4,096 characters and was cut at a sentence")
		}
		return text
	}
	return nameSentence(string(d.method.Name()))
}

// settle gives a tool what the platform acts upon.
func (c *compiler) settle(t *Tool, said *toolv1.Service, d *declarations) {
	all := d.all()
	// A declared name belongs to one function, so that it is not inherited.
	if by := nearest(d.own(), func(s *toolv1.Tool) bool { return s.GetName() != "" }); by != nil {
		t.Alias = by.tool.GetName()
	}
	t.Access = said.GetAccess()
	if d.access = nearest(all, func(s *toolv1.Tool) bool { return s.GetAccess() != nil }); d.access != nil {
		t.Access = d.access.tool.GetAccess()
	}
	options := []proto.Message{said}
	for _, decl := range all {
		options = append(options, decl.tool)
	}
	t.Denied = deniedBy(t.Access, options...)
	t.Restricted = restrictedBy(t.Access)

	if by := nearest(all, func(s *toolv1.Tool) bool { return s.GetWeight() != nil }); by != nil {
		t.Weight = by.tool.GetWeight()
	}
	if by := nearest(all, func(s *toolv1.Tool) bool { return s.GetTimeout() != nil }); by != nil {
		t.Timeout, _ = duration(by.tool.GetTimeout())
	}
	if by := nearest(all, func(s *toolv1.Tool) bool { return len(s.GetRequiredClientCapabilities()) > 0 }); by != nil {
		t.Capabilities = slices.Clone(by.tool.GetRequiredClientCapabilities())
	}
	t.Progress = nearest(all, (*toolv1.Tool).GetProgress) != nil
	t.Confirm = nearest(all, (*toolv1.Tool).GetConfirm) != nil
}

// resultOf gives the message that is the tool's result, or reports why the RPC cannot be a tool (tools.md, "Exposing").
func (c *compiler) resultOf(t *Tool, d *declarations) protoreflect.MessageDescriptor {
	m := d.method
	at := place{descriptor: m}
	switch {
	case m.IsStreamingClient():
		c.report(t.Function(), at, "a client-streaming or bidirectional RPC cannot be a tool: remove its tool option, or keep it out of the sweep with tool_info {exclude: true}")
		return nil
	case m.IsStreamingServer() && !t.Progress:
		c.report(t.Function(), at, "a server-streaming RPC cannot be a tool unless its option says progress: true and its response has the progress shape: keep it out of the sweep with tool_info {exclude: true}")
		return nil
	case m.IsStreamingServer():
		result := progressResult(m.Output())
		if result == nil {
			c.report(t.Function(), at, "its response %s has not the progress shape: one oneof with a field of type %s and one message field that is the result, and nothing else",
				m.Output().FullName(), progressMessage)
		}
		return result
	case t.Progress:
		c.report(t.Function(), at, "it says progress: true, but it is not server-streaming")
		return nil
	default:
		return m.Output()
	}
}

// progressResult gives the result's message of a response that has the progress shape: one oneof of a Progress and the
// result. It is nil for every other shape.
func progressResult(response protoreflect.MessageDescriptor) protoreflect.MessageDescriptor {
	if response.Fields().Len() != 2 || response.Oneofs().Len() != 1 || response.Oneofs().Get(0).Fields().Len() != 2 {
		return nil
	}
	var result protoreflect.MessageDescriptor
	signs := 0
	for i := range 2 {
		switch md := response.Fields().Get(i).Message(); {
		case md == nil:
			return nil
		case md.FullName() == progressMessage:
			signs++
		default:
			result = md
		}
	}
	if signs != 1 {
		return nil
	}
	return result
}
