package heap

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// leastSettled is the size of data below which garbage is not worth a collection of its own.
	leastSettled = 16 << 20
	// leastShare is the reciprocal of the share of the heap that the data must have, because a
	// collection visits all of it.
	leastShare = 4
)

var settling sync.Mutex

// Worth reports whether Settle is worth its cost after data of a size were built in a heap that has
// live bytes.
func Worth(size, live int64) bool { return size >= leastSettled && size*leastShare >= live }

// Settle collects garbage and returns free memory to the operating system, after data of a size in
// bytes were built, which leaves as much garbage. Otherwise that memory stays with a process that
// allocates little afterwards. It does nothing if the data are small or a small part of the heap,
// or if it is already running. It takes as long as a collection, during which the program goes on.
func Settle(size int64) {
	if size < leastSettled || !settling.TryLock() {
		return
	}
	defer settling.Unlock()
	live := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(live)
	if Worth(size, int64(live[0].Value.Uint64())) {
		debug.FreeOSMemory()
	}
}
