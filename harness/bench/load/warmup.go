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

// Method names how the end of a warm-up is found.
const Method = "trend"

// Warm-up is looked at in windows.
const (
	window        = 100 * time.Millisecond
	fewestWindows = 20 // that may show that a latency is steady, when there is no more time
	firstWindows  = 30 // that may show it earlier
	windowsMore   = 10 // that are added until it is steady
	// parts is the number of parts of a series whose means show a trend.
	parts = 8
)

// How many times as slow the beginning of a series may be as its end, or the other way round.
// shownSteady is the largest estimate, and atMost the end of its interval at 95 %, with which a
// warm-up ends early. At the end of its time, atLast is the end of the interval.
const (
	shownSteady = 1.1
	atMost      = 1.5
	atLast      = 2.0
)

// WarmUp sends requests until their latency no longer changes, at most for the time limit, and
// reports what was left out for that. The next block begins afterwards.
//
// The latency is steady if the medians of all windows, of the second half or of the last third have
// no trend, and there are enough for one to be seen. Where a series begins does not depend on the
// medians: the beginning that makes the rest look steadiest (MSER, White 1997) hides the trend of a
// latency that falls all the time. Medians are used because a single stall is no warm-up.
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
			w.Steady = slices.ContainsFunc(trends(medians, fewestWindows), trend.steadyAtLast)
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
		if w.Steady = slices.ContainsFunc(trends(medians, firstWindows), trend.steady); w.Steady {
			break
		}
	}
	w.Seconds = time.Since(began).Seconds()
	return w, nil
}

// trend is by how much the logarithm of the latency changes over a series, give or take reach at a
// confidence of 95 %.
type trend struct{ change, reach float64 }

// trends returns the trends of a series of logarithms, of its second half and of its last third, as
// far as they have so many values. Each is that of a line through the means of parts, in which
// values may be autocorrelated.
func trends(values []float64, fewest int) (all []trend) {
	for share := 1; share <= 3; share++ {
		kept := values[len(values)-len(values)/share:]
		if len(kept) < fewest {
			break
		}
		means, at := make([]float64, parts), make([]float64, parts)
		for i := range means {
			means[i], at[i] = stats.Mean(kept[i*len(kept)/parts:(i+1)*len(kept)/parts]), float64(i)/parts
		}
		slope, low, high := stats.Slope(at, means, 0.95)
		all = append(all, trend{math.Abs(slope), (high - low) / 2})
	}
	return all
}

// steady reports whether there is no trend that matters, so that a warm-up may end.
func (t trend) steady() bool {
	return t.change < math.Log(shownSteady) && t.change+t.reach < math.Log(atMost)
}

// steadyAtLast reports whether no trend is shown when there is no more time, although one would be.
func (t trend) steadyAtLast() bool {
	return t.change < max(t.reach, math.Log(shownSteady)) && t.change+t.reach < math.Log(atLast)
}
