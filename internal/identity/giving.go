package identity

import (
	"context"
	"maps"
	"math"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// giver judges what a caller may give, and whom it may change: nobody gives more than they have. It knows the platform's
// roles as they are in etcd now, which a view may not show yet.
//
// Only roles of the platform are judged. Those of an organization count in that organization's zones alone, whose roles
// are its own to make.
type giver struct {
	who      rpc.Caller
	tenant   bool
	platform map[string]*identityv1.StoredRole
	grants   *access.Grants
}

func (s *Server) giver(ctx context.Context) (*giver, error) {
	g := &giver{who: rpc.CallerOf(ctx), tenant: isOrganization(ctx), platform: map[string]*identityv1.StoredRole{}}
	roles, _, err := s.store.Roles(ctx, "", "", math.MaxInt32)
	if err != nil {
		return nil, rpc.StatusOf(err)
	}
	for _, r := range roles {
		g.platform[r.GetName()] = r
	}
	g.grants = access.NewGrants(slices.Values(roles))
	return g, nil
}

// covers reports whether the caller holds everything that the role grants.
func (g *giver) covers(role string) bool {
	if owner, _ := access.ParseRole(role); owner != "" || g.who.Everything {
		return true
	}
	return g.grants.Covers(g.who.Participant.GetRoles(), participant.ManagementZone, role)
}

// mayGive judges the roles that an identity is to have. That roles of an organization exist, and are of the identity's
// own, is the store's to say.
func (g *giver) mayGive(roles []string) error {
	for _, role := range roles {
		owner, name := access.ParseRole(role)
		if owner != "" {
			continue
		}
		stored := g.platform[name]
		if stored == nil || g.tenant && !stored.GetAssignable() {
			return unknown("role that you may give", role)
		}
		if !g.covers(role) {
			return status.Errorf(codes.PermissionDenied, "role %s grants more than your own roles do: nobody gives more than they have", role)
		}
	}
	return nil
}

// mayChange judges whether the caller may change whoever has the roles.
func (g *giver) mayChange(roles []string) error {
	for _, role := range roles {
		if !g.covers(role) {
			return status.Error(codes.PermissionDenied,
				"the identity has roles that grant more than your own do: somebody who holds as much must change it")
		}
	}
	return nil
}

// mayTake judges whether the caller may change the roles of an identity as the organization itself, or the platform, to
// others, or to none where it is switched off or removed. From oneself nobody takes what the platform's roles grant.
// Whoever loses it therefore leaves somebody behind who holds as much, and no administrator is the last to go; how many
// there are nobody can count, since some come from other issuers, or cannot sign in.
func (g *giver) mayTake(organization, id string, roles, left []string) error {
	who := g.who.Participant
	if g.who.Everything || who.GetOrganizationId() != organization || id != who.GetId() && id != who.GetOnBehalfOf().GetOwnerId() {
		return nil
	}
	for _, role := range roles {
		if owner, _ := access.ParseRole(role); owner == "" && !g.grants.Covers(left, participant.ManagementZone, role) {
			return status.Errorf(codes.FailedPrecondition, "%s is your own identity, and would lose what role %s grants: somebody else who "+
				"holds as much must do this, whom you make first where there is nobody, so that an administrator is left", id, role)
		}
	}
	return nil
}

// mayTakeFromRole is mayTake for a change of a role of the platform to other actions, or to none where it is removed.
func (g *giver) mayTakeFromRole(changed *identityv1.StoredRole, left []string) error {
	own := g.who.Participant.GetRoles()
	if g.who.Everything || !slices.Contains(own, changed.GetName()) {
		return nil
	}
	after := maps.Clone(g.platform)
	after[changed.GetName()] = &identityv1.StoredRole{Name: changed.GetName(), Actions: left}
	if access.NewGrants(maps.Values(after)).CoversActions(own, participant.ManagementZone, changed.GetActions()) {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "role %s is your own, and you would lose what it grants: get another role that "+
		"grants as much first, or let somebody else who holds as much do this, so that an administrator is left", changed.GetName())
}

// mayMake judges the actions of a role of the platform.
func (g *giver) mayMake(actions []string) error {
	if g.who.Everything || g.grants.CoversActions(g.who.Participant.GetRoles(), participant.ManagementZone, actions) {
		return nil
	}
	return status.Error(codes.PermissionDenied, "the role grants more than your own roles do: nobody gives more than they have")
}

// rolesOf are the roles of all of a user's grants.
func rolesOf(grants []*identityv1.StoredGrant) []string {
	var all []string
	for _, g := range grants {
		all = append(all, g.GetRoles()...)
	}
	return all
}

// rolesAsItself are the roles that a user has as the organization itself, or as the platform.
func rolesAsItself(grants []*identityv1.StoredGrant) []string {
	for _, g := range grants {
		if g.GetApplicationId() == "" {
			return g.GetRoles()
		}
	}
	return nil
}

// assignable gives the platform's roles after a name that organizations may give, in the order of their names.
func (g *giver) assignable(after string) []*identityv1.StoredRole {
	var all []*identityv1.StoredRole
	for _, name := range slices.Sorted(maps.Keys(g.platform)) {
		if r := g.platform[name]; r.GetAssignable() && name > after {
			all = append(all, r)
		}
	}
	return all
}
