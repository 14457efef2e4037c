package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/identity"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// identities is what identity commands work with: the API of a running registry, or the same API on a store.
type identities struct {
	identityv1.IdentityServiceClient
	organizations identityv1.OrganizationServiceClient
	// store is there where a command works on etcd itself, as the platform with every action.
	store *registry.Store
}

func newIdentities(conn grpc.ClientConnInterface) *identities {
	return &identities{
		IdentityServiceClient: identityv1.NewIdentityServiceClient(conn),
		organizations:         identityv1.NewOrganizationServiceClient(conn),
	}
}

// reach is how an identity command gets at identities: through a running registry with somebody's credentials, or on the
// store of a configuration.
type reach struct {
	connection
	config string
}

func (r *reach) flags(cmd *cobra.Command) {
	r.connection.flags(cmd)
	cmd.Flags().StringVar(&r.config, "config", "",
		"YAML file with a sallyport.config.v1.RegistryConfig: work on its etcd itself, as the platform with every action, instead of through a registry")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	for _, name := range connectionFlags {
		cmd.MarkFlagsMutuallyExclusive("config", name)
	}
}

// do connects, works, and tells what went wrong in a person's words.
func (r *reach) do(cmd *cobra.Command, work func(context.Context, *identities) error) error {
	if r.config != "" {
		return onStore(cmd, r.config, func(ctx context.Context, s *registry.Store) error {
			conn, done, err := identity.Local(ctx, s)
			if err != nil {
				return err
			}
			at := newIdentities(conn)
			at.store = s
			return errors.Join(inFlags(work(ctx, at)), done())
		})
	}
	conn, err := r.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	return inFlags(work(cmd.Context(), newIdentities(conn)))
}

// flagOf are the flags that fill in fields of requests.
var flagOf = strings.NewReplacer("organization_id", "--organization", "application_id", "--application", "machine_id", "the machine's id")

// inFlags is plain, where the API names fields for which there are flags.
func inFlags(err error) error {
	if err = plain(err); err == nil {
		return nil
	}
	return errors.New(flagOf.Replace(err.Error()))
}

// paged asks for page after page until the last.
func paged[T any](page func(token string) ([]T, string, error)) ([]T, error) {
	var all []T
	for token := ""; ; {
		some, next, err := page(token)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); next == "" {
			return all, nil
		}
		token = next
	}
}
