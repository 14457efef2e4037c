package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// keyUses are what keys sign, as the command line says it.
var keyUses = map[string]identityv1.KeyUse{
	"token":     identityv1.KeyUse_KEY_USE_TOKEN,
	"assertion": identityv1.KeyUse_KEY_USE_ASSERTION,
}

func newKey() *cobra.Command {
	n := &noun[*identityv1.SigningKey]{
		name: "key", plural: "signingKeys", arg: "token|assertion",
		head: []string{"KEY", "SIGNS", "CURRENT", "CREATED", "SIGNS FROM"},
		row: func(k *identityv1.SigningKey) []string {
			current := "no"
			if k.GetCurrent() {
				current = "yes"
			}
			return []string{k.GetKid(), strings.ToLower(strings.TrimPrefix(k.GetUse().String(), "KEY_USE_")), current,
				when(k.GetCreatedAt()), when(k.GetSignsFrom())}
		},
	}
	list := n.list(func(ctx context.Context, r request, _ string) ([]*identityv1.SigningKey, string, error) {
		a, err := r.organizations.ListSigningKeys(ctx, &identityv1.ListSigningKeysRequest{})
		return a.GetSigningKeys(), "", err
	})
	list.Short = "List the signing keys"
	return group(&cobra.Command{
		Use:   "key",
		Short: "List and rotate the signing keys",
		Long: "Keys sign access tokens, which callers get and edges verify, and participant assertions, which edges make and services\n" +
			"verify. They are replaced by themselves; these commands are for the platform, and for what cannot wait. They need a role\n" +
			"that grants identity.keys.write, or .read to list. Secret halves are never shown.",
	}, list, rotateKey(n))
}

func rotateKey(n *noun[*identityv1.SigningKey]) *cobra.Command {
	var revoke bool
	c := n.change("rotate", "[--revoke-others]", "Make a new signing key",
		"Makes a new signing key. One for tokens is published at once and signs after a minute; one for assertions signs as soon as\n"+
			"an edge has heard of it. The ones before stay until nothing that they signed is good any more. With --revoke-others they\n"+
			"are forgotten at once, because somebody else knows one: whatever they signed is worthless, and the new key signs at once.",
		func(ctx context.Context, r request) (*identityv1.SigningKey, secret, error) {
			a, err := r.organizations.RotateSigningKey(ctx, &identityv1.RotateSigningKeyRequest{Use: keyUses[r.id], RevokeOthers: revoke})
			return a.GetSigningKey(), secret{}, err
		})
	c.ValidArgs = []string{"token", "assertion"}
	before(c, func(_ *cobra.Command, args []string) error {
		if keyUses[args[0]] == 0 {
			return fmt.Errorf("%q is signed by no key: want token or assertion", args[0])
		}
		return nil
	})
	c.Flags().BoolVar(&revoke, "revoke-others", false, "forget the other keys at once: somebody else knows one of them")
	return c
}
