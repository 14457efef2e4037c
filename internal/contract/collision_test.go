package contract

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// No two functions are known that hash alike, so that the check is fed two tools that claim it.
func TestCheckNames_twoFunctionsThatHashAlike(t *testing.T) {
	method := func(name string) protoreflect.MethodDescriptor { return nil }
	c := &compiler{seen: map[string]bool{}}
	c.checkNames([]*Tool{
		{Service: "acme.A", Method: "One", Name: "same", Descriptor: method("One")},
		{Service: "acme.A", Method: "Two", Name: "other"},
		{Service: "acme.B", Method: "Three", Name: "same"},
	})
	if len(c.conflicts) != 1 {
		t.Fatalf("conflicts %v, want one", c.conflicts)
	}
	got := c.conflicts[0]
	if got.Function != "acme.B/Three" || !strings.Contains(got.Problem, "acme.A/One") {
		t.Errorf("conflict %s, want the second function first and the first one named", got)
	}
}

func TestNearest_isNilWhereNothingSays(t *testing.T) {
	list := []*declaration{{tool: &toolv1.Tool{}}, {tool: &toolv1.Tool{Confirm: true}}}
	if d := nearest(list, (*toolv1.Tool).GetConfirm); d != list[1] {
		t.Errorf("nearest %v", d)
	}
	if d := nearest(list, (*toolv1.Tool).GetProgress); d != nil {
		t.Errorf("nearest %v, want none", d)
	}
}
