package auth

// CountHashes tells a test of each hash of a machine's secret.
func (a *Authenticator) CountHashes(hashed func()) { a.hashed = hashed }
