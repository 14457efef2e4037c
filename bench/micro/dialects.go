package micro

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/workload"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// RequestIn is the name of the operation from arguments in a dialect to a request. That of [dialect.Canonical] is
// RequestPlan.
func RequestIn(d dialect.Dialect) string {
	if d == dialect.Canonical {
		return RequestPlan
	}
	return RequestPlan + "/" + d.String()
}

// spelled are the operations from arguments to a request in every dialect but the canonical one, with the same call in
// the spelling of each.
func spelled(doc *schema.Document) ([]Subject, error) {
	var all []Subject
	for _, d := range dialect.All()[1:] {
		judged := doc
		if other := d.Input(doc); d.ChangesArguments() || other.OpenAtRoot() {
			judged = other // the others are judged canonically, as internal/catalog does
		}
		p, err := compile(judged, requestType(), responseType())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		arguments := argumentsIn(d, smallArguments)
		if err := sameRequest(p, arguments); err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		all = append(all, Subject{RequestIn(d), func() error {
			_, err := p.request(arguments)
			return err
		}})
	}
	return all, nil
}

// argumentsIn spells the workload's arguments in a dialect: where objects are closed the one map in them is pairs.
// Nothing is left out of them, so that there is nothing to be null, and each dialect is told the same.
func argumentsIn(d dialect.Dialect, canonical []byte) []byte {
	if !d.ChangesArguments() {
		return canonical
	}
	return bytes.Replace(canonical, []byte(`{"region":"eu-west","season":"spring"}`),
		[]byte(`[{"key":"region","value":"eu-west"},{"key":"season","value":"spring"}]`), 1)
}

// sameRequest holds a plan to what the workload's small call asks.
func sameRequest(p *plan, arguments []byte) error {
	request, err := p.request(arguments)
	if err != nil {
		return err
	}
	got := new(benchv1.GetItemRequest)
	if err := proto.Unmarshal(request, got); err != nil {
		return err
	}
	if want := workload.Request(workload.Small, 3); !proto.Equal(got, want) {
		return fmt.Errorf("the plan made %v, want %v", got, want)
	}
	return nil
}
