//go:build race

package auth_test

// raced says that the race detector watches, under which a hash of argon2id takes seconds.
const raced = true
