package load

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/internal/stats"
)

// Method names how the end of a warm-up is determined.
const Method = "trend"

// Warm-ups are evaluated in windows.
const (
	window        = 100 * time.Millisecond
	fewestWindows = 20 // enough to show a steady latency at the end of the time limit
	firstWindows  = 30 // enough to show it earlier
	windowsMore   = 10 // added until the latency is steady
	// parts is the number of parts whose means show a slope.
	parts = 8
)

// Limits on the ratio of the latencies at the beginning and the end of a series. A warm-up ends
// early if the estimate is at most shownSteady and the end of its 95 % interval at most atMost. At
// the time limit, the end of the interval may be up to atLast.
const (
	shownSteady = 1.1
	atMost      = 1.5
	atLast      = 2.0
)

// WarmUp sends requests until their latency is steady, at most until the time limit, and reports
// what it discarded. The next block begins afterwards.
//
// The latency is steady if the medians of all windows, of the second half or of the last third have
// no slope, with enough windows to see one. The start of a series is not chosen by the medians: the
// start that makes the rest look steadiest (MSER, White 1997) would hide a steadily falling
// latency. Medians are used because a single stall is not a warm-up effect.
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
			w.Steady = slices.ContainsFunc(slopes(medians, fewestWindows), slope.steadyAtLast)
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
		if w.Steady = slices.ContainsFunc(slopes(medians, firstWindows), slope.steady); w.Steady {
			break
		}
	}
	w.Seconds = time.Since(began).Seconds()
	return w, nil
}

// slope is the change of the logarithm of the latency over a series, plus or minus reach at 95 %
// confidence.
type slope struct{ change, reach float64 }

// slopes returns the slopes of a series of logarithms, its second half and its last third, as far
// as they have at least fewest values. Each is fitted to the means of parts, because values may be
// autocorrelated within a part.
func slopes(values []float64, fewest int) (all []slope) {
	for share := 1; share <= 3; share++ {
		kept := values[len(values)-len(values)/share:]
		if len(kept) < fewest {
			break
		}
		means, at := make([]float64, parts), make([]float64, parts)
		for i := range means {
			means[i], at[i] = stats.Mean(kept[i*len(kept)/parts:(i+1)*len(kept)/parts]), float64(i)/parts
		}
		change, low, high := stats.Slope(at, means, 0.95)
		all = append(all, slope{math.Abs(change), (high - low) / 2})
	}
	return all
}

// steady reports whether there is no relevant slope, so that a warm-up may end.
func (s slope) steady() bool {
	return s.change < math.Log(shownSteady) && s.change+s.reach < math.Log(atMost)
}

// steadyAtLast reports whether no slope is shown at the time limit although it would be visible.
func (s slope) steadyAtLast() bool {
	return s.change < max(s.reach, math.Log(shownSteady)) && s.change+s.reach < math.Log(atLast)
}
