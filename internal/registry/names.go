package registry

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// NameConflict says that two functions want one name.
type NameConflict struct {
	// Function is refused, as `zone~package.Service/Method`; Holder has the name already.
	Function, Holder string
	// Name is the declared name, or the hash that both functions have.
	Name string
	// Alias says that Name is a declared one.
	Alias bool
}

// String says what is wrong and how to mend it.
func (c NameConflict) String() string {
	if c.Alias {
		return fmt.Sprintf("%s: the declared name %q is held by %s, which is known to the registry, online or not: declare another name",
			c.Function, c.Name, c.Holder)
	}
	return fmt.Sprintf("%s: its hashed name %s is also that of %s: rename one of the two functions", c.Function, c.Name, c.Holder)
}

// NameError lists every name that a registration could not have.
type NameError struct{ Conflicts []NameConflict }

func (e *NameError) Error() string {
	var b strings.Builder
	for i, c := range e.Conflicts {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.String())
	}
	return b.String()
}

// claim is one name with the key that says whose it is.
type claim struct {
	key, value string
	conflict   NameConflict // what it is if somebody else holds the key
}

// claimNames writes who holds the names of the tools: hashed names over all zones, declared names within their zone's
// root. They are judged over everything that was ever registered and not collected, online or not, so that names do not
// flip (tools.md, "Name"). Names that were claimed before a later one is refused are given back.
func (s *Store) claimNames(ctx context.Context, services []ServiceRegistration) error {
	claims, err := s.claims(services)
	if err != nil {
		return err
	}
	free, err := s.freeOf(ctx, claims)
	if err != nil {
		return err
	}
	var made []clientv3.Cmp // each proves that a claim is still the one made here
	var keys []string
	for len(free) > 0 {
		some := free[:min(len(free), batch)]
		guards, puts := make([]clientv3.Cmp, len(some)), make([]clientv3.Op, len(some))
		for i, c := range some {
			guards[i], puts[i] = absent(c.key), clientv3.OpPut(c.key, c.value)
		}
		w, err := s.c.Txn(ctx).If(guards...).Then(puts...).Commit()
		if err == nil && w.Succeeded {
			for _, c := range some {
				made = append(made, clientv3.Compare(clientv3.ModRevision(c.key), "=", w.Header.Revision))
				keys = append(keys, c.key)
			}
			free = free[len(some):]
			continue
		}
		if err == nil { // somebody was faster: look again at what is still free
			if free, err = s.freeOf(ctx, free); err == nil {
				continue
			}
		}
		for i, key := range keys {
			_, _ = s.c.Txn(context.WithoutCancel(ctx)).If(made[i]).Then(clientv3.OpDelete(key)).Commit()
		}
		return err
	}
	return nil
}

// claims lists every name once. Two functions of one registration that want the same name are refused like any other.
func (s *Store) claims(services []ServiceRegistration) ([]claim, error) {
	var all []claim
	var refused NameError
	holders := map[string]string{}
	add := func(key, name, function string, alias bool) error {
		conflict := NameConflict{Function: function, Name: name, Alias: alias}
		if holder, taken := holders[key]; taken {
			if holder != function {
				conflict.Holder = holder
				refused.Conflicts = append(refused.Conflicts, conflict)
			}
			return nil
		}
		holders[key] = function
		value, err := encode(&registryv1.StoredAlias{Name: name, Function: function})
		all = append(all, claim{key: key, value: value, conflict: conflict})
		return err
	}
	for _, service := range services {
		for _, t := range service.Tools {
			if err := add(s.l.function(t.Hash), t.Hash, t.Function, false); err != nil {
				return nil, err
			}
			if t.Alias == "" {
				continue
			}
			if err := add(s.l.alias(service.AliasRoot, t.Alias), t.Alias, t.Function, true); err != nil {
				return nil, err
			}
		}
	}
	if len(refused.Conflicts) > 0 {
		return nil, &refused
	}
	return all, nil
}

// freeOf gives the claims that nobody holds yet. Names that other functions hold are all reported in one error.
func (s *Store) freeOf(ctx context.Context, claims []claim) ([]claim, error) {
	keys := make([]string, len(claims))
	for i, c := range claims {
		keys[i] = c.key
	}
	holders, err := s.holders(ctx, keys)
	if err != nil {
		return nil, err
	}
	var free []claim
	var refused NameError
	for i, c := range claims {
		switch holders[i] {
		case "":
			free = append(free, c)
		case c.conflict.Function:
		default:
			conflict := c.conflict
			conflict.Holder = holders[i]
			refused.Conflicts = append(refused.Conflicts, conflict)
		}
	}
	if len(refused.Conflicts) > 0 {
		return nil, &refused
	}
	return free, nil
}

// holders reads which functions hold the keys; the empty string where nobody does.
func (s *Store) holders(ctx context.Context, keys []string) ([]string, error) {
	all := make([]string, 0, len(keys))
	for len(keys) > 0 {
		some := keys[:min(len(keys), batch)]
		gets := make([]clientv3.Op, len(some))
		for i, key := range some {
			gets[i] = clientv3.OpGet(key)
		}
		r, err := s.c.Txn(ctx).Then(gets...).Commit()
		if err != nil {
			return nil, err
		}
		for i, one := range r.Responses {
			var m registryv1.StoredAlias
			if kvs := one.GetResponseRange().GetKvs(); len(kvs) > 0 {
				if err := proto.Unmarshal(kvs[0].Value, &m); err != nil {
					return nil, fmt.Errorf("read %s: %w", some[i], err)
				}
			}
			all = append(all, m.GetFunction())
		}
		keys = keys[len(some):]
	}
	return all, nil
}

// Conflicts lists the names of a registration that other functions hold, and claims nothing.
func (s *Store) Conflicts(ctx context.Context, services []ServiceRegistration) ([]NameConflict, error) {
	claims, err := s.claims(services)
	if err == nil {
		_, err = s.freeOf(ctx, claims)
	}
	if refused, ok := err.(*NameError); ok { //nolint:errorlint // made here, never wrapped
		return refused.Conflicts, nil
	}
	return nil, err
}

// FunctionOf gives the function that a hashed name belongs to, as `zone~package.Service/Method`. A name that nobody
// registered is [ErrNotFound].
func (s *Store) FunctionOf(ctx context.Context, hash string) (string, error) {
	return s.holder(ctx, s.l.function(hash), hash)
}

// AliasHolders gives, for each zone root in which somebody holds the declared name, the function.
func (s *Store) AliasHolders(ctx context.Context, roots []string, name string) (map[string]string, error) {
	keys := make([]string, len(roots))
	for i, root := range roots {
		keys[i] = s.l.alias(root, name)
	}
	functions, err := s.holders(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("look up the declared name %q: %w", name, err)
	}
	held := map[string]string{}
	for i, function := range functions {
		if function != "" {
			held[roots[i]] = function
		}
	}
	return held, nil
}

func (s *Store) holder(ctx context.Context, key, name string) (string, error) {
	if strings.Contains(name, "/") {
		return "", fmt.Errorf("look up the name %q: %w", name, ErrNotFound)
	}
	all, err := s.holders(ctx, []string{key})
	switch {
	case err != nil:
		return "", fmt.Errorf("look up the name %q: %w", name, err)
	case all[0] == "":
		return "", fmt.Errorf("look up the name %q: %w", name, ErrNotFound)
	}
	return all[0], nil
}
