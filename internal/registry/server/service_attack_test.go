package server_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion/assertiontest"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// The registry is a service like others for the calls that an edge makes: it believes the edge's word and nothing else,
// and no assertion lets anybody register.
func TestAssertion_attacked(t *testing.T) {
	h := newHouse(t, nil)
	h.furnish()
	key := h.until("there is a key", func(v *registry.View) bool { return len(v.AssertionKeys) == 1 }).AssertionKeys[0]
	call := assertiontest.Call{
		Kid: key.GetKid(), Seed: key.GetSeed(), Zone: "system-api", Service: selfName,
		FullMethod: registryv1.RegistryService_ListZones_FullMethodName, OtherMethod: registryv1.RegistryService_ListTools_FullMethodName,
		Participant: participant.Application("acme-org", "orders-app", "somebody"), Now: time.Now(),
	}
	for _, sent := range call.Believed(t) {
		// The registry asks for machine credentials only where there is no assertion.
		if _, err := h.client.ListZones(metadata.NewOutgoingContext(h.ctx(), sent.Metadata), &registryv1.ListZonesRequest{}); err != nil {
			t.Errorf("%s: %v", sent.Name, err)
		}
	}
	register := request(protos(t, "x", orders), "", "acme.x.OrderService")
	for _, sent := range append(call.Forged(t), call.Believed(t)...) {
		_, err := h.client.Register(metadata.NewOutgoingContext(h.ctx(), sent.Metadata), register)
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: registering: %v", sent.Name, err)
		}
	}
	told := ""
	for _, sent := range call.Forged(t) {
		_, err := h.client.ListZones(metadata.NewOutgoingContext(h.ctx(), sent.Metadata), &registryv1.ListZonesRequest{})
		if told == "" {
			told = status.Convert(err).Message()
		}
		if s := status.Convert(err); s.Code() != codes.Unauthenticated || s.Message() != told || len(s.Details()) != 0 {
			t.Errorf("%s: %v", sent.Name, err)
		}
	}
}
