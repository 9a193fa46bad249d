package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSignFlip(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		d     []float64
		p     float64
		exact bool
	}{
		{[]float64{1, 1, 1, 1, 1}, 1. / 16, true}, {[]float64{1, 1, 1, 1, 1, 1}, 1. / 32, true},
		{[]float64{.2, .1, -.1, .3, 0, .25}, 3. / 16, true}, // .1 - .1 is a tie with 0
		{[]float64{0, 1, 0, 0, 0, 0, 1, 0, 0, 0}, .5, true},
		{[]float64{.1, .2, -.3}, 1, true}, // 0 in exact arithmetic, not in floats
		{nil, 1, true}, {[]float64{0, 0}, 1, true}, {[]float64{-2}, 1, true},
		{[]float64{1, nan}, nan, false}, {[]float64{1, -inf}, nan, false}, {upTo(21), nan, false},
	} {
		p, exact := SignFlip(c.d, 0, 1)
		expect(t, fmt.Sprint(c.d), p, c.p, 1e-15)
		if exact != c.exact {
			t.Errorf("%v: exact is %v", c.d, exact)
		}
	}
}

func TestSignFlipVectors(t *testing.T) {
	for _, v := range shared[struct {
		D []float64
		P float64 `json:"pf"`
	}](t, "signflip_exact") {
		p, exact := SignFlip(v.D, 0, 1)
		expect(t, fmt.Sprint(v.D), p, v.P, 1e-15)
		if !exact {
			t.Errorf("%v is not exact", v.D)
		}
	}
}

func TestSignFlipEnumerates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.IntRange(-5, 5), 0, 12).Draw(t, "d")
		d, sum := make([]float64, len(whole)), 0
		for i, v := range whole {
			d[i], sum = float64(v)/10, sum+v
		}
		far := 0
		for signs := range uint(1) << len(whole) {
			s := 0
			for i, v := range whole {
				s += v - 2*v*int(signs>>i&1)
			}
			if max(s, -s) >= max(sum, -sum) {
				far++
			}
		}
		want := float64(far) / float64(uint(1)<<len(whole))
		if got, exact := SignFlip(d, 0, 1); !near(got, want, 1e-12) || !exact {
			t.Fatalf("%v: %v, %v, by enumeration %v", d, got, exact, want)
		}
	})
}

// A random p is that of exact arithmetic within four standard errors. The differences are those of
// 16 items, 32 times smaller copies of zero weight making them too many for enumeration.
func TestSignFlipRandom(t *testing.T) {
	d := []float64{.9, -.4, .3, .8, -.2, .5, .1, -.6, .7, .25, -.35, .15, .45, .55, -.05, .65}
	want, exact := SignFlip(d, 0, 1)
	if !exact || !(want > .01 && want < .2) {
		t.Fatalf("p is %v, exact %v", want, exact)
	}
	many := append([]float64{}, d...)
	for range 10 { // pairs of next to no weight
		many = append(many, 1e-15, -1e-15)
	}
	const resamples = 20_000
	got, exact := SignFlip(many, resamples, 7)
	if se := math.Sqrt(want * (1 - want) / resamples); exact || !near(got, want, 4*se) {
		t.Errorf("p is %v, exact %v, want %v ± %v", got, exact, want, 4*se)
	}
	if again, _ := SignFlip(many, resamples, 7); again != got {
		t.Errorf("the same seed yields %v and %v", got, again)
	}
	if other, _ := SignFlip(many, resamples, 8); other == got {
		t.Errorf("another seed yields %v, too", other)
	}
	extreme := upTo(100)
	if p, exact := SignFlip(extreme, 999, 1); p != .001 || exact {
		t.Errorf("p of differences in one direction is %v, exact %v, want 1/1000", p, exact)
	}
}

// With differences of one size the test is McNemar's, for any number of them.
func TestSignFlipIsMcNemar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := make([]float64, rapid.IntRange(0, 500).Draw(t, "none"))
		b, c := rapid.IntRange(0, 60).Draw(t, "b"), rapid.IntRange(0, 60).Draw(t, "c")
		for range b {
			d = append(d, .3)
		}
		for range c {
			d = append(d, -.3)
		}
		if p, exact := SignFlip(d, 0, 1); p != McNemarExact(b, c) || !exact {
			t.Fatalf("%d, %d: %v, %v", b, c, p, exact)
		}
	})
}
