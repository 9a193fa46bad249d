package record

import (
	"math"
	"slices"

	"evalctl/internal/stats"
)

// Growth describes how a figure grows with the number of documents: as documents^Exponent, as
// Constant plus such a power, or in Steps.
type Growth struct {
	Target int    `json:"target"`
	Op     string `json:"op,omitempty"` // empty for what the daemon holds
	// Figure is p50 or p99 of the latency, rss, disk, index or fill (seconds).
	Figure string    `json:"figure"`
	Sizes  []int     `json:"sizes"`
	Values []float64 `json:"values"` // in milliseconds, bytes or seconds
	// Exponent is the slope of the logarithms. For a figure measured each round, its interval comes
	// from the slopes of the rounds; for a figure measured once per size, from the regression, nil
	// below three sizes.
	Exponent float64  `json:"exponent"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	// Constant is the part of the values that does not grow, nil if the data show none. The
	// interval of Exponent is then a jackknife over rounds.
	Constant *float64 `json:"constant,omitempty"`
	// Steps are the exponents between neighbouring sizes if no curve fits, with or without a
	// constant. Exponent is then for the whole range and has no interval.
	Steps []float64 `json:"steps,omitempty"`
}

// grow sets Growth, if there are several sizes.
func (f *File) grow() {
	if len(f.Plan.Sizes) < 2 {
		return
	}
	for t := range f.Targets {
		if f.Targets[t].Null {
			continue
		}
		var all []Block
		for _, size := range f.Plan.Sizes {
			all = append(all, f.blocks(t, 0, size)...)
		}
		for _, op := range names(all) {
			for _, figure := range []string{"p50", "p99"} {
				if op != All {
					f.growOp(t, op, figure)
				}
			}
		}
		for _, h := range []struct {
			figure string
			value  func(Fill) *int64
		}{
			{"rss", func(x Fill) *int64 { return x.RSSBytes }},
			{"disk", func(x Fill) *int64 { return x.DiskBytes }},
			{"index", func(x Fill) *int64 { return x.IndexBytes }},
			{"fill", func(x Fill) *int64 { ms := int64(x.Seconds * 1000); return &ms }},
		} {
			f.growHeld(t, h.figure, h.value)
		}
	}
}

// growOp adds the growth of a latency. Each round has a value for every size and thus its own
// slope.
func (f *File) growOp(target int, op, figure string) {
	g := Growth{Target: target, Op: op, Figure: figure}
	rounds := make([][]float64, f.Plan.Rounds) // logarithms by round, then by size
	for _, size := range f.Plan.Sizes {
		blocks := f.blocks(target, 0, size)
		var known []float64
		for i, v := range series(blocks, op, figure, math.NaN()) {
			if r := blocks[i].Round; r >= 0 && r < len(rounds) {
				rounds[r] = append(rounds[r], math.Log(v))
			}
			if !math.IsNaN(v) {
				known = append(known, math.Log(v))
			}
		}
		if len(known) == 0 {
			return
		}
		g.Sizes, g.Values = append(g.Sizes, size), append(g.Values, math.Exp(stats.Mean(known)))
	}
	rounds = slices.DeleteFunc(rounds, func(ys []float64) bool {
		return len(ys) != len(g.Sizes) || slices.ContainsFunc(ys, math.IsNaN)
	})
	if len(rounds) == 0 {
		return
	}
	slopes := make([]float64, len(rounds))
	for i, ys := range rounds {
		slopes[i], _, _ = stats.Slope(logs(g.Sizes), ys, confidence)
	}
	var variance float64
	g.Exponent, variance = stats.Moments(slopes)
	if len(slopes) > 1 {
		lo, hi := stats.MeanCI(len(slopes), g.Exponent, variance, confidence)
		g.Low, g.High = finite(lo), finite(hi)
	}
	g.shape(rounds)
	f.Growth = append(f.Growth, g)
}

// growHeld adds the growth of a figure measured once per size.
func (f *File) growHeld(target int, figure string, value func(Fill) *int64) {
	g := Growth{Target: target, Figure: figure}
	var ys []float64
	for _, size := range f.Plan.Sizes {
		i := slices.IndexFunc(f.Fills, func(x Fill) bool { return x.Target == target && x.Size == size })
		if i < 0 {
			return
		}
		v := value(f.Fills[i])
		if v == nil || *v <= 0 {
			return
		}
		g.Sizes, g.Values = append(g.Sizes, size), append(g.Values, float64(*v))
		ys = append(ys, math.Log(float64(*v)))
	}
	slope, low, high := stats.Slope(logs(g.Sizes), ys, confidence)
	g.Exponent, g.Low, g.High = slope, finite(low), finite(high)
	g.shape([][]float64{ys})
	f.Growth = append(f.Growth, g)
}

func logs(sizes []int) []float64 {
	out := make([]float64, len(sizes))
	for i, n := range sizes {
		out[i] = math.Log(float64(n))
	}
	return out
}
