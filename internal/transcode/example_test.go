package transcode_test

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// A tool's results are compiled once; then a buffer takes one response after the other.
func ExampleResults_AppendResult() {
	compact, _ := schema.Builtin("compact")
	results, err := transcode.CompileResults((&ordersv1.Address{}).ProtoReflect().Descriptor(), compact)
	if err != nil {
		fmt.Println(err)
		return
	}
	response, err := proto.Marshal(&ordersv1.Address{Street: "Am Markt 1", City: "Bremen", Country: "DE"})
	if err != nil {
		fmt.Println(err)
		return
	}
	buffer := make([]byte, 0, 1024)
	buffer = append(buffer, '{')
	buffer, isError, err := results.AppendResult(buffer, response)
	buffer = append(buffer, '}')
	fmt.Println(string(buffer), isError, err)
	// Output: {"structuredContent":{"street":"Am Markt 1","city":"Bremen","country":"DE"},"content":[{"type":"text","text":"{\"street\":\"Am Markt 1\",\"city\":\"Bremen\",\"country\":\"DE\"}"}]} false <nil>
}
