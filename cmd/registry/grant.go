package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// itself stands on the command line for the organization itself, or the platform: no application can be called so.
const itself = "."

// grantHelp is what a person needs to know to write --grant.
const grantHelp = "A grant says as what the user may act, and with which roles:\n" +
	"  APPLICATION=ROLE,ROLE  as an application of the organization\n" +
	"  " + itself + "=ROLE,ROLE            as the organization itself, or as the platform\n" +
	"Without roles it is the application, or the dot, alone. A role is spelled NAME where it is the platform's, and\n" +
	"ORGANIZATION/NAME where it is the organization's own. So --grant orders=acme/refunder --grant " + itself + "=organization-admin\n" +
	"is a user who refunds as the application orders, and administers as the organization."

// granted is --grant, as it is said and as the API takes it.
type granted struct {
	said   []string
	parsed []*identityv1.Grant
}

func (g *granted) flag(c *cobra.Command) {
	c.Flags().StringArrayVar(&g.said, "grant", nil,
		"as what the user may act and with which roles, such as orders=acme/refunder or "+itself+"=organization-admin; may be repeated")
	_ = c.MarkFlagRequired("grant")
}

// parse reads what was said. Which roles and applications there are the API knows.
func (g *granted) parse() error {
	for _, said := range g.said {
		application, roles, _ := strings.Cut(said, "=")
		if application == "" {
			return fmt.Errorf("--grant %q: want APPLICATION=ROLE,ROLE, or %s=ROLE,ROLE for the organization itself", said, itself)
		}
		one := new(identityv1.Grant)
		if application != itself {
			if err := checkLabel("grant", application); err != nil {
				return err
			}
			one.ApplicationId = application
		}
		for role := range strings.SplitSeq(roles, ",") {
			if role = strings.TrimSpace(role); role != "" {
				one.Roles = append(one.Roles, role)
			}
		}
		g.parsed = append(g.parsed, one)
	}
	return nil
}

// grantCell writes grants as --grant takes them.
func grantCell(grants []*identityv1.Grant) string {
	cells := make([]string, len(grants))
	for i, g := range grants {
		cells[i] = or(g.GetApplicationId(), itself)
		if len(g.GetRoles()) > 0 {
			cells[i] += "=" + strings.Join(g.GetRoles(), ",")
		}
	}
	return strings.Join(cells, " ")
}
