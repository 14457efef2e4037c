package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// machineView is a machine for programs.
type machineView struct {
	ID              string   `json:"id"`
	Kind            string   `json:"kind"`
	Participant     string   `json:"participant"`
	Organization    string   `json:"organization,omitempty"`
	Application     string   `json:"application,omitempty"`
	Roles           []string `json:"roles,omitempty"`
	Disabled        bool     `json:"disabled"`
	CreatedAt       string   `json:"createdAt,omitempty"`
	SecretChangedAt string   `json:"secretChangedAt,omitempty"`
	Etag            string   `json:"etag"`
	Secret          string   `json:"secret,omitempty"` // once, when it is made
}

func viewOf(m *identityv1.Machine) machineView {
	v := machineView{
		ID: m.GetMachineId(), Kind: strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "MACHINE_KIND_")), Participant: "system",
		Organization: m.GetOrganizationId(), Application: m.GetApplicationId(), Roles: m.GetRoles(), Disabled: m.GetDisabled(),
		CreatedAt: when(m.GetCreatedAt()), SecretChangedAt: when(m.GetSecretChangedAt()), Etag: m.GetEtag(),
	}
	switch {
	case v.Application != "":
		v.Participant = "application"
	case v.Organization != "":
		v.Participant = "organization"
	}
	return v
}

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
	n := &noun[*identityv1.Machine]{
		name: "machine", plural: "machines", arg: "ID", of: ofAnyone,
		head:  []string{"ID", "KIND", "PARTICIPANT", "ROLES", "STATE", "CREATED", "SECRET CHANGED"},
		brief: 4,
		row: func(m *identityv1.Machine) []string {
			v := viewOf(m)
			return []string{v.ID, v.Kind, v.who(), strings.Join(v.Roles, ","), state(v.Disabled), v.CreatedAt, v.SecretChangedAt}
		},
		view: func(m *identityv1.Machine) any { return viewOf(m) },
		ownerOf: func(ctx context.Context, at *identities, id string) (string, error) {
			m, err := at.store.Machine(ctx, id)
			return m.GetParticipant().GetOrganizationId(), err
		},
	}
	return group(&cobra.Command{
		Use:   "machine",
		Short: "Create, list, rotate, disable, enable and remove machines, and set their roles",
		Long: "Machines are programs: clients call tools, hosts register services. They authenticate by an id and a secret, which is shown\n" +
			"once. An organization keeps its own, whose ids begin with its name and a dot; the platform says whose by --organization.\n" +
			"These commands need a role that grants identity.machines.write, or .read to list.\n\n" +
			"With --config they work on the etcd that the registry's configuration names, beside a running registry or without one, and\n" +
			"need no credentials but the access to it. So the first machine of an installation is made.",
	}, createMachine(n),
		n.list(func(ctx context.Context, r request, token string) ([]*identityv1.Machine, string, error) {
			a, err := r.ListMachines(ctx, &identityv1.ListMachinesRequest{OrganizationId: r.organization, PageSize: pageSize, PageToken: token})
			return a.GetMachines(), a.GetNextPageToken(), err
		}),
		n.change("rotate", "", "Give a machine a new secret and print it; the old one is worthless at once", "",
			func(ctx context.Context, r request) (*identityv1.Machine, secret, error) {
				a, err := r.RotateMachine(ctx, &identityv1.RotateMachineRequest{OrganizationId: r.organization, MachineId: r.id})
				return a.GetMachine(), secret{"secret", a.GetSecret()}, err
			}),
		setMachineRoles(n),
		n.disable("Switch a machine off", func(ctx context.Context, r request) error {
			_, err := r.DisableMachine(ctx, &identityv1.DisableMachineRequest{OrganizationId: r.organization, MachineId: r.id})
			return err
		}),
		n.enable(func(ctx context.Context, r request) error {
			_, err := r.EnableMachine(ctx, &identityv1.EnableMachineRequest{OrganizationId: r.organization, MachineId: r.id})
			return err
		}),
		n.remove("Remove a machine", func(ctx context.Context, r request) error {
			_, err := r.RemoveMachine(ctx, &identityv1.RemoveMachineRequest{OrganizationId: r.organization, MachineId: r.id})
			return err
		}))
}

// machineKinds are what machines do, as the command line says it.
var machineKinds = map[string]identityv1.MachineKind{
	"host":   identityv1.MachineKind_MACHINE_KIND_HOST,
	"client": identityv1.MachineKind_MACHINE_KIND_CLIENT,
}

const roleHelp = "a role of the machine: NAME for one of the platform, ORGANIZATION/NAME for one of the organization; may be repeated"

func createMachine(n *noun[*identityv1.Machine]) *cobra.Command {
	var kind, application string
	var roles []string
	c := n.create("--kind host|client [--system | --organization ORG] [--application APP] [--role ROLE...]",
		"Creates a machine and prints its secret, which is shown this once. With --config the organization and the application are\n"+
			"made where they are missing.",
		func(ctx context.Context, r request) (*identityv1.Machine, secret, error) {
			if r.store != nil {
				if err := ensureOwner(ctx, r, application); err != nil {
					return nil, secret{}, err
				}
			}
			a, err := r.CreateMachine(ctx, &identityv1.CreateMachineRequest{
				OrganizationId: r.organization, ApplicationId: application, MachineId: r.id, Kind: machineKinds[kind], Roles: roles,
			})
			return a.GetMachine(), secret{"secret", a.GetSecret()}, err
		})
	before(c, func(*cobra.Command, []string) error {
		if machineKinds[kind] == 0 {
			return fmt.Errorf("--kind %q: want host or client", kind)
		}
		return checkLabel("application", application)
	})
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "host, which registers services, or client, which calls tools")
	_ = c.MarkFlagRequired("kind")
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"host", "client"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&application, "application", "", "the machine is this application's, of the organization")
	f.StringArrayVar(&roles, "role", nil, roleHelp)
	c.MarkFlagsMutuallyExclusive("system", "application")
	return c
}

func setMachineRoles(n *noun[*identityv1.Machine]) *cobra.Command {
	var roles []string
	var none bool
	var etag string
	c := n.change("set-roles", "(--role ROLE... | --no-roles)", "Replace the roles of a machine", "",
		func(ctx context.Context, r request) (*identityv1.Machine, secret, error) {
			a, err := r.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{
				OrganizationId: r.organization, MachineId: r.id, Roles: roles, Etag: etag,
			})
			return a.GetMachine(), secret{}, err
		})
	c.Flags().StringArrayVar(&roles, "role", nil, roleHelp)
	c.Flags().BoolVar(&none, "no-roles", false, "take all roles away")
	etagFlag(c, &etag)
	c.MarkFlagsOneRequired("role", "no-roles")
	c.MarkFlagsMutuallyExclusive("role", "no-roles")
	return c
}

// ensureOwner makes the organization and application of a first machine, where they are missing.
func ensureOwner(ctx context.Context, r request, application string) error {
	if r.owner.organization == "" {
		return nil
	}
	_, err := r.organizations.CreateOrganization(ctx, &identityv1.CreateOrganizationRequest{OrganizationId: r.organization})
	if err = unlessThere(err); err != nil || application == "" {
		return err
	}
	_, err = r.CreateApplication(ctx, &identityv1.CreateApplicationRequest{OrganizationId: r.organization, ApplicationId: application})
	return unlessThere(err)
}
