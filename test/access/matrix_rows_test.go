package access_test

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
)

// The values of a caller's dimensions.
var (
	callerHolders = []holder{aMachine, aUser, aDelegate}
	callerScopes  = [][2]string{{"", ""}, {"acme", ""}, {"globex", ""}, {"acme", "orders"}, {"acme", "orders-2"}, {"globex", "orders"}}
	callerIlls    = []illFormed{
		wellFormed, dottedOrganization, reservedOrganization, raisedOrganization, noOrganization, dottedApplication, reservedApplication,
	}
	// callerKinds are what machines are stored as; below zero is what their ids say.
	callerKinds = []kind{-1, unspecified, system, organizational, applicational, anonymous, 9}
	callerRoles = [][]string{
		nil, {"refunder"}, {"clerk"}, {"root"}, {"auditor", "near"}, {"acme/refunder"}, {"acme/clerk", "auditor"},
		{"globex/refunder"}, {"ghost", "acme/ghost"}, {"ghost", "refunder", "acme/clerk"},
	}
	callerCredentials = []credential{
		bySecretOrPassword, byAccessToken, wrongSecret, forgedToken, noCredential, listingToken, callingToken, secretElsewhere, tokenAmongOthers,
	}
	callerOffs = []off{nobodyOff, selfOff, ownerOff}
	worlds     = []world{{on, on}, {offline, on}, {missing, on}, {on, offline}, {on, missing}}
)

// settings are the edges: the covering array of what decides about zones.
var settings = func() (all []setting) {
	anonymous := [][]string{nil, {"app-api"}, {"app.acme.orders", "management-api"}}
	serves := [][]string{nil, {"app"}, {"app-api", "app.acme.orders"}}
	for _, row := range covering([]int{2, len(anonymous), len(serves)}) {
		all = append(all, setting{row[0] == 1, anonymous[row[1]], serves[row[2]]})
	}
	return all
}()

// row is a caller at an edge in a world, who speaks a version.
type row struct {
	n       int
	caller  caller
	world   int
	edge    int
	version string
	// whole says that every name is called, else some that are drawn.
	whole bool
}

// rows are the covering array over everything, each single thing that may be wrong, and, in the world where all is on, the whole product of those who are
// let in, each of them at three edges.
func rows() []row {
	var all []row
	add := func(r row) {
		r.n = len(all)
		all = append(all, r)
	}
	sizes := []int{
		len(callerHolders), len(callerScopes), len(callerIlls), len(callerKinds), len(callerRoles), len(callerCredentials),
		len(callerOffs), len(worlds), len(settings), len(served),
	}
	for _, v := range slices.Concat(covering(sizes), drawn(sizes, 20)) {
		scope := callerScopes[v[1]]
		add(row{world: v[7], edge: v[8], version: served[v[9]], whole: true, caller: caller{
			holder: callerHolders[v[0]], organization: scope[0], application: scope[1], ill: callerIlls[v[2]],
			storedKind: callerKinds[v[3]], asIs: callerKinds[v[3]] < 0, roles: callerRoles[v[4]],
			credential: callerCredentials[v[5]], off: callerOffs[v[6]],
		}})
	}
	n := 0
	for _, h := range callerHolders {
		for _, scope := range callerScopes {
			for _, roles := range callerRoles {
				credentials := []credential{bySecretOrPassword}
				switch h {
				case aDelegate:
					credentials = []credential{byAccessToken}
				case aMachine:
					credentials = append(credentials, byAccessToken)
				}
				for _, c := range credentials {
					for i := range 3 {
						add(row{edge: (n + i*len(settings)/3) % len(settings), version: served[n%len(served)], caller: caller{
							holder: h, organization: scope[0], application: scope[1], ill: wellFormed, asIs: true, roles: roles,
							credential: c, off: nobodyOff,
						}})
					}
					n++
				}
			}
		}
	}
	// One thing wrong at a time: in the covering array one often hides behind another.
	for _, h := range callerHolders {
		for _, scope := range callerScopes {
			sound := caller{holder: h, organization: scope[0], application: scope[1], ill: wellFormed, asIs: true, roles: []string{"refunder"}, off: nobodyOff}
			if sound.credential = bySecretOrPassword; h == aDelegate {
				sound.credential = byAccessToken
			}
			wrong := func(world int, change func(*caller)) {
				c := sound
				change(&c)
				add(row{world: world, edge: len(all) % len(settings), version: served[len(all)%len(served)], caller: c})
			}
			for world := range worlds {
				wrong(world, func(*caller) {})
			}
			for _, ill := range callerIlls {
				wrong(0, func(c *caller) { c.ill = ill })
			}
			for _, o := range callerOffs {
				wrong(0, func(c *caller) { c.off = o })
			}
			for _, credential := range callerCredentials {
				wrong(0, func(c *caller) { c.credential = credential })
			}
			for _, k := range callerKinds {
				if h == aMachine && k >= 0 {
					wrong(0, func(c *caller) { c.storedKind, c.asIs = k, false })
				}
			}
		}
	}
	for i := range settings {
		add(row{edge: i, version: served[i%len(served)], whole: true, caller: caller{holder: aMachine, credential: noCredential, ill: wellFormed, asIs: true}})
	}
	return all
}

