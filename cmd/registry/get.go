package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// pageSize is the largest page that the registry gives.
const pageSize = 1000

// filter narrows a list down.
type filter struct{ zone, service string }

// listing asks for one page and says which is next. list keeps what it got.
type listing struct {
	what, short string
	byService   bool // whether --service makes sense
	page        func(ctx context.Context, c registryv1.RegistryServiceClient, f filter, token string) (next string, err error)
	all         func() proto.Message
	table       func(io.Writer)
}

func newGet() *cobra.Command {
	var lists []*cobra.Command
	for _, l := range []*listing{listZones(), listServices(), listInstances(), listTools()} {
		lists = append(lists, newList(l))
	}
	return group(&cobra.Command{Use: "get", Short: "List what a registry knows, as far as the machine reaches it"}, lists...)
}

func newList(l *listing) *cobra.Command {
	var conn connection
	var out output
	var f filter
	c := &cobra.Command{
		Use:   l.what,
		Short: l.short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			client, done, err := conn.registry()
			if err != nil {
				return err
			}
			defer done()
			for token := ""; ; {
				if token, err = l.page(cmd.Context(), client, f, token); err != nil {
					return plain(err)
				}
				if token == "" {
					return out.print(cmd.OutOrStdout(), l.all(), l.table)
				}
			}
		},
	}
	conn.flags(c)
	out.flag(c)
	if l.what != "zones" {
		c.Flags().StringVar(&f.zone, "zone", "", "only this zone and its sub-zones")
	}
	if l.byService {
		c.Flags().StringVar(&f.service, "service", "", "only this service")
	}
	return c
}

func listZones() *listing {
	all := new(registryv1.ListZonesResponse)
	return &listing{what: "zones", short: "List the zones",
		page: func(ctx context.Context, c registryv1.RegistryServiceClient, _ filter, token string) (string, error) {
			r, err := c.ListZones(ctx, &registryv1.ListZonesRequest{PageSize: pageSize, PageToken: token})
			all.Zones = append(all.Zones, r.GetZones()...)
			return r.GetNextPageToken(), err
		},
		all: func() proto.Message { return all },
		table: func(w io.Writer) {
			var rows [][]string
			for _, z := range all.GetZones() {
				rows = append(rows, []string{z.GetZone(), number(z.GetServices()), number(z.GetInstances())})
			}
			table(w, []string{"ZONE", "SERVICES", "INSTANCES"}, rows)
		},
	}
}

func listServices() *listing {
	all := new(registryv1.ListServicesResponse)
	return &listing{what: "services", short: "List the services, online or not",
		page: func(ctx context.Context, c registryv1.RegistryServiceClient, f filter, token string) (string, error) {
			r, err := c.ListServices(ctx, &registryv1.ListServicesRequest{Zone: f.zone, PageSize: pageSize, PageToken: token})
			all.Services = append(all.Services, r.GetServices()...)
			return r.GetNextPageToken(), err
		},
		all: func() proto.Message { return all },
		table: func(w io.Writer) {
			var rows [][]string
			for _, s := range all.GetServices() {
				rows = append(rows, []string{s.GetZone(), s.GetService(), s.GetTitle(), number(s.GetTools()), number(s.GetInstances()),
					fmt.Sprintf("%.12s", s.GetContractDigest())})
			}
			table(w, []string{"ZONE", "SERVICE", "TITLE", "TOOLS", "INSTANCES", "CONTRACT"}, rows)
		},
	}
}

func listInstances() *listing {
	all := new(registryv1.ListInstancesResponse)
	return &listing{what: "instances", short: "List the running instances", byService: true,
		page: func(ctx context.Context, c registryv1.RegistryServiceClient, f filter, token string) (string, error) {
			r, err := c.ListInstances(ctx, &registryv1.ListInstancesRequest{Zone: f.zone, Service: f.service, PageSize: pageSize, PageToken: token})
			all.Instances = append(all.Instances, r.GetInstances()...)
			return r.GetNextPageToken(), err
		},
		all: func() proto.Message { return all },
		table: func(w io.Writer) {
			var rows [][]string
			for _, i := range all.GetInstances() {
				state := "online"
				if i.GetDraining() {
					state = "draining"
				}
				rows = append(rows, []string{i.GetZone(), i.GetService(), i.GetInstanceId(), i.GetAddress(), state, i.GetMachineId(),
					i.GetBuildVersion(), i.GetRegisteredAt().AsTime().Format(time.RFC3339)})
			}
			table(w, []string{"ZONE", "SERVICE", "INSTANCE", "ADDRESS", "STATE", "MACHINE", "BUILD", "REGISTERED"}, rows)
		},
	}
}

