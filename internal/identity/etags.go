package identity

import (
	"crypto/sha256"
	"encoding/base64"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// etagOf names the state of a thing by all that is shown of it, and by nothing else: neither a password nor a secret
// can be guessed by it.
func etagOf(shown proto.Message) string {
	raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(shown) // fails for what no answer could carry
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// unlessChanged refuses to replace what is another thing by now than the one that the caller read with the etag;
// without one the caller replaces whatever there is. What is already what it is to become passes: a call that is sent
// again, since its answer was lost, is not refused for what it did itself.
func unlessChanged(etag, what, name string, is, becomes interface{ GetEtag() string }) error {
	if etag == "" || etag == is.GetEtag() || is.GetEtag() == becomes.GetEtag() {
		return nil
	}
	return status.Errorf(codes.Aborted,
		"%s %s was changed since its etag was read: read it again, and replace what it is now, with its etag", what, name)
}