// stored is a caller in etcd.
type stored struct {
	caller
	// name is the machine's id, the user's email, or the delegate's id.
	name string
}

// store writes the caller down under a number.
func (c caller) store(n int) (stored, []proto.Message) {
	organization, application := c.ids()
	s := stored{caller: c, name: fmt.Sprintf("cell-%d", n)}
	email := s.name + "@example.com"
	user := &identityv1.StoredUser{
		OrganizationId: organization, Email: email, PasswordHash: thePasswordHash(), Disabled: c.holder == aUser && c.off == selfOff,
		Grants: []*identityv1.StoredGrant{{ApplicationId: application, Roles: c.roles}},
	}
	switch c.holder {
	case aMachine:
		p := &participantv1.Participant{
			Kind: participantv1.Kind(c.kind()), OrganizationId: organization, ApplicationId: application, Roles: c.roles,
		}
		stored := machine(s.name, p)
		stored.Disabled = c.off == selfOff
		return s, []proto.Message{stored}
	case aUser:
		s.name = email
		return s, []proto.Message{user}
	default:
		s.name = "delegate:" + s.name
		user.Disabled = c.off == ownerOff
		return s, []proto.Message{user, &identityv1.StoredDelegate{
			Id: s.name, OrganizationId: organization, OwnerEmail: email, ApplicationId: application, ClientId: clientOf(s.name),
			ClientName: "A client", Disabled: c.off == selfOff,
		}}
	}
}

// clientOf is the OAuth client of a delegate.
func clientOf(delegate string) string { return "https://client.example.com/" + delegate }

// sender is how the caller makes requests.
func (s stored) sender(y *yard, r row) sender {
	organization, application := s.ids()
	to := sender{version: r.version, from: addressOf(r.n)}
	scope := scopeLines(organization, application)
	if s.holder == aMachine {
		scope = nil
	}
	secret := theSecret
	if s.holder == aUser {
		secret = thePassword
	}
	client := s.name
	if s.holder == aDelegate {
		client = clientOf(s.name)
	}
	token := func(k tokenKey) string { return k.token(claims(s.name, client, s.scope())) }
	switch r.caller.credential {
	case bySecretOrPassword:
		to.lines = bySecret(s.name, secret, scope...)
	case wrongSecret:
		to.lines = bySecret(s.name, "no"+secret, scope...)
	case secretElsewhere:
		to.lines = bySecret(s.name, secret, scopeLines("globex", "orders-2")...)
	case byAccessToken, listingToken, callingToken:
		to.lines = byToken(token(y.signer), scope...)
	case tokenAmongOthers:
		to.lines = byToken(token(y.signer), bySecret("bystander", theSecret, scopeLines("globex", "orders")...)...)
	case forgedToken:
		to.lines = byToken(token(tokenKey{y.signer.kid, newTokenKey("").seed}))
	case noCredential:
		// A scope is no credential.
		to.lines = scopeLines("acme", "orders")
	}
	return to
}
