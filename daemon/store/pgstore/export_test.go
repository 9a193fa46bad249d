package pgstore

import (
	"testing"
	"time"
)

// Hurry shortens the waits until an operation gives up.
func Hurry(t *testing.T, wait time.Duration) {
	acquire, resolve := acquireWithin, resolveWithin
	acquireWithin, resolveWithin = wait, wait
	t.Cleanup(func() { acquireWithin, resolveWithin = acquire, resolve })
}

// Reach pretends that a connection has reached another server.
func Reach(db *DB, server string) { db.server.reached(server) }
