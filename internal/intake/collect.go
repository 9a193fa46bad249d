package intake

import (
	"runtime/debug"
	"sync"
)

// collect is the collection of garbage in this process.
var collect collector

// collector collects garbage more often while there are large Holds.
type collector struct {
	mu      sync.Mutex
	holds   int
	percent int // of GOGC before the first of holds
}

func (c *collector) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 {
		if c.percent = debug.SetGCPercent(tight); c.percent >= 0 && c.percent < tight {
			debug.SetGCPercent(c.percent)
		}
	}
}

// end frees the memory of a large Hold, or the next reply would come on top of it.
func (c *collector) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	debug.FreeOSMemory()
	if c.holds--; c.holds == 0 {
		debug.SetGCPercent(c.percent)
	}
}
