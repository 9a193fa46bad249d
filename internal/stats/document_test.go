package stats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"evalctl/internal/goldentest"
)

// TestDocument executes the templates of docs/statistics.md and docs/dev/simulations.md, in which
// every figure is computed, and compares them with the pages, or writes these with -update.
func TestDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for _, page := range []string{"../../docs/statistics.md", "../../docs/dev/simulations.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) { testDocument(t, page) })
	}
}

func testDocument(t *testing.T, page string) {
	name := filepath.Base(page)
	text, err := os.ReadFile(filepath.Join("testdata", name+".tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New(name).Option("missingkey=error").Funcs(documentFuncs).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := tmpl.Execute(&got, nil); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(got.String(), "\n") {
		if strings.Contains(line, "NaN") {
			t.Errorf("line %d has a figure without meaning: %s", i+1, line)
		}
		if n := len([]rune(line)); n > 100 && !strings.HasPrefix(line, "|") {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
	}
	goldentest.Compare(t, page, got.String())
}

// ends are those of an interval.
type ends struct{ Lo, Hi float64 }

func interval(lo, hi float64) ends { return ends{lo, hi} }

// documentFuncs are what the template computes with. Counts are int, everything else is float64.
var documentFuncs = template.FuncMap{
	"inc":   func(n int) int { return n + 1 },
	"oneIn": func(p float64) int { return int(math.Round(1 / p)) },
	"rates": func() []struct{ K, N int } {
		return []struct{ K, N int }{{9, 10}, {10, 10}, {45, 50}, {49, 50}, {50, 50}, {90, 100}, {450, 500}, {900, 1000}}
	},
	"judges": func() []documentJudge {
		return []documentJudge{
			{.4, 1000, JudgeAccuracy{.9, 200, .7, 200}}, {.92, 500, JudgeAccuracy{.98, 100, .37, 100}},
			{.92, 500, JudgeAccuracy{.98, 100, .89, 100}}, {.9, 50, JudgeAccuracy{.97, 30, .95, 30}},
		}
	},
	"agreements": func() []Pairs {
		return []Pairs{{20, 5, 10, 15}, {45, 15, 25, 15}, {118, 5, 2, 0}}
	},
	"clampHi": func(m ClusteredMean) string { return fmt.Sprintf("%.3f", min(1, m.Hi)) },
	"ints":    func(n ...int) []int { return n },
	"floats":  func(x ...float64) []float64 { return x },
	"ratio":   ratio,
	"up":      func(x float64) int { return int(math.Ceil(x)) },
	"minus":   func(x, y float64) float64 { return x - y },
	"times":   func(x, y float64) float64 { return x * y },

	"f": func(digits int, x float64) string { return fmt.Sprintf("%.*f", digits, x) },
	"p": func(x float64) string { return fmt.Sprintf("%.3g", x) },
	// percent and pp print fractions as percentages and signed percentage points.
	"percent": percentage,
	"pp":      func(digits int, x float64) string { return fmt.Sprintf("%+.*f", digits, 100*x) },
	"ci":      func(digits int, e ends) string { return fmt.Sprintf("%.*f to %.*f", digits, e.Lo, digits, e.Hi) },
	"ppci": func(digits int, e ends) string {
		return fmt.Sprintf("%+.*f to %+.*f", digits, 100*e.Lo, digits, 100*e.Hi)
	},

	"wilson":         func(k, n int) ends { return interval(Wilson(k, n, .95)) },
	"clopperPearson": func(k, n int) ends { return interval(ClopperPearson(k, n, .95)) },
	"exactLower":     func(k, n int) float64 { return ExactLower(k, n, .95) },
	"exactUpper":     func(k, n int) float64 { return ExactUpper(k, n, .95) },

	"waldCovers": waldCovers,
	"mostProven": mostProven,
	"required":   Required,
	"gate":       gatePass,
	"proves":     func(n int, floor float64) int { return RequiredProven(n, floor, .95) },
	"proven":     func(n int, floor, p float64) float64 { return AtLeast(RequiredProven(n, floor, .95), n, p) },
	"notRefuted": func(n int, floor, p float64) float64 { return AtLeast(RequiredNotRefuted(n, floor, .95), n, p) },
	"tolerates":  func(n int, floor float64) int { return RequiredNotRefuted(n, floor, .95) },
	"sizeProven": func(p, floor float64) float64 { return ProportionSize(p, floor, .05, .8) },
	"separates":  separates,
	"separatesFirst": func(floor float64) int {
		n := 1
		for !separated(n, floor) {
			n++
		}
		return n
	},
	"allPassNeed": allPassNeed,

	"pairs":        func(both, first, second, neither int) Pairs { return Pairs{both, first, second, neither} },
	"newcombe":     func(p Pairs) ends { return interval(p.Newcombe(.95)) },
	"exact":        McNemarExact,
	"holm":         Holm,
	"noDiscordant": noDiscordant,
	"mostAgainst":  mostAgainst,

	"sizeOf": func(psi, d float64) float64 { return McNemarSize(psi, d, .05, .8) },
	"power":  func(n int, psi, d float64) float64 { return McNemarPower(n, psi, d, .05) },

	"clusters":         documentClusters,
	"documentedRounds": func() int { return documentedRounds },
	"simulatedLatency": func(sides, runs int, slower float64, tails bool) float64 {
		return simulatedLatency{sides, runs, slower, tails}.shown(documentedRounds, false)
	},
	"simulatedLatencyOverQuestions": func(sides int, tails bool) float64 {
		return simulatedLatency{sides, 1, 1, tails}.shown(documentedRounds, true)
	},
	"simulatedClusters": func() simulatedCoverage { return simulateClusters(2000, 1) },
	"simulatedMargin":   simulateMargin,
	"simulatedFlips":    func(clusters int, sizes string) flipped { return simulateFlips(1000, clusters, sizes) },
	"passAt":            PassAtK,
	"passHat":           PassHatK,
	"split":             documentSplit,
	"corrected": func(p float64, n int, judge JudgeAccuracy) CorrectedRate {
		c, _ := JudgeCorrected(p, n, judge, .95)
		return c
	},
	"judge":        func(q1 float64, m1 int, q0 float64, m0 int) JudgeAccuracy { return JudgeAccuracy{q1, m1, q0, m0} },
	"slips":        func(specificity float64, controls int) float64 { return math.Pow(specificity, float64(controls)) },
	"agreement":    func(a, b, c, d int) Pairs { return Pairs{a, b, c, d} },
	"quantileMin":  func(p float64) int { return QuantileCIMin(p, .95) },
	"quantileCI":   documentQuantile,
	"percentile":   func(n int, p float64) float64 { return Percentile(upTo(n), p) },
	"nearestRank":  func(n int, p float64) float64 { return NearestRank(upTo(n), p) },
	"bootstrap":    func(k, n int) ResampledMean { return Bootstrap(passes(k, n), nil, 10_000, 1, .95) },
	"signFlip":     func(d ...float64) float64 { p, _ := SignFlip(d, 10_000, 1); return p },
	"stratified":   func(cells ...Cell) StratifiedRate { return Stratified(cells, .95) },
	"coverStrata":  func(conversations int) simulatedCoverage { return simulateStrata(2000, conversations, .15) },
	"cell":         func(population, sampled, passed int) Cell { return Cell{population, sampled, passed} },
	"changePoints": documentChanges,
}

// percentage prints a fraction. One that only rounding makes certain or impossible is not printed
// as 100 or 0.
func percentage(digits int, x float64) string {
	step := math.Pow(10, float64(-digits))
	switch {
	case x < 1 && 100*x > 100-step/2:
		return fmt.Sprintf("> %.*f %%", digits, 100-step)
	case x > 0 && 100*x < step/2:
		return fmt.Sprintf("< %.*f %%", digits, step)
	}
	return fmt.Sprintf("%.*f %%", digits, 100*x)
}

type documentJudge struct {
	P     float64
	N     int
	Judge JudgeAccuracy
}

func ratio(k, n int) float64 { return float64(k) / float64(n) }

// mostProven returns the largest probability that a daemon at the floor is proven to reach it, for
// 1 to 1000 questions.
func mostProven(floor float64) float64 {
	most := 0.0
	for n := 1; n <= 1000; n++ {
		most = max(most, AtLeast(RequiredProven(n, floor, .95), n, floor))
	}
	return most
}

// waldCovers returns how often rate ± 1.96·SE of n questions contains the true rate p.
func waldCovers(n int, p float64) float64 {
	covers := 0.0
	for k, term := range binomialTerms(n, p) {
		if rate := ratio(k, n); math.Abs(rate-p) <= 1.96*math.Sqrt(rate*(1-rate)/float64(n)) {
			covers += term
		}
	}
	return covers
}

// separated reports whether a run of n questions rarely passes 0.05 below floor, and mostly above.
func separated(n int, floor float64) bool {
	return gatePass(n, floor, floor-.05) < .05 && gatePass(n, floor, floor+.05) > .8
}

// separates returns the fewest questions with which, from there on up to 100 more, a true rate 0.05
// below the floor passes with a probability below 0.05, and one 0.05 above it with one above 0.8.
func separates(floor float64) int {
	for n, since := 1, 1; ; n++ {
		if !separated(n, floor) {
			since = n + 1
		}
		if n-since == 100 {
			return since
		}
	}
}

// allPassNeed returns the fewest questions that prove a floor if all pass.
func allPassNeed(floor float64) int {
	n := 1
	for ExactLower(n, n, .95) < floor {
		n++
	}
	return n
}

// noDiscordant returns the fewest questions, of which nine in ten pass with both runs and none with
// one only, whose interval of the difference ends above -margin.
func noDiscordant(margin float64) int {
	n := 10
	for {
		if lo, _ := (Pairs{Both: n * 9 / 10, Neither: n - n*9/10}).Newcombe(.95); lo > -margin {
			return n
		}
		n++
	}
}

// mostAgainst returns the most of m discordant questions that may speak for the worse run with an
// exact p of at most 0.05, -1 if none.
func mostAgainst(m int) int {
	c := -1
	for McNemarExact(m-c-1, c+1) <= .05 {
		c++
	}
	return c
}
