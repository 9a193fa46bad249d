package httpapi

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// refusalShare is how many requests are refused for each served one, if their clients wait for
	// so long.
	refusalShare = .1
	// minRefusals and maxRefusals are how many requests a processor refuses a second, whatever it
	// serves. A refusal takes 20 to 60 µs, nearly all of it in net/http and the kernel.
	minRefusals, maxRefusals = 100, 1000
	// minHold and maxHold are how long a refusal is held back from a client that repeats its
	// request too early.
	minHold = retryAfter / 10
	maxHold = 8 * time.Second
	// leaving is how many clients may leave for each one that waits for a refusal. While more
	// leave, refusals are held back for a shorter time.
	leaving = .02
)

// pace spreads refusals over time. It is safe for concurrent use.
//
// A client that repeats a refused request at once has one request at a time on its connection. So
// the longer its refusal is held back, the less it costs. But a client that does not wait so long
// opens another connection, which costs more than a refusal.
type pace struct {
	processors float64
	served     atomic.Int64 // requests since the time in since

	mu       sync.Mutex
	since    time.Time
	interval time.Duration // between two refusals
	next     time.Time     // when there is time for the next refusal
	longest  time.Duration // that most clients wait for a refusal, as far as it is known
}

func newPace(processors int) *pace {
	return &pace{processors: float64(processors), longest: retryAfter}
}

// turn returns the time until another refusal is due.
func (p *pace) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if past := now.Sub(p.since); past >= retryAfter {
		rate := refusalShare * float64(p.served.Swap(0)) / past.Seconds()
		if past > 2*retryAfter { // few were refused, so the rate says nothing about overload
			rate = p.processors * maxRefusals
		}
		p.interval = time.Duration(float64(time.Second) / min(max(rate, p.processors*minRefusals), p.processors*maxRefusals))
		p.since = now
	}
	wait := min(max(0, p.next.Sub(now)), maxHold)
	p.next = now.Add(wait + p.interval)
	return wait
}

// hold returns how long to hold back a refusal whose turn comes in some time. If clients would not
// wait for so long, each refusal gets a different time, because clients that return at the same
// time would do so again and again.
func (p *pace) hold(turn time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if turn > p.longest {
		turn = p.longest/2 + rand.N(p.longest/2)
	}
	return max(turn, minHold)
}

// held learns from a client whether it waited for a refusal that was held back.
func (p *pace) held(waited bool) {
	const step = .1
	p.mu.Lock()
	defer p.mu.Unlock()
	change := 1 + step*leaving
	if !waited {
		change = 1 - step
	}
	p.longest = min(max(time.Duration(float64(p.longest)*change), minHold), maxHold)
}
