package rules_test

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// exceptions are why gate and rules refuse what protovalidate accepts. Each is a sentence of the refusal, and what the
// message must hold for the sentence to be right.
var exceptions = []struct {
	name, why string
	text      *regexp.Regexp
	holds     func(protoreflect.Message) bool
}{
	{"required by the language", "boundary.md: what proto2 and editions require is required, whatever protovalidate ignores",
		regexp.MustCompile(`is required$`), func(m protoreflect.Message) bool { return proto.CheckInitialized(m.Interface()) != nil }},
	{"control characters", "boundary.md, \"The gate\": no C0 control character but tab, newline and carriage return, whatever the rules",
		regexp.MustCompile(`must not contain control characters`), some(control)},
	{"not finite", "boundary.md: NaN and the infinities are not accepted as input",
		regexp.MustCompile(`must be a number$`), some(notFinite)},
	{"unspecified", "boundary.md: a zero value named _UNSPECIFIED is not published, since leaving the property out says the same",
		regexp.MustCompile(`must be (one of: )?"?[A-Z_0-9]+"?`), some(zeroEnum)},
	{"enum number", "boundary.md, \"The gate\": no enum number",
		regexp.MustCompile(`must be a string$`), some(unknownEnum)},
	{"no @type", "boundary.md: an Any names the type it carries",
		regexp.MustCompile(`@type: is required$`), some(anyOf(""))},
	{"foreign type", "boundary.md: an Any carries a type of the contract for which there is a schema",
		regexp.MustCompile(`@type: (must be one of: type|no type is accepted)`), some(anyOf("type.googleapis.com/"))},
	{"inside an Any", "protovalidate does not look inside an Any; we hold what it carries to the rules of its type",
		regexp.MustCompile(`.`), some(anyOf("type.googleapis.com/"))},
	{"narrower format", "the formats hostname, ipv6 and uri of JSON Schema know no trailing dot, no zone and no IP address of the future",
		regexp.MustCompile(`must be of the format (hostname|ipv6|uri)$`), some(laxFormat)},
}

