//go:build !race

package access_test

// thin is that every row and every name is tried.
const thin = 1
