package edge

import (
	"net/http"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// headerKinds are the kinds of values that a contract lets a header repeat.
var headerKinds = map[schema.Kind]mcp.HeaderKind{
	schema.String:  mcp.HeaderString,
	schema.Integer: mcp.HeaderInteger,
	schema.Boolean: mcp.HeaderBoolean,
}

// headers gives what a contract declares as the protocol's handler asks for it; nil for none.
func headers(declared []contract.Header) []mcp.Header {
	if declared == nil {
		return nil
	}
	list := make([]mcp.Header, len(declared))
	for i, h := range declared {
		list[i] = mcp.Header{Name: http.CanonicalHeaderKey("Mcp-Param-" + h.Name), Path: h.Path, Kind: headerKinds[h.Kind]}
	}
	return list
}
