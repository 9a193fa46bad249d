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

// CopyAll copies all new documents of transactions.
func CopyAll(t *testing.T) {
	before := copyFrom
	copyFrom = 1
	t.Cleanup(func() { copyFrom = before })
}

// Fly begins a group of a size, without operations, that does not end.
func (db *DB) Fly(size int) (end func()) {
	g := &db.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.begin(size)
	return func() { g.end(f) }
}

// Hold is Fly of a group that is never slow.
func (db *DB) Hold(size int) (end func()) {
	g := &db.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.begin(size)
	f.slow.Stop()
	return func() { g.end(f) }
}

// Waiting returns the number of operations that wait for a group.
func (db *DB) Waiting() int {
	db.groups.mu.Lock()
	defer db.groups.mu.Unlock()
	return len(db.groups.waiting)
}
