package identity

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

func signingKey(k registry.SigningKey) *identityv1.SigningKey {
	return &identityv1.SigningKey{
		Kid: k.Kid, Use: k.Use, CreatedAt: timestamppb.New(k.CreatedAt), SignsFrom: timestamppb.New(k.SignsFrom), Current: k.Current,
	}
}

// ListSigningKeys implements OrganizationService.
func (s *organizations) ListSigningKeys(ctx context.Context, _ *identityv1.ListSigningKeysRequest) (*identityv1.ListSigningKeysResponse, error) {
	keys, err := s.store.SigningKeys(ctx)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	answer := &identityv1.ListSigningKeysResponse{}
	for _, k := range keys {
		answer.SigningKeys = append(answer.SigningKeys, signingKey(k))
	}
	return answer, nil
}

// RotateSigningKey implements OrganizationService.
func (s *organizations) RotateSigningKey(ctx context.Context, req *identityv1.RotateSigningKeyRequest) (*identityv1.RotateSigningKeyResponse, error) {
	k, err := s.store.RotateSigningKey(ctx, req.GetUse(), req.GetRevokeOthers())
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return &identityv1.RotateSigningKeyResponse{SigningKey: signingKey(k)}, nil
}
