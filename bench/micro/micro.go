// Package micro measures the plan of a tool alone: arguments to a request and a response to JSON, beside protojson with
// generated types; the same arguments in each dialect; what compiling a plan takes; and what a plan keeps in memory.
//
// In come nothing but the workload's bytes, out come functions that do one operation each, for testing.B and for a
// process that measures them alone on its core. The package knows no network.
package micro

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/workload"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// A Subject is one operation that is measured.
type Subject struct {
	// Name is unique among the subjects.
	Name string
	// Do does the operation once. It is not safe for concurrent use.
	Do func() error
}

// The names of the subjects that are compared. Those with a size are followed by `/small` or `/large`.
const (
	RequestPlan       = "request/plan"
	RequestGenerated  = "request/generated"
	ResponsePlan      = "response/plan"
	ResponseGenerated = "response/generated"
	CompilePlan       = "compile/plan"
	DeriveSchema      = "compile/schema"
)

// Subjects gives the operations, each of which was done once, rightly.
func Subjects() ([]Subject, error) {
	doc, err := derive(requestType())
	if err != nil {
		return nil, err
	}
	p, err := compile(doc, requestType(), responseType())
	if err != nil {
		return nil, err
	}
	inDialects, err := spelled(doc)
	if err != nil {
		return nil, err
	}
	all := append(requests(p), inDialects...)
	all = append(all, Subject{CompilePlan, compilePlan()}, Subject{DeriveSchema, deriveSchema})
	for _, size := range []workload.Size{workload.Small, workload.Large} {
		all = append(all, responses(p, size)...)
	}
	if err := verify(p); err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := s.Do(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return all, nil
}

func requestType() protoreflect.MessageDescriptor {
	return new(benchv1.GetItemRequest).ProtoReflect().Descriptor()
}

func responseType() protoreflect.MessageDescriptor {
	return new(benchv1.GetItemResponse).ProtoReflect().Descriptor()
}

// requests are the operations from arguments to a request. What a call allocates for its request is the caller's to
// keep, so that nothing is reused on either side.
func requests(p *plan) []Subject {
	return []Subject{
		{RequestPlan, func() error {
			_, err := p.request(smallArguments)
			return err
		}},
		{RequestGenerated, func() error {
			m := new(benchv1.GetItemRequest)
			if err := protojson.Unmarshal(smallArguments, m); err != nil {
				return err
			}
			_, err := proto.Marshal(m)
			return err
		}},
	}
}

// responses are the operations from a response to JSON, into a buffer that is kept.
func responses(p *plan, size workload.Size) []Subject {
	response := workload.Wire(workload.Response(size, 3))
	var ours, theirs []byte
	options := protojson.MarshalOptions{EmitDefaultValues: true}
	return []Subject{
		{ResponsePlan + "/" + string(size), func() (err error) {
			ours, err = p.appendJSON(ours[:0], response)
			return err
		}},
		{ResponseGenerated + "/" + string(size), func() (err error) {
			m := new(benchv1.GetItemResponse)
			if err := proto.Unmarshal(response, m); err != nil {
				return err
			}
			theirs, err = options.MarshalAppend(theirs[:0], m)
			return err
		}},
	}
}

// compilePlan compiles the tool's plan, its schema given, and uses it once: parts of it are compiled at need.
func compilePlan() func() error {
	doc, failed := derive(requestType())
	var buffer []byte
	return func() (err error) {
		if failed != nil {
			return failed
		}
		_, buffer, err = used(doc, buffer)
		return err
	}
}

// used is a plan that was used once. buffer is overwritten.
func used(doc *schema.Document, buffer []byte) (*plan, []byte, error) {
	p, err := compile(doc, requestType(), responseType())
	if err != nil {
		return nil, buffer, err
	}
	if _, err := p.request(smallArguments); err != nil {
		return nil, buffer, err
	}
	buffer, err = p.appendJSON(buffer[:0], smallResponse)
	return p, buffer, err
}

var (
	smallArguments = workload.Arguments(workload.Small, 3)
	smallResponse  = workload.Wire(workload.Response(workload.Small, 3))
)

func deriveSchema() error {
	_, err := derive(requestType())
	return err
}

// verify holds the plan to protojson.
func verify(p *plan) error {
	for _, size := range []workload.Size{workload.Small, workload.Large} {
		request, err := p.request(workload.Arguments(size, 3))
		if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		got := new(benchv1.GetItemRequest)
		if err := proto.Unmarshal(request, got); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		if want := workload.Request(size, 3); !proto.Equal(got, want) {
			return fmt.Errorf("request: the plan made %v, want %v", got, want)
		}
		response, err := p.appendJSON(nil, workload.Wire(workload.Response(size, 3)))
		if err != nil {
			return fmt.Errorf("response: %w", err)
		}
		want, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(workload.Response(size, 3))
		if err != nil {
			return err
		}
		if err := sameJSON(response, want); err != nil {
			return fmt.Errorf("response: %w", err)
		}
	}
	return nil
}

// sameJSON says whether two texts mean the same, whatever their order and blanks.
func sameJSON(got, want jsontext.Value) error {
	got, want = bytes.Clone(got), bytes.Clone(want)
	for _, v := range []*jsontext.Value{&got, &want} {
		if err := v.Canonicalize(jsontext.CanonicalizeRawFloats(false)); err != nil {
			return err
		}
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the plan wrote %s, want %s", got, want)
	}
	return nil
}

// Memory is what one tool keeps.
type Memory struct {
	// Schema is the derived document of the request, Plan what is compiled of it and of the response, in bytes.
	Schema int64 `json:"schema"`
	Plan   int64 `json:"plan"`
}

// MeasureMemory compiles many tools and looks at what they keep.
func MeasureMemory() (Memory, error) {
	const tools = 500
	docs, plans := make([]*schema.Document, tools), make([]*plan, tools)
	before := heap()
	for i := range docs {
		var err error
		if docs[i], err = derive(requestType()); err != nil {
			return Memory{}, err
		}
	}
	derived := heap()
	var buffer []byte
	for i := range plans {
		var err error
		if plans[i], buffer, err = used(docs[i], buffer); err != nil {
			return Memory{}, err
		}
	}
	planned := heap()
	runtime.KeepAlive(docs)
	runtime.KeepAlive(plans)
	return Memory{Schema: (derived - before) / tools, Plan: (planned - derived) / tools}, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one only unlinked
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
