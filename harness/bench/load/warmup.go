package load

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"evalctl/harness/bench/record"
)

// Method names how warm-up is detected.
const Method = "mser"

// Warm-up is looked at in windows.
const (
	window        = 100 * time.Millisecond
	fewestWindows = 20
	windowsMore   = 10 // that are added until it has ended
)

// WarmUp sends requests until their latency no longer changes, at most for the time limit, and
// reports what was left out for that. The next block begins afterwards.
//
// The method is MSER (White 1997): of the series of medians of windows, the beginning is cut off whose
// removal makes the standard error of the mean of the rest smallest. The series is steady if that is
// at most its first half; if not, it goes on. Medians are used because a single stall is no warm-up.
func WarmUp(ctx context.Context, p Profile, limit time.Duration, work Work, number *atomic.Uint64, live *Live) (record.WarmUp, error) {
	w := record.WarmUp{Method: Method}
	began := time.Now()
	if p.Arrival != record.Closed {
		p.Stage.To = p.Stage.From
	}
	var medians []float64
	for more := fewestWindows; ; more = windowsMore {
		if left := int((limit - time.Since(began)) / window); left < more {
			more = left
		}
		if more < 1 {
			break
		}
		blocks, err := Run(ctx, p, Span{Block: window, Blocks: more}, work, number, live)
		for _, b := range blocks {
			all := record.Median(b)
			if !math.IsNaN(all) {
				medians = append(medians, math.Log(max(all, 1)))
			}
			w.Requests += record.Offered(b)
		}
		if err != nil {
			return w, err
		}
		if len(medians) >= fewestWindows && truncation(medians) <= len(medians)/2 {
			w.Steady = true
			break
		}
	}
	w.Seconds = time.Since(began).Seconds()
	return w, nil
}

// truncation returns how many values MSER cuts off. The last five are never candidates: so few have
// a small variance by chance.
func truncation(values []float64) int {
	best, at := math.Inf(1), 0
	sum, squares := 0.0, 0.0
	n := len(values)
	offset := values[n-1] // against cancellation
	for d := n - 1; d >= 0; d-- {
		v := values[d] - offset
		sum, squares = sum+v, squares+v*v
		k := float64(n - d)
		if n-d < 5 {
			continue
		}
		// The tolerance keeps a constant series whole, whatever the rounding is.
		if mser := max(0, squares-sum*sum/k) / (k * k); mser <= best*(1+1e-9)+1e-15 {
			best, at = mser, d
		}
	}
	return at
}
