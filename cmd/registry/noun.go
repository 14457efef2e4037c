package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/identity"
	"github.com/sallyport-dev/sallyport/participant"
)

// noun is one kind of identity. Its commands differ in the calls that they make, which the file of the kind has; how a
// command gets at them, whose things they are and how they are printed is the same for all.
type noun[T proto.Message] struct {
	name, plural string // "user" and "users"
	arg          string // what the argument of its commands is, such as EMAIL
	label        bool   // whether that is one label
	spelled      bool   // whether that may be ORGANIZATION/label instead, as the list shows it
	of           ownership
	head         []string
	row          func(T) []string
	brief        int         // how many of the columns stand before a secret
	view         func(T) any // for programs; nil is the API's own message

	// ownerOf finds on a store whose a thing is, where ids say it without an organization. Nil: they do not.
	ownerOf func(ctx context.Context, at *identities, id string) (organization string, err error)
}

// secret is what is shown once. Without a value there is none.
type secret struct{ name, value string }

// request is one run of a command: for whom, and with which argument.
type request struct {
	*identities
	cmd          *cobra.Command
	owner        owner
	organization string // the owner's, as the API takes it
	everybody    bool   // one of everybody's organizations, in turn
	id           string
}

// command makes a command of the noun. The work is done while connected.
func (n *noun[T]) command(c *cobra.Command, out *output, work func(context.Context, request) error) *cobra.Command {
	var at reach
	var whose owner
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if out != nil {
			if err := out.check(); err != nil {
				return err
			}
		}
		whose := whose
		if n.spelled && len(args) > 0 {
			if organization, name := access.ParseRole(args[0]); organization != "" {
				if whose.system || whose.organization != "" && whose.organization != organization {
					return fmt.Errorf("%s is not a %s of %s", args[0], n.name, or(whose.organization, "the platform"))
				}
				whose.organization, args = organization, []string{name}
			}
		}
		if err := whose.check(); err != nil {
			return err
		}
		if n.label && len(args) > 0 {
			if err := participant.CheckLabel(args[0]); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
		return at.do(cmd, func(ctx context.Context, ids *identities) error {
			r := request{identities: ids, cmd: cmd, owner: whose, organization: whose.organization}
			if whose.system {
				r.organization = identity.Platform
			}
			if len(args) > 0 {
				r.id = args[0]
			}
			return work(ctx, r)
		})
	}
	c.ValidArgsFunction = cobra.NoFileCompletions
	whose.flags(c, n.of)
	at.flags(c)
	if out != nil {
		out.flag(c)
	}
	return c
}

