package pgstore

import (
	"testing"
	"time"
)

// Hurry shortens the waits until an operation gives up, for all databases: a test that calls it is
// not parallel.
func Hurry(t *testing.T, wait time.Duration) {
	acquire, resolve := acquireWithin, resolveWithin
	acquireWithin, resolveWithin = wait, wait
	t.Cleanup(func() { acquireWithin, resolveWithin = acquire, resolve })
}

// Reach pretends that a connection has reached another server.
func Reach(db *DB, server string) { db.server.reached(server) }

// CopyAll copies all new documents of transactions, of all databases: a test that calls it is not
// parallel.
func CopyAll(t *testing.T) {
	before := copyFrom
	copyFrom = 1
	t.Cleanup(func() { copyFrom = before })
}

// Fly begins a group of a size, without operations, that does not end.
func (db *DB) Fly(size int) { db.fly(size) }

// Hold is Fly of a group that is never slow, until release is called.
func (db *DB) Hold(size int) (release func()) {
	f := db.fly(size)
	f.slow.Stop()
	return func() { db.groups.end(f) }
}

func (db *DB) fly(size int) *flight {
	db.groups.mu.Lock()
	defer db.groups.mu.Unlock()
	return db.groups.begin(size)
}

// Waiting returns the number of operations that wait for a group.
func (db *DB) Waiting() int {
	db.groups.mu.Lock()
	defer db.groups.mu.Unlock()
	return len(db.groups.waiting)
}
