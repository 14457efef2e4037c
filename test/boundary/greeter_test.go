package boundary_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// greeter is the smallest contract.
const greeter = `
syntax = "proto3";
package greeter.v1;
import "sallyport/tool/v1/options.proto";

service Greeter {
  // Greets.
  rpc Greet(GreetRequest) returns (GreetResponse) { option (sallyport.tool.v1.tool) = {name: "greet"}; }
}
message GreetRequest { string name = 1; }
message GreetResponse { string text = 1; }
`

// The house itself: a call goes all the way and back in every served version, by library and by hand.
func TestHouse_carriesACallThroughInEveryVersion(t *testing.T) {
	h := newHouse(t, map[string]string{"greeter/v1/greeter.proto": greeter})
	if tools := h.list(); len(tools) != 1 || tools["greet"].Title != "Greeter Greet" {
		t.Fatalf("listed %v", tools)
	}
	for _, version := range append([]string{""}, served...) {
		r := h.call(version, "greet", `{"name":"Ada"}`)
		structured, _ := r.result()
		if string(structured) != `{"text":""}` {
			t.Errorf("version %q: answered %s", version, structured)
		}
		if r.seen == nil {
			t.Fatalf("version %q: the service saw nothing", version)
		}
		m := r.seen.as(t, h.message("greeter.v1.GreetRequest"))
		if got := m.Get(m.Descriptor().Fields().ByName("name")); !got.Equal(protoreflect.ValueOfString("Ada")) {
			t.Errorf("version %q: the service got %v", version, got)
		}
		if got := r.seen.participant(t); got.GetId() != "tester" {
			t.Errorf("version %q: the service was called by %v", version, got)
		}
	}
	r := h.send(h.rawRequest([]string{
		"Content-Type: application/json", "clientId: " + h.caller.id, "clientSecret: " + h.caller.secret,
	}, callBody("7", "greet", `{}`)))
	if _, text := r.result(); text != `{"text":""}` || len(r.raw) <= len(r.body) {
		t.Errorf("by hand: %q", r.raw)
	}
	if log := h.log(); log == "" {
		t.Error("nothing was logged")
	}
}
