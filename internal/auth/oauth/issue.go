package oauth

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
)

const (
	clientCredentials = "client_credentials"
	// maxForm is the largest body of a token request in bytes.
	maxForm = 64 << 10
	// retryCutOff is after how many seconds a client may ask again where the edge cannot tell who it is.
	retryCutOff = "10"
)

// The descriptions of refusals. None repeats what was sent.
const (
	clientText   = "The client is not known, or its secret is wrong: send a machine's id and secret, by HTTP Basic or in the form."
	attemptsText = "Too many attempts failed: wait as long as Retry-After says."
	cutOffText   = "The registry has been silent for so long that it cannot be told who is asking: try again later."
	notReadyText = "The keys were not read from the registry yet: try again shortly."
	grantText    = "Only the grant type client_credentials is served."
	targetText   = "The resource is not one that tokens are issued for: leave it out, or name the one of the protected resource metadata."
	scopeText    = "A scope is not known: leave scope out, or choose from scopes_supported."
)

// refusal is a token request that is answered with an error.
type refusal struct {
	status      int
	code        string
	description string
	retryAfter  string
}

func badRequest(code, description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: code, description: description}
}

// token answers POST /api/auth/oauth/token (RFC 6749, 3.2 and 4.4; RFC 8707).
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	body, no := s.issue(w, r)
	if no == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Pragma", "no-cache")
		write(w, http.StatusOK, body)
		return
	}
	switch no.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusUnauthorized:
		if len(r.Header["Authorization"]) > 0 {
			w.Header().Set("WWW-Authenticate", `Basic realm="sallyport", charset="UTF-8"`)
		}
	}
	if no.retryAfter != "" {
		w.Header().Set("Retry-After", no.retryAfter)
	}
	refuse(w, no.status, no.code, no.description)
}

// issue takes a request through its steps: form, grant type, client, resource, scope, key.
func (s *Server) issue(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	form, no := readForm(w, r)
	if no != nil {
		return nil, no
	}
	switch form.Get("grant_type") {
	case clientCredentials:
	case "":
		return nil, badRequest("invalid_request", "The parameter grant_type is missing.")
	default:
		return nil, badRequest("unsupported_grant_type", grantText)
	}
	id, secret, no := client(r, form)
	if no != nil {
		return nil, no
	}
	// What the machine is, is looked up each time that its token is used.
	from := auth.Origin{Proxies: s.Proxies, Peer: r.RemoteAddr, Forwarded: r.Header["X-Forwarded-For"]}
	epoch, err := s.Clients.Client(id, secret, from)
	if err != nil {
		no := unauthenticated(err)
		if !errors.Is(err, auth.ErrCutOff) {
			s.Refused(from, id != "" || secret != "", no.status)
		}
		return nil, no
	}
	if resource := form.Get("resource"); resource != "" && !same(resource, s.Resource) {
		return nil, badRequest("invalid_target", targetText)
	}
	scopes := token.Tools
	if text := form.Get("scope"); text != "" {
		var unknown bool
		if scopes, unknown = token.ParseScopes(text); unknown {
			return nil, badRequest("invalid_scope", scopeText)
		}
	}
	now := s.Now()
	key := token.Signing(s.Keys(), now)
	if key == nil {
		s.Logger.Error("no token was issued: the registry holds no key that signs now")
		return nil, &refusal{http.StatusServiceUnavailable, "temporarily_unavailable", notReadyText, "1"}
	}
	text, err := token.Issue(key, token.Claims{
		Issuer: s.Issuer, Subject: id, Audience: []string{s.Resource}, ClientID: id, Scopes: scopes, Epoch: epoch,
	}, now, s.Lifetime)
	if err != nil {
		s.Logger.Error("no token was issued", "machine", id, "error", err)
		return nil, &refusal{http.StatusInternalServerError, "server_error", "The token could not be made.", ""}
	}
	s.Logger.Info("access token issued", "machine", id, "scope", scopes.String(), "kid", key.GetKid())
	b := appendMember([]byte{'{'}, "access_token", text)
	b = append(b, `,"token_type":"Bearer","expires_in":`...)
	b = strconv.AppendInt(b, int64(s.Lifetime/time.Second), 10)
	b = appendMember(append(b, ','), "scope", scopes.String())
	return append(b, '}'), nil
}

// readForm reads the parameters, which are in the body and nowhere else, each of them once. One without a value counts
// as absent (RFC 6749, 3.2).
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, *refusal) {
	if r.Method != http.MethodPost {
		return nil, &refusal{http.StatusMethodNotAllowed, "invalid_request", "Only POST is served here.", ""}
	}
	if r.URL.RawQuery != "" {
		return nil, badRequest("invalid_request", "The parameters belong into the body.")
	}
	mediaType := ""
	if values := r.Header["Content-Type"]; len(values) == 1 {
		mediaType, _, _ = mime.ParseMediaType(values[0])
	}
	if mediaType != "application/x-www-form-urlencoded" {
		return nil, badRequest("invalid_request", "The Content-Type must be application/x-www-form-urlencoded.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &refusal{http.StatusRequestEntityTooLarge, "invalid_request", "The body is larger than 64 KiB.", ""}
	case err != nil:
		return nil, badRequest("invalid_request", "The body could not be read.")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, badRequest("invalid_request", "The body is not a form.")
	}
	for _, values := range form {
		if len(values) > 1 {
			return nil, badRequest("invalid_request", "A parameter stands twice.")
		}
	}
	return form, nil
}

// client gives the id and secret that a client authenticates with: by HTTP Basic or in the form, and not both (RFC 6749,
// 2.3). A client that sends none is refused like one that is not known.
func client(r *http.Request, form url.Values) (id, secret string, no *refusal) {
	switch len(r.Header["Authorization"]) {
	case 0:
		return form.Get("client_id"), form.Get("client_secret"), nil
	case 1:
	default:
		return "", "", badRequest("invalid_request", "The header Authorization may stand once.")
	}
	if form.Has("client_secret") {
		return "", "", badRequest("invalid_request", "The client authenticates in two ways: use one of them.")
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		return "", "", nil // of another scheme: nobody we know
	}
	// Both are encoded as in a form before they are joined (RFC 6749, 2.3.1).
	id, err := url.QueryUnescape(id)
	if err != nil {
		return "", "", nil
	}
	if secret, err = url.QueryUnescape(secret); err != nil {
		return "", "", nil
	}
	if named := form.Get("client_id"); named != "" && named != id {
		return "", "", badRequest("invalid_request", "The parameter client_id names another client than Authorization does.")
	}
	return id, secret, nil
}

// unauthenticated answers a client that is nobody known; the answer is the same whatever is wrong.
func unauthenticated(err error) *refusal {
	switch {
	case errors.Is(err, auth.ErrTooManyAttempts):
		wait := strconv.Itoa(int(auth.RetryAfter(err) / time.Second))
		return &refusal{http.StatusTooManyRequests, "temporarily_unavailable", attemptsText, wait}
	case errors.Is(err, auth.ErrCutOff):
		return &refusal{http.StatusServiceUnavailable, "temporarily_unavailable", cutOffText, retryCutOff}
	}
	return &refusal{http.StatusUnauthorized, "invalid_client", clientText, ""}
}

// same compares a resource that a client names with ours: scheme and host may be in upper case, all else is compared as
// it is (mcp-protocol.md 4.1).
func same(named, resource string) bool {
	if named == resource {
		return true
	}
	scheme, rest, _ := strings.Cut(named, "://")
	host, path, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme)+"://"+strings.ToLower(host)+"/"+path == resource
}
