package main

import "runtime"

// spareHeap is how much memory a run allocates and never touches, so that it is not resident. The
// garbage collector starts when the heap has doubled: a run whose data are 3 MiB would otherwise be
// collected after every 3 MiB, which takes a sixth of its processor time. Unlike a higher GOGC this
// does not multiply the memory of a large run.
const spareHeap = 16 << 20

// holdSpareHeap allocates the spare heap. It is freed after release.
func holdSpareHeap() (release func()) {
	spare := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(spare) }
}
