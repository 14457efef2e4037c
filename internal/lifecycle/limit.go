package lifecycle

// Limit is a bound on how much is asked of an edge at once (access.md, "Limits").
type Limit string

// The limits.
const (
	// LimitRequests: the edge had as many requests in flight as it takes.
	LimitRequests Limit = "REQUESTS"
	// LimitCalls: the participant had as many calls running as it may.
	LimitCalls Limit = "CALLS"
	// LimitRate: the participant called more often than it may.
	LimitRate Limit = "RATE"
)

// Limits are all limits, for whoever counts them.
func Limits() []Limit { return []Limit{LimitRequests, LimitCalls, LimitRate} }

// Credential is a kind of credentials.
type Credential string

// The kinds of credentials that a request can bring.
const (
	// CredentialBearer is a token in the header Authorization.
	CredentialBearer Credential = "BEARER"
	// CredentialSecret is a client id, a client secret, or both.
	CredentialSecret Credential = "SECRET"
	// CredentialNone says that the request brought none.
	CredentialNone Credential = "NONE"
)

// Credentials are all kinds of credentials, for whoever counts them.
func Credentials() []Credential {
	return []Credential{CredentialBearer, CredentialSecret, CredentialNone}
}
