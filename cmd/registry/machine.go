package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/participant"
)

// storeTimeout bounds a command that works on etcd itself.
const storeTimeout = 30 * time.Second

// machineView is a machine for people and programs. The secret is there once, when it is made.
type machineView struct {
	ID              string `json:"id"`
	Kind            string `json:"kind"`
	Participant     string `json:"participant"`
	Organization    string `json:"organization,omitempty"`
	Application     string `json:"application,omitempty"`
	Disabled        bool   `json:"disabled"`
	CreatedAt       string `json:"createdAt,omitempty"`
	SecretChangedAt string `json:"secretChangedAt,omitempty"`
	Secret          string `json:"secret,omitempty"`
}

func viewOf(m *registryv1.StoredMachine) machineView {
	p := m.GetParticipant()
	return machineView{
		ID: m.GetId(), Kind: lower(m.GetKind().String(), "MACHINE_KIND_"), Participant: lower(p.GetKind().String(), "KIND_"),
		Organization: p.GetOrganizationId(), Application: p.GetApplicationId(), Disabled: m.GetDisabled(),
		CreatedAt: m.GetCreatedAt().AsTime().Format(time.RFC3339), SecretChangedAt: m.GetSecretChangedAt().AsTime().Format(time.RFC3339),
	}
}

func lower(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

// who is the participant as a person writes it.
func (v machineView) who() string {
	switch {
	case v.Application != "":
		return "application " + v.Organization + "/" + v.Application
	case v.Organization != "":
		return "organization " + v.Organization
	default:
		return v.Participant
	}
}

func newMachine() *cobra.Command {
	c := &cobra.Command{
		Use:   "machine",
		Short: "Create, rotate, disable and list machines, on etcd itself",
		Long: "Machines are who calls tools and who hosts services. These commands work on the etcd that the registry's configuration\n" +
			"names, beside a running registry or without one, and need no credentials but the access to it.",
	}
	return group(c, newMachineCreate(), newMachineRotate(), newMachineDisable(), newMachineList())
}

// onStore runs a command on the store of a configuration.
func onStore(cmd *cobra.Command, file string, work func(context.Context, *registry.Store) error) error {
	cfg, err := loadConfig(file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
	defer cancel()
	if e := cfg.GetEmbedded(); e != nil {
		client, release, err := embedded.Use(ctx, e, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		if err != nil {
			return err
		}
		defer release()
		return work(ctx, registry.NewStore(client, e.GetPrefix()))
	}
	client, err := registry.Dial(cfg.GetEtcd())
	if err != nil {
		return err
	}
	defer client.Close()
	return work(ctx, registry.NewStore(client, cfg.GetEtcd().GetPrefix()))
}

func newMachineCreate() *cobra.Command {
	var file, kind, organization, application string
	var system bool
	var out output
	c := &cobra.Command{
		Use:   "create ID --kind host|client (--system | --organization ORG [--application APP])",
		Short: "Create a machine and print its secret, which is shown this once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			what, ok := registryv1.MachineKind_value["MACHINE_KIND_"+strings.ToUpper(kind)]
			if !ok || what == 0 {
				return fmt.Errorf("--kind %q: want host or client", kind)
			}
			p, err := participantOf(system, organization, application, args[0])
			if err != nil {
				return err
			}
			return onStore(cmd, file, func(ctx context.Context, s *registry.Store) error {
				secret, err := s.CreateMachine(ctx, registryv1.MachineKind(what), p, args[0])
				if err != nil {
					return err
				}
				return printSecret(ctx, cmd.OutOrStdout(), &out, s, args[0], secret)
			})
		},
	}
	configFlag(c, &file)
	out.flag(c)
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "host, which registers services, or client, which calls tools")
	_ = c.MarkFlagRequired("kind")
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"host", "client"}, cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&system, "system", false, "the machine is the platform's own")
	f.StringVar(&organization, "organization", "", "the machine is this organization's")
	f.StringVar(&application, "application", "", "the machine is this application's, of the organization")
	c.MarkFlagsMutuallyExclusive("system", "organization")
	c.MarkFlagsMutuallyExclusive("system", "application")
	return c
}

func participantOf(system bool, organization, application, id string) (*participant.Participant, error) {
	switch {
	case system:
		return participant.System(id), nil
	case organization != "" && application != "":
		return participant.Application(organization, application, id), nil
	case organization != "":
		return participant.Organization(organization, id), nil
	default:
		return nil, errors.New("whose machine is it? say --system, or --organization and perhaps --application")
	}
}

func printSecret(ctx context.Context, to io.Writer, out *output, s *registry.Store, id, secret string) error {
	m, err := s.Machine(ctx, id)
	if err != nil {
		return err
	}
	v := viewOf(m)
	v.Secret = secret
	return out.print(to, v, func(w io.Writer) {
		table(w, []string{"ID", "KIND", "PARTICIPANT", "SECRET"}, [][]string{{v.ID, v.Kind, v.who(), v.Secret}})
	})
}

func newMachineRotate() *cobra.Command {
	var file string
	var out output
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Give a machine a new secret and print it; the old one is worthless at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return onStore(cmd, file, func(ctx context.Context, s *registry.Store) error {
				secret, err := s.RotateMachine(ctx, args[0])
				if err != nil {
					return err
				}
				return printSecret(ctx, cmd.OutOrStdout(), &out, s, args[0], secret)
			})
		},
	}
	configFlag(c, &file)
	out.flag(c)
	return c
}

func newMachineDisable() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "disable ID",
		Short: "Switch a machine off",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onStore(cmd, file, func(ctx context.Context, s *registry.Store) error {
				if err := s.DisableMachine(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "machine %s is disabled\n", args[0])
				return err
			})
		},
	}
	configFlag(c, &file)
	return c
}

func newMachineList() *cobra.Command {
	var file string
	var out output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the machines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return onStore(cmd, file, func(ctx context.Context, s *registry.Store) error {
				all, err := s.Machines(ctx)
				if err != nil {
					return err
				}
				views := make([]machineView, len(all))
				var rows [][]string
				for i, m := range all {
					v := viewOf(m)
					state := "enabled"
					if v.Disabled {
						state = "disabled"
					}
					views[i], rows = v, append(rows, []string{v.ID, v.Kind, v.who(), state, v.CreatedAt, v.SecretChangedAt})
				}
				return out.print(cmd.OutOrStdout(), map[string]any{"machines": views}, func(w io.Writer) {
					table(w, []string{"ID", "KIND", "PARTICIPANT", "STATE", "CREATED", "SECRET CHANGED"}, rows)
				})
			})
		},
	}
	configFlag(c, &file)
	out.flag(c)
	return c
}
