//go:build !race

package password_test

const raced = false
