package edge

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/oauth"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// authentication is how an edge finds out who calls.
type authentication struct {
	authenticator *auth.Authenticator
	proxies       *auth.Proxies
	server        *oauth.Server // nil where the edge is no authorization server
	baseURL       string
}

// authentication makes what the configuration says. The error names the field that is wrong.
func (e *Edge) authentication(cfg *configv1.EdgeConfig, rules participant.Rules, now func() time.Time) (*authentication, error) {
	a := &authentication{baseURL: strings.TrimRight(cfg.GetBaseUrl(), "/")}
	var err error
	if a.proxies, err = auth.NewProxies(cfg.GetTrustedProxies()); err != nil {
		return nil, err
	}
	o := auth.Options{
		View:          func() auth.View { return e.watcher.View() },
		SilentSince:   func() (time.Time, bool) { return e.watcher.SilentSince() },
		Kinds:         []registryv1.MachineKind{registryv1.MachineKind_MACHINE_KIND_CLIENT},
		Emails:        registry.CanonicalEmail,
		Rules:         rules,
		AnonymousOnly: cfg.GetAnonymousOnly(),
		Now:           now,
	}
	if cfg.GetAuthorizationServer() != nil {
		if a.server, err = authorizationServer(cfg); err != nil {
			return nil, err
		}
		o.Tokens = &auth.Tokens{Issuer: a.server.Issuer, Resource: a.server.Resource}
	}
	a.authenticator = auth.New(o)
	if a.server != nil {
		a.server.Clients, a.server.Proxies, a.server.Logger, a.server.Now = a.authenticator, a.proxies, e.log, now
		a.server.Refused = e.refusedToken
		a.server.Keys = func() []*identityv1.StoredTokenKey {
			if view := e.watcher.View(); view != nil {
				return view.TokenKeys
			}
			return nil
		}
	}
	return a, nil
}

// authorizationServer reads what the configuration says of one.
func authorizationServer(cfg *configv1.EdgeConfig) (*oauth.Server, error) {
	c := cfg.GetAuthorizationServer()
	switch {
	case cfg.GetAnonymousOnly():
		return nil, errors.New("authorization_server: anonymous_only authenticates nobody, so that no token is of use: leave one of them out")
	case cfg.GetBaseUrl() == "":
		return nil, errors.New("authorization_server: base_url is needed: tokens are good for it, with /mcp behind it")
	}
	if err := oauth.CheckURL(cfg.GetBaseUrl()); err != nil {
		return nil, fmt.Errorf("base_url %q: %w, since tokens name it", cfg.GetBaseUrl(), err)
	}
	issuer := cmp.Or(c.GetIssuerBaseUrl(), cfg.GetBaseUrl())
	if err := oauth.CheckURL(issuer); err != nil {
		return nil, fmt.Errorf("authorization_server.issuer_base_url %q: %w", issuer, err)
	}
	return &oauth.Server{
		Issuer:   issuer,
		Resource: cfg.GetBaseUrl() + "/mcp",
		Lifetime: cmp.Or(c.GetAccessTokenLifetime().AsDuration(), token.Lifetime),
	}, nil
}

// handlers are the paths of OAuth.
func (a *authentication) handlers() map[string]http.Handler {
	return oauth.Handlers(oauth.Options{
		BaseURL: func(r *http.Request) string { return mcp.BaseURL(a.baseURL, r) },
		Server:  a.server,
	})
}
