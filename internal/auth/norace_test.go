//go:build !race

package auth_test

const raced = false
