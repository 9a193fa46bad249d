package load

import "time"

// backlog samples, at equal intervals, the number of due requests that have not ended.
type backlog struct {
	every time.Duration // 0 for no counts
	// net is the number of requests begun minus those ended, by interval. The first interval is the
	// time before the first block.
	net []int64
}

// mark counts n due requests, or -1 for an ended one, at a time since the first block began.
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

// at returns the backlog at the ends of the first n intervals.
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
