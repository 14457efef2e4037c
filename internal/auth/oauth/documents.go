package oauth

import (
	"encoding/base64"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
)

// document serves a JSON document to anyone, pages of any origin included. A nil one is not there yet.
func document(render func(r *http.Request) []byte, cacheControl string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "invalid_request", "Only GET is served here.")
			return
		}
		body := render(r)
		if body == nil {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "temporarily_unavailable", notReadyText)
			return
		}
		w.Header().Set("Cache-Control", cacheControl)
		write(w, http.StatusOK, body)
	})
}

// resourceMetadata is what RFC 9728, 3.2 says of the MCP endpoint.
func resourceMetadata(baseURL string, s *Server) []byte {
	b := appendMember([]byte{'{'}, "resource", baseURL+resourcePath)
	if s != nil {
		b = appendMembers(append(b, ','), "authorization_servers", s.Issuer)
	}
	b = appendMembers(append(b, ','), "bearer_methods_supported", "header")
	b = appendMembers(append(b, ','), "scopes_supported", token.Names()...)
	return append(b, '}')
}

// serverMetadata is what RFC 8414, 2 says of the authorization server, and no more than is so.
func serverMetadata(issuer string) []byte {
	b := appendMember([]byte{'{'}, "issuer", issuer)
	b = appendMember(append(b, ','), "token_endpoint", issuer+tokenPath)
	b = appendMember(append(b, ','), "jwks_uri", issuer+keysPath)
	b = appendMembers(append(b, ','), "grant_types_supported", clientCredentials)
	b = appendMembers(append(b, ','), "response_types_supported")
	b = appendMembers(append(b, ','), "token_endpoint_auth_methods_supported", "client_secret_basic", "client_secret_post")
	b = appendMembers(append(b, ','), "scopes_supported", token.Names()...)
	return append(b, '}')
}

// keySet is the JWK set of the keys (RFC 7517, 5; RFC 8037), those included whose time to sign has yet to come. It is nil
// where there is none.
func keySet(keys []*identityv1.StoredTokenKey) []byte {
	b := []byte(`{"keys":[`)
	for _, key := range keys {
		public, err := token.Public(key)
		if err != nil {
			continue // a key that can sign nothing
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = appendMember(append(b, `{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA",`...), "kid", key.GetKid())
		b = appendMember(append(b, ','), "x", base64.RawURLEncoding.EncodeToString(public))
		b = append(b, '}')
	}
	if b[len(b)-1] == '[' {
		return nil
	}
	return append(b, "]}"...)
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, '"'), name...), `":`...)
	// The error says that invalid UTF-8 was replaced.
	b, _ = jsontext.AppendQuote(b, value)
	return b
}

func appendMembers(b []byte, name string, values ...string) []byte {
	b = append(append(append(b, '"'), name...), `":[`...)
	for i, value := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, value)
	}
	return append(b, ']')
}

// refuse writes an error as RFC 6749, 5.2 has it, in words of ours.
func refuse(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
	b := appendMember([]byte{'{'}, "error", code)
	write(w, status, append(appendMember(append(b, ','), "error_description", description), '}'))
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
