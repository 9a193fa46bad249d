package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPairs(t *testing.T) {
	for _, c := range []struct {
		p         Pairs
		d, lo, hi float64
	}{
		{Pairs{36, 12, 2, 0}, .2, .056930, .340428}, // Newcombe 1998: .0569, .3404
		{Pairs{20, 12, 2, 16}, .2, .056156, .329207},
		{Pairs{1, 1, 7, 12}, -.285714, -.506920, -.025559}, // Bentur 2009
		{Pairs{40, 6, 1, 3}, .1, -.011474, .220358},
		{Pairs{50, 0, 0, 0}, 0, -.071348, .071348}, // no discordant item
	} {
		lo, hi := c.p.Newcombe(.95)
		for _, m := range []struct {
			name      string
			got, want float64
		}{{"Difference", c.p.Difference(), c.d}, {"lo", lo, c.lo}, {"hi", hi, c.hi}} {
			expect(t, fmt.Sprintf("%+v: %s", c.p, m.name), m.got, m.want, 5.1e-7)
		}
	}
	p := Pairs{1061, 203, 84, 192}
	expect(t, "SE", p.SE(), .010823, 5.1e-7)
	if p.N() != 1540 || p.Discordant() != 287 {
		t.Errorf("%+v: %d items, %d discordant", p, p.N(), p.Discordant())
	}
}

func TestPairsVectors(t *testing.T) {
	for _, v := range shared[struct {
		A, B, C, D int
		Diff       float64
		SE         float64    `json:"paired_se"`
		Newcombe   [2]float64 `json:"newcombe10"`
	}](t, "paired_difference") {
		p := Pairs{v.A, v.B, v.C, v.D}
		lo, hi := p.Newcombe(.95)
		for _, m := range []struct {
			name      string
			got, want float64
		}{
			{"Difference", p.Difference(), v.Diff}, {"SE", p.SE(), v.SE}, {"Newcombe lo", lo, v.Newcombe[0]}, {"Newcombe hi", hi, v.Newcombe[1]},
		} {
			expect(t, fmt.Sprintf("%+v: %s", p, m.name), m.got, m.want, 1e-14)
		}
	}
}

func TestPairsUndefined(t *testing.T) {
	for _, c := range []struct {
		p    Pairs
		conf float64
	}{{Pairs{}, .95}, {Pairs{10, -1, 1, 0}, .95}, {Pairs{10, 1, 1, 0}, 0}, {Pairs{10, 1, 1, 0}, 1}, {Pairs{10, 1, 1, 0}, math.NaN()}} {
		lo, hi := c.p.Newcombe(c.conf)
		for _, got := range []float64{lo, hi} {
			expect(t, fmt.Sprintf("an end of %+v at %v", c.p, c.conf), got, math.NaN(), 0)
		}
	}
	for _, p := range []Pairs{{}, {5, 5, -1, 0}} {
		expect(t, "difference", p.Difference(), math.NaN(), 0)
		expect(t, "SE", p.SE(), math.NaN(), 0)
	}
}

func TestPairsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{3, 100, 10_000_000}).Draw(t, "size")
		count := rapid.IntRange(0, size)
		p := Pairs{count.Draw(t, "both"), count.Draw(t, "first"), count.Draw(t, "second"), 1 + count.Draw(t, "neither")}
		d, conf := p.Difference(), rapid.Float64Range(.5, .999).Draw(t, "conf")
		lo, hi := p.Newcombe(conf)
		const slack = 1e-9
		if !(-1 <= lo && lo <= d+slack && d <= hi+slack && hi <= 1) {
			t.Fatalf("Newcombe: [%v, %v] does not contain %v inside -1..1", lo, hi, d)
		}
		// Exchanging the arms mirrors everything, exchanging passes and failures does so, too.
		for _, other := range []Pairs{{p.Both, p.Second, p.First, p.Neither}, {p.Neither, p.Second, p.First, p.Both}} {
			olo, ohi := other.Newcombe(conf)
			if !near(olo, -hi, slack) || !near(ohi, -lo, slack) || other.SE() != p.SE() {
				t.Fatalf("%+v is not the mirror of %+v", other, p)
			}
		}
		wide := Pairs{4 * p.Both, 4 * p.First, 4 * p.Second, 4 * p.Neither}
		if wlo, whi := wide.Newcombe(conf); whi-wlo >= hi-lo {
			t.Fatalf("[%v, %v] of %+v is not wider than [%v, %v] of four times the items", lo, hi, p, wlo, whi)
		}
		if !near(wide.SE(), p.SE()/2, 1e-12) {
			t.Fatalf("SE %v, of four times the items %v", p.SE(), wide.SE())
		}
	})
}

// TestNewcombeUnpaired has the examples of Newcombe 1998, table II, method 10.
func TestNewcombeUnpaired(t *testing.T) {
	for _, c := range []struct {
		k1, n1, k2, n2 int
		lo, hi         float64
	}{
		{56, 70, 48, 80, .0524, .3339},
		{9, 10, 3, 10, .1705, .8090},
		{6, 7, 2, 7, .0582, .8062},
		{5, 56, 0, 29, -.0381, .1926},
		{0, 10, 0, 20, -.1611, .2775},
		{0, 10, 0, 10, -.2775, .2775},
		{10, 10, 0, 20, .6791, 1},
		{10, 10, 0, 10, .6075, 1},
	} {
		lo, hi := NewcombeUnpaired(c.k1, c.n1, c.k2, c.n2, .95)
		if !near(lo, c.lo, 5.1e-5) || !near(hi, c.hi, 5.1e-5) {
			t.Errorf("%d/%d - %d/%d: %.4f to %.4f, want %.4f to %.4f", c.k1, c.n1, c.k2, c.n2, lo, hi, c.lo, c.hi)
		}
	}
	for _, c := range [][5]float64{{1, 0, 1, 2, .95}, {3, 2, 1, 2, .95}, {-1, 2, 1, 2, .95}, {1, 2, 1, 2, 1}} {
		if lo, hi := NewcombeUnpaired(int(c[0]), int(c[1]), int(c[2]), int(c[3]), c[4]); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%v: %v to %v", c, lo, hi)
		}
	}
}
