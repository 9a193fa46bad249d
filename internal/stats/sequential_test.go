package stats

import (
	"fmt"
	"math"
	"testing"
)

func TestSPRT(t *testing.T) {
	s := SPRT{P0: .85, P1: .92, Alpha: .05, Beta: .10}
	lower, upper := s.Bounds()
	expect(t, "lower", lower, -2.251292, 5.1e-7)
	expect(t, "upper", upper, 2.890372, 5.1e-7)
	expect(t, "a pass", s.LogRatio(1, 0), .079137, 5.1e-7)
	expect(t, "a failure", s.LogRatio(0, 1), -.628609, 5.1e-7)
	expect(t, "nothing", s.LogRatio(0, 0), 0, 0)
	expect(t, "46 of 50", s.LogRatio(46, 4), 46*.07913732-4*.62860866, 1e-6)
	for _, bad := range []SPRT{
		{.92, .85, .05, .1}, {.9, .9, .05, .1}, {0, .9, .05, .1}, {.9, 1, .05, .1}, {.8, .9, 0, .1}, {.8, .9, .05, 0},
		{.8, .9, .5, .5}, {math.NaN(), .9, .05, .1}, {.8, .9, math.NaN(), .1}, {},
	} {
		lower, upper := bad.Bounds()
		for _, got := range []float64{lower, upper, bad.LogRatio(1, 1)} {
			expect(t, fmt.Sprintf("%+v", bad), got, math.NaN(), 0)
		}
	}
	for _, got := range []float64{s.LogRatio(-1, 0), s.LogRatio(0, -1)} {
		expect(t, "a negative count", got, math.NaN(), 0)
	}
}

func TestSPRTVectors(t *testing.T) {
	for _, v := range shared[struct {
		P0, P1, Alpha, Beta, Upper, Lower float64
		Pass                              float64 `json:"inc_pass"`
		Fail                              float64 `json:"inc_fail"`
	}](t, "sprt") {
		s := SPRT{v.P0, v.P1, v.Alpha, v.Beta}
		lower, upper := s.Bounds()
		expect(t, "lower", lower, v.Lower, 1e-14)
		expect(t, "upper", upper, v.Upper, 1e-14)
		expect(t, "a pass", s.LogRatio(1, 0), v.Pass, 1e-14)
		expect(t, "a failure", s.LogRatio(0, 1), v.Fail, 1e-14)
	}
}
