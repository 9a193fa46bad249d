package history

import (
	"math"
	"slices"
	"strings"
)

// bars are the signs of a sparkline, from low to high. Missing has the sign noBar.
var bars = []rune("▁▂▃▄▅▆▇█")

const noBar = '·'

// leastRange is the smallest range of rates that a sparkline shows, so that differences within the
// noise look small.
const leastRange = 0.1

// Sparkline returns one sign for each rate, from ▁ for the lowest to █ for the highest, and the
// rates of these two. A rate that is nil has a dot. Without any rate, lo and hi are 0.
func Sparkline(rates []*float64) (line string, lo, hi float64) {
	var known []float64
	for _, r := range rates {
		if r != nil {
			known = append(known, *r)
		}
	}
	if len(known) > 0 {
		lo, hi = slices.Min(known), slices.Max(known)
		if missing := leastRange - (hi - lo); missing > 0 {
			lo = min(max(0, lo-missing/2), 1-leastRange)
			hi = lo + leastRange
		}
	}
	var b strings.Builder
	for _, r := range rates {
		if r == nil {
			b.WriteRune(noBar)
			continue
		}
		at := (*r - lo) / (hi - lo) * float64(len(bars)-1)
		b.WriteRune(bars[int(math.Round(at))])
	}
	return b.String(), lo, hi
}

// Sparkline returns the sparkline of the nights. A night without a score has a dot.
func (l *Line) Sparkline() (line string, lo, hi float64) {
	var rates []*float64
	for _, n := range l.Nights {
		var rate *float64
		if n.Entry.Scored() {
			rate = n.Entry.PassRate
		}
		rates = append(rates, rate)
	}
	return Sparkline(rates)
}
