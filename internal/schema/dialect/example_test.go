package dialect_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/apipb"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// A document in a dialect, and what arguments that are spelled by it are canonically.
func Example() {
	md := new(apipb.Mixin).ProtoReflect().Descriptor()
	canonical, _, err := schema.Input(md, schema.Profile{})
	if err != nil {
		fmt.Println(err)
		return
	}
	document := dialect.OpenAIStrict.Input(canonical)
	fmt.Println(string(document.JSON()))
	fmt.Println(string(dialect.Canonicalize(document, []byte(`{"name":"x","root":null}`))))
	// Output:
	// {"type":"object","properties":{"name":{"type":["string","null"]},"root":{"type":["string","null"]}},"required":["name","root"],"additionalProperties":false}
	// {"name":"x"}
}
