package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

func newName() *cobra.Command {
	return &cobra.Command{
		Use:   "name [ZONE~]SERVICE/METHOD",
		Short: "Compute the name of a tool, such as permission rules of MCP hosts contain",
		Example: "  registry name app.acme-org.orders-app~com.acme.OrderService/findById\n" +
			"  registry name 'srv://system-api~sallyport.registry.v1.RegistryService/ListTools'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := contract.ParseIdentifier("srv://" + strings.TrimPrefix(args[0], "srv://"))
			if err != nil {
				return err
			}
			if id.Method == "" || id.Scope != "" || id.Version != "" {
				return errors.New("a tool is named by [ZONE~]SERVICE/METHOD, with its method, and without scope and version")
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), contract.ToolName(contract.QualifiedName(id.Zone, id.Service), id.Method))
			return err
		},
	}
}
