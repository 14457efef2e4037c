package transcodetest

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// contractTypes resolves what an Any may carry: the messages of the contract, and no others, whatever is linked into
// this program. They are looked for when the first Any asks, since most tools have none.
type contractTypes struct {
	byName func() map[protoreflect.FullName]protoreflect.MessageDescriptor
}

func newContractTypes(roots ...protoreflect.MessageDescriptor) *contractTypes {
	return &contractTypes{sync.OnceValue(func() map[protoreflect.FullName]protoreflect.MessageDescriptor {
		found := map[protoreflect.FullName]protoreflect.MessageDescriptor{}
		for _, root := range roots {
			for _, md := range schema.ContractMessages(root) {
				found[md.FullName()] = md
			}
		}
		return found
	})}
}

// FindMessageByName finds a message of the contract.
func (t *contractTypes) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if md := t.byName()[name]; md != nil {
		return dynamicpb.NewMessageType(md), nil
	}
	return nil, protoregistry.NotFound
}

// FindMessageByURL finds a message of the contract by the last segment of a type URL.
func (t *contractTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return t.FindMessageByName(protoreflect.FullName(url[strings.LastIndexByte(url, '/')+1:]))
}

// FindExtensionByName finds nothing: extensions are not published.
func (*contractTypes) FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}

// FindExtensionByNumber finds nothing: extensions are not published.
func (*contractTypes) FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}
