// Package porttest reserves ports for programs of tests that have to be given one. A program that
// accepts port 0, and reports the port that it got, needs none.
package porttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"evalctl/internal/lockfile"
)

// The ports lie below the range for outgoing connections. Tests have many of these.
const (
	firstPort = 20_000
	endPort   = 30_000
)

var (
	errTaken = errors.New("another test has the port")
	errNone  = errors.New("no free ports")
)

// Free returns the first of n free ports of loopback in a row. Until the test ends, no other test
// gets one of them, in any process of the user.
func Free(t testing.TB, n int) int {
	t.Helper()
	first, release, err := Reserve(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return first
}

// Reserve is Free until release is called.
func Reserve(n int) (first int, release func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return 0, nil, err
	}
	dir := filepath.Join(cache, "evalctl-test", "ports")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, nil, err
	}
	for range 1000 {
		first = firstPort + rand.IntN(endPort-firstPort-n)
		if release, err = reserve(dir, first, n); err == nil {
			return first, release, nil
		}
	}
	return 0, nil, fmt.Errorf("%w: %w", errNone, err)
}

// reserve reserves all of the ports, or none.
func reserve(dir string, first, n int) (release func(), err error) {
	var held []*lockfile.File
	release = func() {
		for _, f := range held {
			_ = os.Remove(f.Name()) // before another process can own it
			_ = f.Close()
		}
	}
	for port := first; port < first+n; port++ {
		f, err := lockfile.Open(filepath.Join(dir, strconv.Itoa(port)), os.O_RDWR|os.O_CREATE, errTaken)
		if err == nil {
			held = append(held, f)
			err = listens(port)
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// listens returns an error if a program has the port.
func listens(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // it does not block
	if err != nil {
		return err
	}
	return l.Close()
}
