package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// bars are the characters of a sparkline, from low to high. noBar stands for a missing value.
var bars = []rune("▁▂▃▄▅▆▇█")

const noBar = '·'

// leastRange is the minimum range of a sparkline, so that differences within the noise look small.
const leastRange = 0.1

// Sparkline has a character for each rate, from ▁ for the lowest to █ for the highest, and a dot
// for an unknown one. Low and High are the rates of ▁ and █, 0 without any rate.
type Sparkline struct {
	Signs     string
	Low, High float64
}

// NewSparkline returns the sparkline of rates, nil if unknown.
func NewSparkline(rates []*float64) (s Sparkline) {
	var known []float64
	for _, r := range rates {
		if r != nil {
			known = append(known, *r)
		}
	}
	if len(known) > 0 {
		s.Low, s.High = slices.Min(known), slices.Max(known)
		if missing := leastRange - (s.High - s.Low); missing > 0 {
			s.Low = min(max(0, s.Low-missing/2), 1-leastRange)
			s.High = s.Low + leastRange
		}
	}
	var b strings.Builder
	for _, r := range rates {
		if r == nil {
			b.WriteRune(noBar)
			continue
		}
		at := (*r - s.Low) / (s.High - s.Low) * float64(len(bars)-1)
		b.WriteRune(bars[int(math.Round(at))])
	}
	s.Signs = b.String()
	return s
}

// Scale explains the lowest and the highest character.
func (s Sparkline) Scale() string {
	if s.High == 0 {
		return "no night has a score"
	}
	return fmt.Sprintf("from %.2f (▁) to %.2f (█)", s.Low, s.High)
}

// Sparkline returns the sparkline of the nights, with a dot for a night without a score.
func (l *Line) Sparkline() Sparkline {
	var rates []*float64
	for _, n := range l.Nights {
		var rate *float64
		if n.Entry.Scored() {
			rate = n.Entry.PassRate
		}
		rates = append(rates, rate)
	}
	return NewSparkline(rates)
}