func listTools() *listing {
	all := new(registryv1.ListToolsResponse)
	return &listing{what: "tools", short: "List the tools, and why MCP hosts do not see the hidden ones", byService: true,
		page: func(ctx context.Context, c registryv1.RegistryServiceClient, f filter, token string) (string, error) {
			r, err := c.ListTools(ctx, &registryv1.ListToolsRequest{Zone: f.zone, Service: f.service, PageSize: pageSize, PageToken: token})
			all.Tools = append(all.Tools, r.GetTools()...)
			return r.GetNextPageToken(), err
		},
		all: func() proto.Message { return all },
		table: func(w io.Writer) {
			var rows [][]string
			for _, t := range all.GetTools() {
				rows = append(rows, []string{t.GetName(), t.GetAlias(), t.GetTitle(), t.GetResource(), t.GetHiddenBecause()})
			}
			table(w, []string{"NAME", "ALIAS", "TITLE", "RESOURCE", "HIDDEN BECAUSE"}, rows)
		},
	}
}

func number(n int32) string { return strconv.Itoa(int(n)) }

func newDescribe() *cobra.Command {
	var conn connection
	var out output
	var dialect string
	tool := &cobra.Command{
		Use:   "tool NAME",
		Short: "Show one tool with its schemas, by its hashed or its declared name",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			client, done, err := conn.registry()
			if err != nil {
				return err
			}
			defer done()
			r, err := client.GetTool(cmd.Context(), &registryv1.GetToolRequest{Name: args[0], Dialect: dialect})
			if err != nil {
				return plain(err)
			}
			return printTool(cmd.OutOrStdout(), &out, r)
		},
	}
	conn.flags(tool)
	out.flag(tool)
	tool.Flags().StringVar(&dialect, "dialect", "", "spelling of the schemas, such as flat or openai_strict; canonical if empty")
	return group(&cobra.Command{Use: "describe", Short: "Show one thing that a registry knows"}, tool)
}

// described is one tool for programs: its definition is JSON in JSON, and no text.
type described struct {
	Name          string          `json:"name"`
	Alias         string          `json:"alias"`
	Resource      string          `json:"resource"`
	HiddenBecause string          `json:"hiddenBecause"`
	JSONProfile   string          `json:"jsonProfile"`
	Definition    json.RawMessage `json:"definition"`
}

func printTool(to io.Writer, out *output, r *registryv1.GetToolResponse) error {
	t := r.GetTool()
	definition := json.RawMessage(r.GetDefinitionJson())
	if !json.Valid(definition) {
		return fmt.Errorf("the registry's definition of %s is not JSON", t.GetResource())
	}
	value := described{Name: t.GetName(), Alias: t.GetAlias(), Resource: t.GetResource(), HiddenBecause: t.GetHiddenBecause(),
		JSONProfile: r.GetJsonProfile(), Definition: definition}
	return out.print(to, value, func(w io.Writer) {
		table(w, []string{"Name:", t.GetName()}, [][]string{
			{"Alias:", t.GetAlias()}, {"Title:", t.GetTitle()}, {"Description:", t.GetDescription()}, {"Resource:", t.GetResource()},
			{"JSON profile:", r.GetJsonProfile()}, {"Hidden because:", t.GetHiddenBecause()},
		})
		var b bytes.Buffer
		_ = json.Indent(&b, definition, "", "  ")
		fmt.Fprintf(w, "\nAs MCP hosts see it:\n\n%s\n", b.String())
	})
}
