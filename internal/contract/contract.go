package contract

import (
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Source is what a contract is compiled from.
type Source struct {
	// Files are the services' files and every file that has a type they need, with comments as source info. Options must
	// be resolved against the linked types, as unmarshalling with the global registry does. Compile does not modify them.
	Files *descriptorpb.FileDescriptorSet
	// Services are the fully qualified names of the services that the process serves.
	Services []string
	// Zone is the zone of the services whose proto names none; empty is un-zoned.
	Zone string
	// Overlays are what the process exposes and describes in code.
	Overlays []*registryv1.Overlay
	// DefaultProfile is the JSON profile of tools for which the proto names none. The zero value is `protojson`.
	DefaultProfile schema.Profile
	// Profiles finds the custom JSON profiles; the built-in ones are known anyway. May be nil.
	Profiles func(id string) (schema.Profile, bool)
	// RulesChecked says that the protovalidate rules of the files are known to compile, the examples of their fields to
	// fit, and policies to name arguments that there are, as those of a registered contract are. Finding out takes
	// milliseconds for each function that has some. A tool whose header options break a rule that is newer than its
	// registration is published without headers.
	RulesChecked bool
}

// Contract is a compiled contract. It is immutable and may be used concurrently.
type Contract struct {
	// Services are the services in the order in which the source names them, those without a tool included.
	Services []*Service
	// Warnings are what is no error but deserves a look, each beginning with its function.
	Warnings []string
}

// Service is one service of a contract.
type Service struct {
	Zone       string // empty for un-zoned
	Name       string // fully qualified
	Title      string // the service half of its tools' titles
	Descriptor protoreflect.ServiceDescriptor
	Tools      []*Tool // in the order of the RPCs
}

// Tool is one function that is published.
type Tool struct {
	Name        string // the hash, by which tools/call always finds it
	Alias       string // the declared name that is published instead; empty where none is declared
	Title       string // both halves
	Description string // never blank, at most 4,096 characters

	Zone       string // empty for un-zoned
	Service    string // fully qualified
	Method     string // the RPC's simple name
	FullMethod string // `/package.Service/Method`, as gRPC spells it

	Hints Hints
	// RepeatSafe reports that a call whose outcome is unknown may be repeated: by a declared hint or by proto's
	// idempotency level, never by the RPC's name.
	RepeatSafe bool

	// Profile is how the arguments and the structured result are spelled in JSON.
	Profile schema.Profile
	// Descriptor is the RPC.
	Descriptor protoreflect.MethodDescriptor
	// Result is the message that is the result: the response, or for a tool with progress the result's field.
	Result protoreflect.MessageDescriptor

	// Access is the rule of the RPC, else of its service, else nil, which is public to everyone who reaches the zone.
	Access *toolv1.Access
	// Denied says why nobody may see or call the tool, whatever its Access says; empty where nothing forbids it.
	Denied string
	// Restricted says what must be judged before anybody may see or call the tool; empty where nothing must.
	Restricted string
	// Rule is Access compiled, for whoever judges. That of a denied tool permits nobody.
	Rule *access.Rule

	Weight       *toolv1.Weight // nil where nothing is said
	Timeout      time.Duration  // 0: the edge's default
	Capabilities []string       // what the client must be able to do
	Progress     bool           // the RPC streams its progress before its one result
	Confirm      bool           // the host should ask before each call

	Input  *schema.Document
	Output *schema.Document // nil where none is published
	// Headers are the properties of the input that modern callers repeat in headers, in the order of the schema; nil for
	// none.
	Headers []Header
}

// Header is a property whose value callers repeat in an HTTP header (mcp-protocol.md 2.6).
type Header = schema.Header

// Function names the tool as `package.Service/Method`.
func (t *Tool) Function() string { return t.Service + "/" + t.Method }

// Resource is the tool's resource identifier, `srv://zone~package.Service/Method`.
func (t *Tool) Resource() string {
	return Identifier{Zone: t.Zone, Service: t.Service, Method: t.Method}.String()
}
