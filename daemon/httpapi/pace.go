package httpapi

import (
	"runtime"
	"sync"
	"time"
)

const (
	// refusalRate is how many refusals a second a processor has time for, next to the work. A
	// refusal takes 20 to 50 µs, nearly all of it in net/http and the kernel.
	refusalRate = 1000
	// minHold and maxHold are how long a refusal is held back from a client that repeats its
	// request too early.
	minHold = retryAfter / 10
	maxHold = 5 * time.Second
	// impatient is how many clients may leave for each one that waits for a refusal: while more do,
	// refusals are held back for a shorter time.
	impatient = .1
)

// pace spreads refusals over time. Its zero value is ready. It is safe for concurrent use.
//
// A client that repeats a refused request at once makes no more than one request at a time on its
// connection. So the longer its refusal is held back, the less it costs. But a client that does not
// wait so long opens another connection, which costs more than a refusal.
type pace struct {
	mu   sync.Mutex
	next time.Time // when the processors have time for the next refusal
	// longest is how long most clients wait for a refusal; 0: not known yet.
	longest time.Duration
}

// turn returns in what time the processors have time for another refusal.
func (p *pace) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := min(max(0, p.next.Sub(now)), maxHold)
	p.next = now.Add(wait + time.Second/time.Duration(refusalRate*runtime.GOMAXPROCS(0)))
	return wait
}

// hold returns how long a refusal is held back whose turn comes in some time.
func (p *pace) hold(turn time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(turn, minHold), max(p.longest, minHold))
}

// held learns from a client whether it waited for a refusal that was held back.
func (p *pace) held(waited bool) {
	const step = .01
	p.mu.Lock()
	defer p.mu.Unlock()
	change := 1 + step*impatient
	if !waited {
		change = 1 - step
	}
	p.longest = time.Duration(float64(max(p.longest, minHold)) * change)
	p.longest = min(p.longest, maxHold)
}