// before adds what a command does before it connects.
func before(c *cobra.Command, prepare func(*cobra.Command, []string) error) {
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := prepare(cmd, args); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// create makes the command that makes one.
func (n *noun[T]) create(usage, long string, do func(context.Context, request) (T, secret, error)) *cobra.Command {
	out := new(output)
	return n.command(&cobra.Command{
		Use: join("create", n.arg, usage), Short: "Create " + article(n.name), Long: long, Args: cobra.ExactArgs(1),
	}, out, func(ctx context.Context, r request) error {
		if n.of == ofAnyone {
			if err := r.owner.mustSay(r.identities, n.name); err != nil {
				return err
			}
		}
		made, shown, err := do(ctx, r)
		if err != nil {
			return err
		}
		return n.print(r.cmd.OutOrStdout(), out, made, shown)
	})
}

// change makes a command that changes one, and prints it as it is then.
func (n *noun[T]) change(verb, usage, short, long string, do func(context.Context, request) (T, secret, error)) *cobra.Command {
	out := new(output)
	return n.command(&cobra.Command{
		Use: join(verb, n.arg, usage), Short: short, Long: long, Args: cobra.ExactArgs(1),
	}, out, func(ctx context.Context, r request) error {
		if err := n.find(ctx, &r); err != nil {
			return err
		}
		changed, shown, err := do(ctx, r)
		if err != nil {
			return err
		}
		return n.print(r.cmd.OutOrStdout(), out, changed, shown)
	})
}

// act makes a command that does one thing to one of them, and says that it is done.
func (n *noun[T]) act(verb, short, done string, do func(context.Context, request) error) *cobra.Command {
	return n.command(&cobra.Command{
		Use: join(verb, n.arg), Short: short, Args: cobra.ExactArgs(1),
	}, nil, func(ctx context.Context, r request) error {
		if err := n.find(ctx, &r); err != nil {
			return err
		}
		if err := do(ctx, r); err != nil {
			return err
		}
		_, err := fmt.Fprintf(r.cmd.OutOrStdout(), "%s %s is %s\n", n.name, r.id, done)
		return err
	})
}

// etagFlag adds --etag to a command that replaces something whole.
func etagFlag(c *cobra.Command, etag *string) {
	c.Flags().StringVar(etag, "etag", "", "replace only what still has this etag, which a list with -o json shows")
}

func (n *noun[T]) disable(short string, do func(context.Context, request) error) *cobra.Command {
	return n.act("disable", short, "disabled", do)
}

func (n *noun[T]) enable(do func(context.Context, request) error) *cobra.Command {
	return n.act("enable", "Switch "+article(n.name)+" on again", "enabled", do)
}

func (n *noun[T]) remove(short string, do func(context.Context, request) error) *cobra.Command {
	return n.act("remove", short, "removed", do)
}

// list makes the command that lists them: the caller's own, an organization's, or everybody's.
func (n *noun[T]) list(page func(ctx context.Context, r request, token string) ([]T, string, error)) *cobra.Command {
	out := new(output)
	var all bool
	c := n.command(&cobra.Command{Use: "list", Short: "List the " + n.plural, Args: cobra.NoArgs}, out, func(ctx context.Context, r request) error {
		owners := []string{r.organization}
		// A store has no caller whose own they could be.
		r.everybody = n.of != ofInstallation && (all || r.store != nil && !r.owner.said())
		if r.everybody {
			var err error
			if owners, err = everybody(ctx, r.identities, n.of); err != nil {
				return err
			}
		}
		var found []T
		for _, r.organization = range owners {
			some, err := paged(func(token string) ([]T, string, error) { return page(ctx, r, token) })
			if err != nil {
				return err
			}
			found = append(found, some...)
		}
		return n.printAll(r.cmd.OutOrStdout(), out, found)
	})
	if n.of != ofInstallation {
		c.Flags().BoolVar(&all, "all", false, "everybody's: the platform lists those of all organizations and its own")
		c.MarkFlagsMutuallyExclusive("all", "organization")
	}
	if n.of == ofAnyone {
		c.MarkFlagsMutuallyExclusive("all", "system")
	}
	return c
}

// find fills in whose the thing is, where only a store knows.
func (n *noun[T]) find(ctx context.Context, r *request) (err error) {
	if r.store != nil && n.ownerOf != nil && !r.owner.said() {
		r.organization, err = n.ownerOf(ctx, r.identities, r.id)
	}
	return err
}

func (n *noun[T]) print(to io.Writer, out *output, one T, shown secret) error {
	value, err := n.value(one, shown)
	if err != nil {
		return err
	}
	return out.print(to, value, func(w io.Writer) {
		head, row := n.head, n.row(one)
		if shown.value != "" {
			head = append(head[:n.brief:n.brief], strings.ToUpper(shown.name))
			row = append(row[:n.brief:n.brief], shown.value)
		}
		table(w, head, [][]string{row})
	})
}

func (n *noun[T]) printAll(to io.Writer, out *output, all []T) error {
	values := make([]any, len(all))
	rows := make([][]string, len(all))
	for i, one := range all {
		var err error
		if values[i], err = n.value(one, secret{}); err != nil {
			return err
		}
		rows[i] = n.row(one)
	}
	return out.print(to, map[string]any{n.plural: values}, func(w io.Writer) { table(w, n.head, rows) })
}

// value is one of them for programs, with its secret where it is shown.
func (n *noun[T]) value(one T, shown secret) (any, error) {
	var raw []byte
	var err error
	if n.view != nil {
		raw, err = json.Marshal(n.view(one))
	} else {
		raw, err = protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(one)
	}
	if err != nil || shown.value == "" {
		return json.RawMessage(raw), err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	fields[shown.name] = shown.value
	return fields, nil
}

func join(words ...string) string { return strings.TrimSpace(strings.Join(words, " ")) }

func article(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) && name != "user" {
		return "an " + name
	}
	return "a " + name
}

// state is a cell that says whether something is switched off.
func state(disabled bool) string {
	if disabled {
		return "disabled"
	}
	return "enabled"
}

// when is a cell with a time; nothing where there is none.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}
