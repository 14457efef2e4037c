package access_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sallyport-dev/sallyport/test/rawgrpc"
)

// witness is a gRPC server that serves every method there is. It believes the assertion of a call and nothing else,
// as a service in any language would that reads access.md, and answers with what it was told; a call without a sound
// assertion fails. It is safe for concurrent use.
type witness struct {
	address string
	keys    map[string]ed25519.PublicKey
	// calls counts the calls that arrived, unsound ones included.
	calls atomic.Int64
}

// startWitness serves on loopback until the test ends.
func startWitness(t testing.TB, keys map[string]ed25519.PublicKey) *witness {
	t.Helper()
	w := &witness{keys: keys}
	server := grpc.NewServer(grpc.UnknownServiceHandler(w.serve), grpc.ForceServerCodecV2(rawgrpc.Codec{}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return w
}

func (w *witness) serve(_ any, stream grpc.ServerStream) error {
	w.calls.Add(1)
	method, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	said, err := w.believe(md.Get("sallyport-assertion"))
	if err != nil {
		return status.Errorf(codes.FailedPrecondition, "the assertion: %v", err)
	}
	if said.Method != method {
		return status.Errorf(codes.FailedPrecondition, "the assertion is for %s, the call of %s", said.Method, method)
	}
	if raw := md.Get("sallyport-participant-bin"); len(raw) != 1 || b64([]byte(raw[0])) != said.Participant {
		return status.Error(codes.FailedPrecondition, "the participant beside the assertion is another")
	}
	for _, name := range []string{"authorization", "clientid", "clientsecret", "x-forwarded-for"} {
		if len(md.Get(name)) > 0 {
			return status.Errorf(codes.FailedPrecondition, "the caller's %s came along", name)
		}
	}
	var response []byte
	for i, text := range []string{said.Participant, said.Audience, said.Method} {
		response = protowire.AppendTag(response, protowire.Number(i+1), protowire.BytesType)
		response = protowire.AppendString(response, text)
	}
	return stream.SendMsg(response)
}

// asserted are the claims of an assertion.
type asserted struct {
	Participant string `json:"participant"`
	Method      string `json:"method"`
	Audience    string `json:"aud"`
	IssuedAt    int64  `json:"iat"`
	Expiry      int64  `json:"exp"`
}

// believe checks an assertion as docs and access.md say.
func (w *witness) believe(tokens []string) (*asserted, error) {
	if len(tokens) != 1 {
		return nil, fmt.Errorf("there are %d", len(tokens))
	}
	parts := strings.Split(tokens[0], ".")
	if len(parts) != 3 {
		return nil, errors.New("it is no compact JWS")
	}
	var header struct{ Alg, Typ, Kid string }
	said := new(asserted)
	for i, into := range []any{&header, said} {
		b, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, into); err != nil {
			return nil, err
		}
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	key := w.keys[header.Kid]
	switch now := time.Now().Unix(); {
	case err != nil:
		return nil, err
	case header.Alg != "EdDSA" || header.Typ != "sallyport-assertion+jwt" || key == nil:
		return nil, fmt.Errorf("its header is %+v", header)
	case !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature):
		return nil, errors.New("its signature is another's")
	case said.IssuedAt > now+30 || said.Expiry < now-30 || said.Expiry-said.IssuedAt != 60:
		return nil, errors.New("its time is not now")
	}
	return said, nil
}
