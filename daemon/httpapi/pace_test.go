package httpapi

import (
	"testing"
	"time"
)

// TestTurns: refusals come at a rate that follows what is served, between two bounds.
func TestTurns(t *testing.T) {
	const processors = 2
	for _, tc := range []struct {
		served int64 // in the last second
		after  time.Duration
		want   float64 // refusals a second
	}{
		{0, time.Second, processors * minRefusals},
		{8000, time.Second, 8000 * refusalShare},
		{8000, 2 * time.Second, 4000 * refusalShare},
		{100_000, time.Second, processors * maxRefusals},
		{0, time.Hour, processors * maxRefusals}, // there was no overload
	} {
		p, now := newPace(processors), epoch
		p.turn(now)
		p.served.Add(tc.served)
		now = now.Add(tc.after)
		const n = 50
		var last time.Duration
		for range n + 1 {
			last = p.turn(now)
		}
		if got := n / last.Seconds(); got < .99*tc.want || got > 1.01*tc.want {
			t.Errorf("%d served within %v: %v refusals a second, want %v", tc.served, tc.after, got, tc.want)
		}
		for range 100_000 {
			last = p.turn(now)
		}
		if last != maxHold {
			t.Errorf("the longest turn is %v", last)
		}
		if got := p.turn(now.Add(2 * maxHold)); got != 0 {
			t.Errorf("later, the turn is in %v", got)
		}
	}
}

// TestLearnsPatience: refusals are held back as long as nearly all clients wait for them.
func TestLearnsPatience(t *testing.T) {
	for _, patience := range []time.Duration{0, time.Second, 3 * time.Second, time.Minute} {
		p := newPace(1)
		left, all := 0, 0
		for i := range 10_000 {
			hold := p.hold(time.Hour)
			if hold < minHold || hold < p.longest/2 || hold > p.longest {
				t.Fatalf("a refusal is held back for %v, at most %v", hold, p.longest)
			}
			waited := hold < patience
			p.held(waited)
			if i > 5000 {
				all++
				if !waited {
					left++
				}
			}
		}
		want := min(max(patience, minHold), maxHold)
		if got := p.longest; float64(got) < .85*float64(want) || float64(got) > 1.1*float64(want) {
			t.Errorf("clients wait for %v: refusals are held back for up to %v", patience, got)
		}
		if patience > minHold && float64(left) > 1.2*leaving*float64(all) {
			t.Errorf("clients wait for %v: %d of %d leave", patience, left, all)
		}
		if got := p.hold(0); got != minHold {
			t.Errorf("the shortest is %v", got)
		}
	}
}
