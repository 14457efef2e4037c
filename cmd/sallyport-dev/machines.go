package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// machine is what dev.json says of one machine.
type machine struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// description is dev.json.
type description struct {
	MCPURL           string `json:"mcp_url"`
	TokenURL         string `json:"token_url"`
	RegistryRESTURL  string `json:"registry_rest_url"`
	RegistryGRPCAddr string `json:"registry_grpc_addr"`
	Machines         struct {
		System       machine `json:"system"`
		Organization machine `json:"organization"`
		Application  machine `json:"application"`
	} `json:"machines"`
	// Hosts are the machines under which services register.
	Hosts struct {
		Platform     machine `json:"platform"`
		Organization machine `json:"organization"`
	} `json:"hosts"`
	Users struct {
		Ada user `json:"ada"`
	} `json:"users"`
}

const (
	organization = "acme-org"
	application  = "orders-app"
	ordersZone   = "app.acme-org.orders-app"
	projectsZone = "management-api"

	systemMachine       = "dev-system"
	organizationMachine = "dev-organization"
)

// ensureMachines makes the machines that a description names: those whose secret it knows are kept, the others are
// created, or given a new secret where the store knows them and the description does not.
func ensureMachines(ctx context.Context, store *registry.Store, d *description) error {
	for _, m := range []struct {
		into *machine
		id   string
		kind registryv1.MachineKind
		who  *participant.Participant
	}{
		{&d.Machines.System, systemMachine, registryv1.MachineKind_MACHINE_KIND_CLIENT, participant.System(systemMachine)},
		{&d.Machines.Organization, organizationMachine, registryv1.MachineKind_MACHINE_KIND_CLIENT,
			participant.Organization(organization, organizationMachine)},
		{&d.Machines.Application, "dev-application", registryv1.MachineKind_MACHINE_KIND_CLIENT,
			participant.Application(organization, application, "dev-application")},
		{&d.Hosts.Platform, "dev-host-platform", registryv1.MachineKind_MACHINE_KIND_HOST, participant.System("dev-host-platform")},
		{&d.Hosts.Organization, "dev-host-acme-org", registryv1.MachineKind_MACHINE_KIND_HOST,
			participant.Organization(organization, "dev-host-acme-org")},
	} {
		secret, err := ensureMachine(ctx, store, m.id, m.kind, m.who, m.into.ClientSecret)
		if err != nil {
			return err
		}
		*m.into = machine{ClientID: m.id, ClientSecret: secret}
	}
	return nil
}

func ensureMachine(ctx context.Context, store *registry.Store, id string, kind registryv1.MachineKind,
	who *participant.Participant, secret string,
) (string, error) {
	stored, err := store.Machine(ctx, id)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return store.CreateMachine(ctx, kind, who, id)
	case err != nil:
		return "", err
	case secret != "" && bytes.Equal(stored.GetSecretSha256(), registry.HashSecret(secret)):
		return secret, nil
	default:
		return store.RotateMachine(ctx, id)
	}
}

// readDescription reads what an earlier start wrote; a folder without one gives an empty description.
func readDescription(dir string) (*description, error) {
	d := new(description)
	raw, err := os.ReadFile(filepath.Join(dir, "dev.json"))
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("%s is not what an earlier start wrote (%w): mend it, or delete it to get new credentials",
			filepath.Join(dir, "dev.json"), err)
	}
	return d, nil
}

// write puts the description into the folder, for programs as dev.json, for curl as files of headers, and for the
// shell as files of variables. All hold secrets and are readable by their owner alone.
func (d *description) write(dir string) error {
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{"dev.json": string(raw) + "\n"}
	for name, m := range map[string]machine{
		"system": d.Machines.System, "organization": d.Machines.Organization, "application": d.Machines.Application,
	} {
		files[name+".headers"] = headers(m.ClientID, m.ClientSecret)
		files[name+".env"] = d.environment(m)
	}
	ada := d.Users.Ada
	files["ada-organization.headers"] = headers(ada.Email, ada.Password, "organizationId", ada.Organization)
	files["ada-application.headers"] = headers(ada.Email, ada.Password, "organizationId", ada.Organization, "applicationId", application)
	files["host-platform.env"] = d.environment(d.Hosts.Platform)
	files["host-organization.env"] = d.environment(d.Hosts.Organization)
	for name, text := range files {
		if err := writeFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

func (d *description) environment(m machine) string {
	return fmt.Sprintf("SALLYPORT_REGISTRY=%s\nSALLYPORT_CLIENT_ID=%s\nSALLYPORT_CLIENT_SECRET=%s\n",
		d.RegistryGRPCAddr, m.ClientID, m.ClientSecret)
}

// writeFile replaces a file whole, so that a reader never sees half of it.
func writeFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