// TestConformance holds gate and rules against protovalidate, on every message of its own conformance suite and with
// values at and beside every constant of the rules: what gate and rules accept together, it accepts, and what it
// accepts they accept, but for the exceptions. What does not compile there is no contract here.
func TestConformance(t *testing.T) {
	suite := newSuite(t)
	tally := map[string]int{}
	for _, md := range messagesOf(suite.files) {
		g, judge, err := suite.compile(md)
		compiles := true
		c := candidates{random: rand.New(rand.NewPCG(1, 2)), payloads: schema.ContractMessages(md)}
		c.payloads = c.payloads[:min(len(c.payloads), 8)]
		for _, m := range c.messages(md, 3, 150) {
			verdict := suite.validator.Validate(m.Interface())
			if _, failed := errors.AsType[*protovalidate.CompilationError](verdict); failed {
				compiles = false
			}
			if err != nil {
				continue
			}
			for _, explicit := range []bool{false, true} {
				options := protojson.MarshalOptions{Resolver: suite.types, AllowPartial: true, EmitDefaultValues: explicit}
				document, err := options.Marshal(m.Interface())
				if err != nil {
					tally["no JSON form"]++
					continue
				}
				request, refusal := g.Judge(document)
				if refusal == nil && request.RulesRemain {
					tally["judged by rules"]++
					refusal = judge.Judge(request.Wire)
				}
				switch {
				case refusal == nil:
					tally["accepted"]++
					suite.accepted(t, md, document, request.Wire)
				case verdict == nil:
					for _, p := range refusal.Problems {
						tally["exception: "+excuse(t, md, m, document, p)]++
					}
				default:
					tally["refused"]++
				}
			}
		}
		if (err == nil) != compiles {
			t.Errorf("%s: compiled with %v, but to protovalidate its rules are compiled: %v", md.FullName(), err, compiles)
		}
		tally["messages"]++
	}
	for _, e := range exceptions {
		if tally["exception: "+e.name] == 0 {
			t.Errorf("no message needs the exception %q", e.name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%7d %s", tally[key], key)
	}
}

// TestConformance_drawn draws the arguments from the schema instead.
func TestConformance_drawn(t *testing.T) {
	suite := newSuite(t)
	all := messagesOf(suite.files)
	slices.SortFunc(all, func(a, b protoreflect.MessageDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	rapid.Check(t, func(t *rapid.T) {
		md := rapid.SampledFrom(all).Draw(t, "message")
		doc, _, err := schema.Input(md, suite.profile)
		if err != nil {
			t.Skip("no schema")
		}
		g, judge, err := suite.compile(md)
		if err != nil {
			t.Skip("no rules")
		}
		drawer := schematest.NewDrawer(doc.Root())
		if !drawer.Satisfiable() {
			t.Skip("nothing is accepted")
		}
		for range 8 {
			document := drawer.Arguments(t, 3)
			request, refusal := g.Judge([]byte(document))
			if refusal == nil && request.RulesRemain {
				refusal = judge.Judge(request.Wire)
			}
			if refusal == nil {
				suite.accepted(t, md, []byte(document), request.Wire)
			}
		}
	})
}

type suite struct {
	files     *protoregistry.Files
	types     *dynamicpb.Types
	validator protovalidate.Validator
	profile   schema.Profile
}

func newSuite(t testing.TB) *suite {
	t.Helper()
	s := &suite{files: conformanceFiles(t)}
	s.types = dynamicpb.NewTypes(s.files)
	s.profile, _ = schema.Builtin("protojson")
	extensions := &protoregistry.Types{}
	s.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Extensions().Len() {
			if err := extensions.RegisterExtension(dynamicpb.NewExtensionType(fd.Extensions().Get(i))); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	var err error
	if s.validator, err = protovalidate.New(protovalidate.WithExtensionTypeResolver(extensions)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *suite) compile(md protoreflect.MessageDescriptor) (*gate.Gate, *rules.Rules, error) {
	doc, _, err := schema.Input(md, s.profile)
	if err != nil {
		return nil, nil, err
	}
	judge, err := rules.Compile(doc)
	if err != nil {
		return nil, nil, err
	}
	g, err := gate.Compile(doc)
	return g, judge, err
}

// accepted fails where protovalidate refuses what was accepted.
func (s *suite) accepted(t interface{ Errorf(string, ...any) }, md protoreflect.MessageDescriptor, document, wire []byte) {
	m := dynamicpb.NewMessage(md)
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(wire, m); err != nil {
		t.Errorf("%s: %s became bytes that do not parse: %v", md.FullName(), document, err)
	}
	if err := s.validator.Validate(m); err != nil {
		t.Errorf("%s: accepted %s, which protovalidate refuses: %v", md.FullName(), document, err)
	}
}

// excuse names the exception that a problem falls under, and fails where there is none.
func excuse(t *testing.T, md protoreflect.MessageDescriptor, m protoreflect.Message, document []byte, p gate.Problem) string {
	for _, e := range exceptions {
		if e.text.MatchString(p.Path+": "+p.Text) && e.holds(m) {
			return e.name
		}
	}
	t.Errorf("%s: protovalidate accepts %s, but %s: %s", md.FullName(), document, p.Path, p.Text)
	return "none"
}

// some reports a message that holds such a value, at any depth but inside an Any.
func some(holds func(protoreflect.FieldDescriptor, protoreflect.Value) bool) func(protoreflect.Message) bool {
	var visit func(protoreflect.Message) bool
	one := func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		return holds(fd, v) || fd.Message() != nil && visit(v.Message())
	}
	visit = func(m protoreflect.Message) (found bool) {
		for i := range m.Descriptor().Fields().Len() {
			fd := m.Descriptor().Fields().Get(i)
			v := m.Get(fd)
			switch {
			case fd.IsMap():
				v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
					found = found || one(fd.MapKey(), k.Value()) || one(fd.MapValue(), v)
					return true
				})
			case fd.IsList():
				for i := range v.List().Len() {
					found = found || one(fd, v.List().Get(i))
				}
			case m.Has(fd) || fd.Message() == nil:
				found = found || one(fd, v)
			}
		}
		return found
	}
	return visit
}

func control(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	return fd.Kind() == protoreflect.StringKind && strings.ContainsFunc(v.String(), func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r'
	})
}

func notFinite(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	f, ok := float(fd, v)
	return ok && (math.IsNaN(f) || math.IsInf(f, 0))
}

func float(fd protoreflect.FieldDescriptor, v protoreflect.Value) (float64, bool) {
	if fd.Kind() != protoreflect.FloatKind && fd.Kind() != protoreflect.DoubleKind {
		return 0, false
	}
	return v.Float(), true
}

func zeroEnum(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	return fd.Kind() == protoreflect.EnumKind && v.Enum() == 0 && strings.HasSuffix(string(fd.Enum().Values().ByNumber(0).Name()), "_UNSPECIFIED")
}

func unknownEnum(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	return fd.Kind() == protoreflect.EnumKind && fd.Enum().Values().ByNumber(v.Enum()) == nil
}

func anyOf(prefix string) func(protoreflect.FieldDescriptor, protoreflect.Value) bool {
	return func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil || fd.Message().FullName() != "google.protobuf.Any" {
			return false
		}
		url := v.Message().Get(fd.Message().Fields().ByName("type_url")).String()
		return strings.HasPrefix(url, prefix) && (url == "") == (prefix == "")
	}
}

func laxFormat(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	return fd.Kind() == protoreflect.StringKind && regexp.MustCompile(`\.$|%eth0$|^http://\[v`).MatchString(v.String())
}
