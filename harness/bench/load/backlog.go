package load

import "time"

// backlog counts the requests that should have begun and have not ended, at equal distances in time.
type backlog struct {
	every time.Duration // 0 for no counts
	// net has how many requests began less how many ended, by interval. The first interval is all the
	// time before the first block.
	net []int64
}

// mark counts requests that should have begun, or have ended (-1), so long after the first block
// began.
func (c *counts) mark(since time.Duration, n int64) {
	if c.backlog.every == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := 0
	if since >= 0 {
		i = 1 + int(since/c.backlog.every)
	}
	for len(c.backlog.net) <= i {
		c.backlog.net = append(c.backlog.net, 0)
	}
	c.backlog.net[i] += n
}

// backlogs returns the first n counts.
func (c *counts) backlogs(n int) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backlog.at(n)
}

// at returns the first n counts: those at the ends of so many intervals.
func (b *backlog) at(n int) []int64 {
	out, sum := make([]int64, n), int64(0)
	for i := range n + 1 {
		if i < len(b.net) {
			sum += b.net[i]
		}
		if i > 0 {
			out[i-1] = sum
		}
	}
	return out
}
