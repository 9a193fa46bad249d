package figure_test

import (
	"math"
	"strconv"
	"testing"

	"evalctl/internal/figure"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 questions", 1: "1 question", 2: "2 questions"} {
		if got := figure.Count(n, "question"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for want, rate := range map[string]*float64{"–": nil, "0.920": new(0.92)} {
		if got := figure.Rate(rate); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := figure.Rate(new(math.NaN())); got != "–" {
		t.Errorf("got %q", got)
	}
}

func TestPoints(t *testing.T) {
	for difference, want := range map[float64]string{
		0: "+0.0", 0.024: "+2.4", -0.12: "-12.0", -0.0004: "+0.0", -0.0006: "-0.1", 1: "+100.0",
	} {
		if got := figure.Points(difference); got != want {
			t.Errorf("%v: got %q, want %q", difference, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "0", 3: "0, 1, 2", 5: "0, 1, 2 and 2 more"} {
		items := make([]int, n)
		for i := range items {
			items[i] = i
		}
		if got := figure.List(items, 3, strconv.Itoa); got != want {
			t.Errorf("%d items: got %q, want %q", n, got, want)
		}
	}
}

func TestProbability(t *testing.T) {
	for p, want := range map[float64]string{
		0: "<0.001", 0.0007: "<0.001", 0.001: "0.001", 0.0499: "0.050", 0.9994: "0.999", 0.9996: "1", 1: "1",
	} {
		if got := figure.Probability(p); got != want {
			t.Errorf("%v: got %q, want %q", p, got, want)
		}
	}
}
