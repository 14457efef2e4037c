//go:build race

package access_test

// thin is that one of so many rows and names is tried: the race detector looks at how requests share what they share, and
// costs ten times as much for each.
const thin = 8
