package contract

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// defaultProfile is the profile of a tool for which neither the proto nor the edge's configuration names one.
const defaultProfile = "protojson"

// findProfile finds a JSON profile among the built-in and the custom ones (tools.md, "JSON profiles").
func (c *compiler) findProfile(id string) (schema.Profile, bool) {
	if p, ok := schema.Builtin(id); ok {
		return p, true
	}
	if c.source.Profiles != nil {
		return c.source.Profiles(id)
	}
	return schema.Profile{}, false
}

func (c *compiler) checkProfile(function string, at place, id string) {
	if _, ok := c.findProfile(id); !ok {
		c.report(function, at, "json_profile %q is unknown: name one of %s, or one that the registry defines", id,
			strings.Join(schema.BuiltinIDs(), ", "))
	}
}

// profileOf resolves the profile of one tool: method, service, file, configuration, built-in. It is false for an
// unknown one, which has been reported already where it stands.
func (c *compiler) profileOf(function string, list []*declaration, service *toolv1.Service, file protoreflect.FileDescriptor) (schema.Profile, bool) {
	defaults, _ := option[*toolv1.File](file, toolv1.E_File)
	id := service.GetJsonProfile()
	if id == "" {
		id = defaults.GetJsonProfile()
	}
	if d := nearest(list, func(t *toolv1.Tool) bool { return t.GetJsonProfile() != "" }); d != nil {
		id = d.tool.GetJsonProfile()
		c.checkProfile(function, d.at("json_profile"), id)
	}
	if id != "" {
		return c.findProfile(id)
	}
	if c.source.DefaultProfile.ID != "" {
		return c.source.DefaultProfile, true
	}
	return c.findProfile(defaultProfile)
}
