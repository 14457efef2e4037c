// Package oauth is the OAuth side of an edge: the metadata by which clients learn what it is, and, where it is configured
// to be an authorization server, the endpoint where machines get access tokens and the keys that verify them.
//
// In come HTTP requests outside MCP; out go JSON documents, and tokens that package token signs. Who a client is package
// auth finds out. The package keeps nothing between requests: keys and identities come from the registry's newest view.
//
// Documents are built from the issuer and from the base URL of the configuration, never from what a request says of
// itself.
package oauth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
)

// The paths of RFC 9728 and RFC 8414, and our own.
const (
	resourcePath = "/mcp"
	prmPath      = "/.well-known/oauth-protected-resource"
	serverPath   = "/.well-known/oauth-authorization-server"
	tokenPath    = "/api/auth/oauth/token"
	keysPath     = "/api/auth/oauth/jwks"
)

// Options configure the endpoints.
type Options struct {
	// BaseURL gives the edge's URL as the caller of a request knows it. Required.
	BaseURL func(r *http.Request) string
	// Server makes the edge an authorization server. Nil: it is a resource server alone.
	Server *Server
}

// Server is an authorization server. All fields but Refused, Logger and Now are required.
type Server struct {
	// Issuer is the URL that tokens name as theirs, and Resource the one resource that they are good for.
	Issuer, Resource string
	// Lifetime is how long a token is good.
	Lifetime time.Duration
	// Keys gives the keys of now, newest first.
	Keys func() []*identityv1.StoredTokenKey
	// Clients authenticates machines. An auth.Authenticator does.
	Clients Clients
	// Proxies are believed where they say whom a request came from.
	Proxies *auth.Proxies
	// Refused is told of each request whose client was not authenticated: where it came from, whether it brought an id or
	// a secret, and with which status it is answered. It must not block. Nil tells nobody.
	Refused func(from auth.Origin, brought bool, status int)
	// Logger hears of issued tokens and of faults. Nil discards.
	Logger *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Clients authenticates machines.
type Clients interface {
	// Client authenticates a machine and gives the epoch of its secret. The errors are those of auth.Authenticator.
	Client(id, secret string, from auth.Origin) (epoch int64, err error)
}

// Handlers gives the handlers by exact path. What is not configured is not there. All of them are safe for concurrent
// use.
func Handlers(o Options) map[string]http.Handler {
	metadata := document(func(r *http.Request) []byte { return resourceMetadata(o.BaseURL(r), o.Server) }, "no-store")
	paths := map[string]http.Handler{prmPath: metadata, prmPath + resourcePath: metadata}
	s := o.Server
	if s == nil {
		return paths
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Refused == nil {
		s.Refused = func(auth.Origin, bool, int) {}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	paths[tokenPath] = http.HandlerFunc(s.token)
	// A new key is announced a minute before it signs, which is what a cache must not sleep through.
	paths[keysPath] = document(func(*http.Request) []byte { return keySet(s.Keys()) }, "public, max-age=30")
	about := document(func(*http.Request) []byte { return serverMetadata(s.Issuer) }, "public, max-age=300")
	paths[serverPath] = about
	if issuer, err := url.Parse(s.Issuer); err == nil && issuer.Path != "" {
		paths[serverPath+issuer.Path] = about // the path form (RFC 8414, 3.1)
	}
	return paths
}

// CheckURL reports what is wrong with the URL of an issuer or of an edge that tokens are good for: it must be absolute
// and https, or http on loopback, in lower case, and without user, query, fragment and trailing slash, so that it can be
// compared as text.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("want an absolute https URL")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return errors.New("want a URL without user, query and fragment")
	case strings.HasSuffix(text, "/"):
		return errors.New("want a URL without a slash at its end")
	case text[:len(u.Scheme)] != u.Scheme || u.Host != strings.ToLower(u.Host):
		return errors.New("want scheme and host in lower case")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("want https: http is for loopback alone")
	case strings.ContainsAny(text, "\"\\ ") || u.Path != "" && u.EscapedPath() != u.Path:
		return errors.New("want a URL without characters that need escapes")
	}
	return nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
