package registry

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// maxEmail is the largest email in bytes.
const maxEmail = 254

// email is what a canonical email looks like. Neither `/` nor anything beyond ASCII is in it.
var email = regexp.MustCompile(`^[a-z0-9.!#$%&'*+=?^_{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)*$`)

// CanonicalEmail gives the one spelling under which a user is stored and looked up: ASCII letters in lower case, and
// nothing else changed. What is not ASCII is refused and never folded, so that no two spellings of which one looks like
// the other are one user (a Kelvin sign is no k), and neither are two that a mail system might deliver alike.
func CanonicalEmail(text string) (string, error) {
	if len(text) > maxEmail {
		return "", invalid("an email has at most %d characters", maxEmail)
	}
	for i := range len(text) {
		if text[i] >= 0x80 {
			return "", invalid("an email is written in ASCII here: one with other letters cannot be a user's")
		}
	}
	canonical := strings.ToLower(text)
	if !email.MatchString(canonical) {
		return "", invalid("an email is written name@host, without spaces, quotes, slashes or a dot at the host's end")
	}
	return canonical, nil
}

// ownerOf names whose something is, for errors.
func ownerOf(organization string) string {
	if organization == "" {
		return "the platform"
	}
	return fmt.Sprintf("organization %q", organization)
}

// CreateUser stores a new user. The email is made canonical, the times are set. A taken email is [ErrExists]; an unknown
// organization, application or role a [MissingError]; what cannot be stored an [InvalidError].
func (s *Store) CreateUser(ctx context.Context, u *identityv1.StoredUser) (*identityv1.StoredUser, error) {
	u = proto.CloneOf(u)
	u.CreatedAt, u.PasswordChangedAt = timestamppb.New(s.now()), nil
	if u.GetPasswordHash() != "" {
		u.PasswordChangedAt = u.GetCreatedAt()
	}
	canonical, err := CanonicalEmail(u.GetEmail())
	if err == nil {
		u.Email = canonical
		err = s.create(ctx, s.l.user(u.GetOrganizationId(), canonical), u, func() ([]clientv3.Cmp, error) {
			return s.grantGuards(ctx, u)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("create user %q of %s: %w", u.GetEmail(), ownerOf(u.GetOrganizationId()), err)
	}
	return u, nil
}

// grantGuards checks a user's grants, and guards a transaction by what they refer to.
func (s *Store) grantGuards(ctx context.Context, u *identityv1.StoredUser) ([]clientv3.Cmp, error) {
	if len(u.GetGrants()) == 0 {
		return nil, invalid("a user has at least one grant: one without an application is the organization itself, or the platform")
	}
	var applications, roles []string
	seen := map[string]bool{}
	for _, g := range u.GetGrants() {
		if seen[g.GetApplicationId()] {
			return nil, invalid("two grants of application %q: put their roles into one", g.GetApplicationId())
		}
		seen[g.GetApplicationId()] = true
		p := participant.Of(u.GetOrganizationId(), g.GetApplicationId(), u.GetEmail())
		p.Roles = g.GetRoles()
		if err := checkParticipant(p); err != nil {
			return nil, err
		}
		if g.GetApplicationId() != "" {
			applications = append(applications, g.GetApplicationId())
		}
		roles = append(roles, g.GetRoles()...)
	}
	return s.references(ctx, u.GetOrganizationId(), applications, roles)
}

// Users reads at most limit users of an organization, or with an empty one of the platform, in the order of their emails
// and from the one after an email on; more says that there are others. It reads etcd, and so sees what was written
// before.
func (s *Store) Users(ctx context.Context, organization, after string, limit int) (all []*identityv1.StoredUser, more bool, err error) {
	all, more, err = list[*identityv1.StoredUser](ctx, s, s.l.users(organization), after, limit, nil)
	if err != nil {
		return nil, false, fmt.Errorf("list the users of %s: %w", ownerOf(organization), err)
	}
	return all, more, nil
}

// User reads one user, disabled or not, past every view. An unknown one is [ErrNotFound].
func (s *Store) User(ctx context.Context, organization, email string) (*identityv1.StoredUser, error) {
	canonical, err := CanonicalEmail(email)
	if err != nil {
		return nil, fmt.Errorf("read user %q of %s: %w", email, ownerOf(organization), ErrNotFound)
	}
	m, err := readOne(ctx, s, s.l.user(organization, canonical), &identityv1.StoredUser{})
	if err != nil {
		return nil, fmt.Errorf("read user %q of %s: %w", canonical, ownerOf(organization), err)
	}
	return m, nil
}

// SetUserGrants replaces what a user may act as. Delegates under grants that are gone go, too: they would come back to
// life with a later grant of the same application. Errors are those of [Store.CreateUser]; an unknown user is
// [ErrNotFound].
func (s *Store) SetUserGrants(ctx context.Context, organization, email string, grants []*identityv1.StoredGrant, permits ...Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
	kept := map[string]bool{}
	for _, g := range grants {
		kept[g.GetApplicationId()] = true
	}
	return s.changeUser(ctx, organization, email, permits, func(u *identityv1.StoredUser) ([]clientv3.Cmp, error) {
		u.Grants = grants
		return s.grantGuards(ctx, u)
	}, func(d *identityv1.StoredDelegate) bool { return !kept[d.GetApplicationId()] })
}

// SetUserPassword replaces the hash of a user's password, a PHC string. An unknown user is [ErrNotFound].
func (s *Store) SetUserPassword(ctx context.Context, organization, email, hash string, permits ...Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
	return s.changeUser(ctx, organization, email, permits, func(u *identityv1.StoredUser) ([]clientv3.Cmp, error) {
		u.PasswordHash, u.PasswordChangedAt = hash, timestamppb.New(s.now())
		return nil, nil
	}, nil)
}

// SetUserDisabled switches a user off or on, and with it every delegate of theirs. An unknown user is [ErrNotFound].
func (s *Store) SetUserDisabled(ctx context.Context, organization, email string, disabled bool, permits ...Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
	return s.changeUser(ctx, organization, email, permits, func(u *identityv1.StoredUser) ([]clientv3.Cmp, error) {
		u.Disabled = disabled
		return nil, nil
	}, nil)
}

// RemoveUser removes a user and their delegates. An unknown user is [ErrNotFound].
func (s *Store) RemoveUser(ctx context.Context, organization, email string, permits ...Permit[*identityv1.StoredUser]) error {
	_, err := s.changeUser(ctx, organization, email, permits, nil, func(*identityv1.StoredDelegate) bool { return true })
	return err
}

// changeUser changes a user, or with a nil edit removes it, together with the delegates that go. With a nil goes, none
// does and none is read.
func (s *Store) changeUser(ctx context.Context, organization, email string, permits []Permit[*identityv1.StoredUser],
	edit func(*identityv1.StoredUser) ([]clientv3.Cmp, error), goes func(*identityv1.StoredDelegate) bool) (*identityv1.StoredUser, error) {
	canonical, err := CanonicalEmail(email)
	if err != nil {
		return nil, fmt.Errorf("change user %q of %s: %w", email, ownerOf(organization), ErrNotFound)
	}
	key := s.l.user(organization, canonical)
	var u *identityv1.StoredUser
	err = retry(ctx, func() (bool, error) {
		u = &identityv1.StoredUser{}
		found, meta, err := read(ctx, s, key, u)
		if err != nil {
			return false, err
		}
		if !found {
			return false, ErrNotFound
		}
		if err := permitted(u, permits); err != nil {
			return false, err
		}
		guards := []clientv3.Cmp{unchanged(key, meta)}
		write := clientv3.OpDelete(key)
		if edit != nil {
			more, err := edit(u)
			if err != nil {
				return false, err
			}
			value, err := encode(u)
			if err != nil {
				return false, err
			}
			guards, write = append(guards, more...), clientv3.OpPut(key, value)
		}
		ops := []clientv3.Op{write}
		if goes != nil {
			guard, deletes, err := s.partWith(ctx, organization, canonical, goes)
			if err != nil {
				return false, err
			}
			guards, ops = append(guards, guard), append(ops, deletes...)
		}
		r, err := s.c.Txn(ctx).If(guards...).Then(ops...).Commit()
		return err == nil && r.Succeeded, err
	})
	if err != nil {
		return nil, fmt.Errorf("change user %q of %s: %w", canonical, ownerOf(organization), err)
	}
	return u, nil
}
