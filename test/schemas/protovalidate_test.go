package schemas_test

import (
	"errors"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestProtovalidate_randomContracts holds what is accepted against protovalidate: gate and rules together accept
// nothing that it refuses, and where the gate says that no rules remain, none does.
func TestProtovalidate_randomContracts(t *testing.T) {
	contracts := rapid.Custom(schematest.RandomMessage)
	tally := map[string]int{}
	for seed := range 300 {
		md := contracts.Example(seed)
		profile, _ := schema.Builtin(schema.BuiltinIDs()[seed%4])
		doc, _, err := schema.Input(md, profile)
		if err != nil {
			tally["contracts refused by the schema"]++
			continue
		}
		if ruledWrappers(md, map[protoreflect.FullName]bool{}) {
			tally["contracts that protovalidate misreads"]++
			continue
		}
		g, err := gate.Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		judge, err := rules.Compile(doc)
		if err != nil {
			tally["contracts refused by the rules"]++
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		validator, err := protovalidate.New()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range draw(doc, seed, 6, 20) {
			request, refusal := g.Judge(text)
			if refusal != nil {
				tally["documents refused by the gate"]++
				continue
			}
			if judge != nil {
				refusal = judge.Judge(request.Wire)
			}
			if refusal != nil && !request.RulesRemain {
				t.Errorf("the gate says that no rules remain of %s, but: %s", text, refusal.Text())
			}
			m := dynamicpb.NewMessage(md)
			if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(request.Wire, m); err != nil {
				t.Fatal(err)
			}
			broken := givable(t, validator.Validate(m))
			switch {
			case refusal == nil && broken != nil:
				t.Errorf("accepted %s, which protovalidate refuses: %v", text, broken)
			case refusal != nil && broken == nil && insideAny(t, doc, text, refusal):
				tally["documents refused within an Any"]++
			case refusal != nil && broken == nil:
				t.Errorf("protovalidate accepts %s: %s", text, refusal.Text())
			case refusal != nil:
				tally["documents refused by the rules"]++
			case request.RulesRemain:
				tally["documents accepted by both"]++
			default:
				tally["documents accepted by the gate alone"]++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, schematest.Source(md))
		}
	}
	t.Log(tally)
	for _, what := range []string{"documents refused by the gate", "documents refused by the rules", "documents accepted by both", "documents accepted by the gate alone"} {
		if tally[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
}

// ruledWrappers reports rules on wrappers that are items or values of maps. protovalidate 1.4.0 does not look into the
// wrapper there: it panics over a number, and measures the text by which the message prints itself.
func ruledWrappers(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		inner := fd.Message()
		ruled, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
		if fd.IsMap() {
			inner = fd.MapValue().Message()
		}
		if inner == nil {
			continue
		}
		if schema.IsWrapper(inner) && (ruled.GetRepeated().GetItems() != nil || ruled.GetMap().GetValues() != nil) || ruledWrappers(inner, seen) {
			return true
		}
	}
	return false
}

// insideAny reports a problem within an Any: what it holds is judged here, and no part of the message to protovalidate.
func insideAny(t *testing.T, doc *schema.Document, text []byte, refusal *gate.Refusal) (found bool) {
	t.Helper()
	v, err := schematest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	schematest.Visit(doc.Root(), v, func(path string, n *schema.Node, _ *schematest.Value) {
		for _, p := range refusal.Problems {
			found = found || n.Kind == schema.AnyMessage && (p.Path == path || strings.HasPrefix(p.Path, path+"."))
		}
	})
	return found
}

// givable is what protovalidate says of what a caller can give: rules of hidden and output-only fields are the
// service's own to keep.
func givable(t *testing.T, err error) error {
	t.Helper()
	var violations *protovalidate.ValidationError
	if err == nil {
		return nil
	}
	if !errors.As(err, &violations) {
		t.Fatal(err)
	}
	var left []error
	for _, v := range violations.Violations {
		if v.FieldDescriptor == nil || schema.Visible(v.FieldDescriptor, true) {
			left = append(left, errors.New(v.String()))
		}
	}
	return errors.Join(left...)
}
