package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestNotWorseSize: 125 questions that all pass twice show a margin of 3 points, one fewer does not.
func TestNotWorseSize(t *testing.T) {
	for _, tt := range []struct {
		pairs  Pairs
		margin float64
		from   int
		want   int
	}{
		{Pairs{Both: 50}, .03, 51, 125},
		{Pairs{Both: 124}, .03, 125, 125},
		{Pairs{Both: 45, Neither: 5}, .03, 51, 118},
		{Pairs{Both: 45, Neither: 5}, .05, 51, 70},
	} {
		if n, ok := NotWorseSize(tt.pairs, tt.margin, .95, tt.from, 100_000); !ok || n != tt.want {
			t.Errorf("%+v: %d, %v, want %d", tt, n, ok, tt.want)
		}
	}
	if n, ok := NotWorseSize(Pairs{Both: 10, Second: 10}, .03, .95, 21, 10_000); ok {
		t.Errorf("a loss of half the questions is not worse with %d", n)
	}
}

// TestNotWorseSizeIsTheLeast compares with a search of all numbers.
func TestNotWorseSizeIsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 20)
		p := Pairs{count.Draw(t, "both") + 1, count.Draw(t, "first"), count.Draw(t, "second"), count.Draw(t, "neither")}
		margin := rapid.Float64Range(.02, .2).Draw(t, "margin")
		n, ok := NotWorseSize(p, margin, .95, p.N()+1, 2000)
		if !ok {
			return
		}
		if s := p.Scaled(n); s.N() != n {
			t.Fatalf("%d scaled is %+v", n, s)
		}
		lo, _ := p.Scaled(n).Newcombe(.95)
		if !(lo > -margin) {
			t.Fatalf("%d is not enough: %v", n, lo)
		}
		if n > p.N()+1 {
			if lo, _ = p.Scaled(n - 1).Newcombe(.95); lo > -margin {
				t.Fatalf("%d is enough", n-1)
			}
		}
	})
}

// TestNotWorsePower compares with all outcomes of few pairs, and that the number of questions reaches
// the power.
func TestNotWorsePower(t *testing.T) {
	got := NotWorsePower(40, .8, .1, .15, .95)
	want := 0.0
	for m := range 41 {
		for first := range m + 1 {
			both := int(math.Round(float64(40-m) * .75 / .9))
			if lo, _ := (Pairs{both, first, m - first, 40 - m - both}).Newcombe(.95); lo > -.15 {
				want += binomialTerm(40, m, .1) * binomialTerm(m, first, .5)
			}
		}
	}
	if math.Abs(got-want) > 1e-9 || !(want > .1 && want < .99) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, psi := range []float64{0, .05, .1} {
		n, ok := NotWorseQuestions(.9, psi, .05, .95, .95, 100_000)
		if !ok || NotWorsePower(n, .9, psi, .05, .95) < .95 || NotWorsePower(n*9/10, .9, psi, .05, .95) >= .95 {
			t.Errorf("discordant %v: %d, %v", psi, n, ok)
		}
	}
	if n, _ := NotWorseQuestions(1, 0, .03, .95, .95, 1000); n != 125 {
		t.Errorf("%d questions that all pass, want 125", n)
	}
	if p := NotWorsePower(10, .9, .3, .05, .95); !math.IsNaN(p) {
		t.Errorf("more discordant than the rate allows: %v", p)
	}
}
