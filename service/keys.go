package service

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
)

// How often the registry is asked for keys. An unknown key id costs a question, and anyone can make up ids: beyond the
// burst, one question in two seconds. Every keysAge the keys are asked for anyway, so that a withdrawn one is forgotten.
const (
	keyQuestions    = 2 * time.Second
	keyBurst        = 3
	keysAge         = 10 * time.Minute
	keysPatience    = 5 * time.Second
	questionAllKeys = "keys"
)

// keys gives the public keys that the registry publishes, from memory where it can. Safe for concurrent use.
type keys struct {
	client registryv1.RegistryServiceClient
	logger *slog.Logger
	known  atomic.Pointer[assertion.Keys]
	limit  *rate.Limiter
	flight singleflight.Group
}

func newKeys(client registryv1.RegistryServiceClient, logger *slog.Logger) *keys {
	k := &keys{client: client, logger: logger, limit: rate.NewLimiter(rate.Every(keyQuestions), keyBurst)}
	k.known.Store(&assertion.Keys{})
	return k
}

// Key gives a key by its id. An unknown one makes it ask the registry, within the limit; who asks meanwhile waits for
// the same answer.
func (k *keys) Key(ctx context.Context, kid string) (ed25519.PublicKey, error) {
	if key, err := k.known.Load().Key(ctx, kid); err == nil {
		return key, nil
	}
	answer := k.flight.DoChan(questionAllKeys, func() (any, error) {
		// The one that was ahead of us may have brought it.
		if _, err := k.known.Load().Key(ctx, kid); err == nil || !k.limit.Allow() {
			return nil, nil
		}
		// The answer is for everyone who waits, so that one impatient caller must not end it.
		return nil, k.refresh(context.WithoutCancel(ctx))
	})
	select {
	case a := <-answer:
		if a.Err != nil {
			return nil, a.Err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return k.known.Load().Key(ctx, kid)
}

// refresh replaces the known keys by those that the registry publishes now. A key that cannot be read is left out and
// logged: the others are still good.
func (k *keys) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keysPatience)
	defer cancel()
	response, err := k.client.GetAssertionKeys(ctx, &registryv1.GetAssertionKeysRequest{})
	if err != nil {
		return fmt.Errorf("get assertion keys from the registry: %w", err)
	}
	fresh := make(assertion.Keys, len(response.GetKeys()))
	for _, published := range response.GetKeys() {
		key, err := assertion.DecodeKey(published)
		if err != nil {
			k.logger.Warn("an assertion key of the registry cannot be read", "error", err)
			continue
		}
		fresh[published.GetKid()] = key
	}
	k.known.Store(&fresh)
	return nil
}
