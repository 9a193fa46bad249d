package heap

import (
	"runtime"
	"testing"
	"time"

	"evalctl/internal/awaittest"
)

// collectUntil collects garbage until a condition holds.
func collectUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	awaittest.Until(t, what, func() bool {
		runtime.GC()
		return holds()
	})
}

func (h *holder) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held != nil
}

// TestHolder: the spare heap stays while the data are small, whatever is collected, and goes when
// they are large.
func TestHolder(t *testing.T) {
	h := &holder{held: make([]byte, 2*spare)}
	h.afterCollection()
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond) // the cleanup runs after the collection
	}
	if !h.holds() {
		t.Fatal("released without data")
	}
	data := make([]byte, 4*2*spare) // never touched, so not resident
	collectUntil(t, "release", func() bool { return !h.holds() })
	runtime.KeepAlive(data)
}

// TestSettle: memory that was garbage is with the operating system afterwards, unless what was
// built is small.
func TestSettle(t *testing.T) {
	released := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapReleased
	}
	const size = 64 << 20
	build := func() {
		data := make([]byte, size)
		for i := 0; i < len(data); i += 4096 {
			data[i] = 1
		}
		runtime.KeepAlive(data)
	}
	build()
	runtime.GC()
	before := released()
	Settle(leastSettled - 1)
	if got := released(); got >= before+size {
		t.Errorf("released %d bytes after little was built", got-before)
	}
	Settle(size)
	if got := released(); got < before+size/2 {
		t.Errorf("released %d bytes, then %d", before, got)
	}
}
