// Package longtest marks tests that run only at night: crashes of databases, quality on real data,
// more rounds of random faults. The environment variable EVALCTL_TEST_LONG includes them.
package longtest

import (
	"os"
	"testing"
)

// On reports whether long tests are run.
func On() bool { return os.Getenv("EVALCTL_TEST_LONG") != "" }

// Skip skips a test unless long tests are run.
func Skip(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long test: set EVALCTL_TEST_LONG=1 to run it")
	}
}

// Rounds returns the number of rounds of a test: all of them if long tests are run.
func Rounds(quick, all int) int {
	if On() {
		return all
	}
	return quick
}
