package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/participant"
)

// ownership says whose the things of a kind can be.
type ownership int

const (
	ofInstallation  ownership = iota // the installation's: there is nothing to say
	ofOrganizations                  // an organization's
	ofAnyone                         // an organization's, or the platform's own
)

// owner is whose a thing is, as the flags say it. Neither flag is the caller's own.
type owner struct {
	organization string
	system       bool
}

func (o *owner) flags(cmd *cobra.Command, of ownership) {
	switch of {
	case ofAnyone:
		cmd.Flags().BoolVar(&o.system, "system", false, "the platform's own")
		fallthrough
	case ofOrganizations:
		cmd.Flags().StringVar(&o.organization, "organization", "", "this organization's; without it the caller's own")
	}
	if of == ofAnyone {
		cmd.MarkFlagsMutuallyExclusive("system", "organization")
	}
}

func (o *owner) check() error { return checkLabel("organization", o.organization) }

// said reports whether a flag says whose it is.
func (o *owner) said() bool { return o.system || o.organization != "" }

// checkLabel judges the id of an organization or application before it is sent, so that the error names the flag.
func checkLabel(flag, value string) error {
	if value == "" {
		return nil
	}
	if err := participant.CheckLabel(value); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// mustSay refuses to make something for whom nobody named. Through a registry that is the caller; a store has none.
func (o *owner) mustSay(at *identities, what string) error {
	if at.store == nil || o.said() {
		return nil
	}
	return errors.New("whose " + what + " is it? say --system or --organization")
}
