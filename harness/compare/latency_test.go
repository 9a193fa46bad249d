package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
)

// TestLatencyOfOneRun compares two runs of one daemon whose machine was a tenth slower during one
// of them. It knows nothing about how much runs differ, so that it must not judge.
func TestLatencyOfOneRun(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	a, b := newFile("go", strings.Repeat("p", 50)), newFile("py", strings.Repeat("p", 50))
	for i := range a.Questions {
		q := 100 + 10*float64(i)
		a.Questions[i].LatencyMS = q * (1 + .05*random.Float64())
		b.Questions[i].LatencyMS = 1.1 * q * (1 + .05*random.Float64())
	}
	l := mustCompare(t, Options{Baseline: "go"}, a.open(t), b.open(t)).Pairs[0].Latencies[0]
	if l.Verdict == Better || l.Verdict == Worse || l.P != nil {
		t.Errorf("one run a side has the verdict %s with p %v", l.Verdict, *l.P)
	}
}

// sides returns rows of questions whose latencies vary by question, by run and by request. slower
// is the factor of the last side; spikes are requests that take ten times as long.
func sides(random *rand.Rand, n, runs, questions int, slower float64, spikes bool) [][]*question {
	rows := make([][]*question, questions)
	for i := range rows {
		rows[i] = make([]*question, n)
		for side := range rows[i] {
			rows[i][side] = &question{}
		}
	}
	typical := make([]float64, questions)
	for i := range typical {
		typical[i] = 5 + .5*random.NormFloat64()
	}
	for side := range n {
		for range runs {
			effect := .1 * random.NormFloat64()
			if side == n-1 {
				effect += math.Log(slower)
			}
			for i, row := range rows {
				log := typical[i] + effect + .1*random.NormFloat64()
				if spikes && random.Float64() < .05 {
					log += math.Log(10)
				}
				q := &question{attempts: []attempt{{outcome: result.Scored}}}
				for m := range q.attempts[0].values {
					q.attempts[0].values[m] = math.NaN()
				}
				q.attempts[0].values[measureTotal] = math.Exp(log)
				row[side].runs = append(row[side].runs, q)
			}
		}
	}
	return rows
}

// accused compares the latencies of all pairs of n sides, and reports whether any is called faster
// or slower.
func accused(rows [][]*question, n int) bool {
	var pairs []*Pair
	f := &families{measures: measureNames[measureTotal:]}
	for reference := range n {
		for run := reference + 1; run < n; run++ {
			p := &Pair{Reference: reference, Run: run}
			p.compareLatencies(rows, f)
			pairs = append(pairs, p)
		}
	}
	f.judge()
	return slices.ContainsFunc(pairs, func(p *Pair) bool {
		return slices.ContainsFunc(p.Latencies, func(l LatencyRatio) bool { return l.Verdict == Better || l.Verdict == Worse })
	})
}

// TestLatencyOfEqualRuns compares runs of one daemon, which differ by a tenth: in at most 5 % of
// the comparisons may any pair of sides be called different. A daemon that takes half as long again
// is found.
func TestLatencyOfEqualRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(2, 1))
	const rounds = 600
	limit := .05*rounds + 4*math.Sqrt(.05*.95*rounds)
	for _, spikes := range []bool{false, true} {
		for _, n := range []int{2, 4} {
			for _, runs := range []int{1, 2, 3, 5} {
				alarms := 0
				for range rounds {
					if accused(sides(random, n, runs, 12, 1, spikes), n) {
						alarms++
					}
				}
				if most := limit * float64(min(1, runs/judgedRuns)); float64(alarms) > most {
					t.Errorf("%d sides of %d equal runs, spikes %v: %d of %d comparisons accuse, want at most %.0f", n, runs, spikes, alarms, rounds, most)
				}
			}
		}
		found := 0
		for range 100 {
			if accused(sides(random, 2, 5, 12, 1.5, spikes), 2) {
				found++
			}
		}
		if found < 80 {
			t.Errorf("spikes %v: ×1.5 was found in %d of 100 comparisons of 5 runs a side", spikes, found)
		}
	}
}

// TestLatencyWithoutCache compares sides of which one took most answers from evalctl's cache,
// which is fast. The questions that are left are compared, and not judged if they are few.
func TestLatencyWithoutCache(t *testing.T) {
	const questions = 20
	for _, c := range []struct {
		cached  int
		verdict Verdict
		note    string
	}{
		{0, NotSeen, ""},
		{questions - 8, NotSeen, "leave out 12 questions"},
		{questions - 2, NotJudged, "leave out 18 questions that evalctl's cache answered in one of them, and are not judged: 2 are left"},
		{questions, "", "and are not judged: 0 are left"},
	} {
		var off, on []*Run
		for i := range 3 {
			a, b := newFile("go", strings.Repeat("p", questions)), newFile("go", strings.Repeat("p", questions))
			a.StartedAt = a.StartedAt.Add(time.Duration(i) * time.Hour)
			b.StartedAt = a.StartedAt.Add(time.Minute)
			for q := range questions {
				a.Questions[q].LatencyMS, b.Questions[q].LatencyMS = float64(1000+q+i), float64(1001+q-i)
				if first := 200.0; q < c.cached {
					b.Questions[q].LatencyMS, b.Questions[q].Actor = float64(10+i), &result.ModelUse{Cached: true}
					b.Questions[q].FirstDeltaMS, a.Questions[q].FirstDeltaMS = new(1.0), &first
				}
			}
			off, on = append(off, a.open(t)), append(on, b.open(t))
		}
		comparison := mustCompare(t, Options{Baseline: "off"}, Side("off", off), Side("on", on))
		p, verdict := comparison.Pairs[0], Verdict("")
		for _, l := range p.Latencies {
			if verdict = l.Verdict; l.Name != "total" || l.N != questions-c.cached {
				t.Errorf("%d cached: %+v", c.cached, l)
			}
		}
		if notes := strings.Join(comparison.Notes, "\n"); verdict != c.verdict || p.Cached != c.cached || !strings.Contains(notes, c.note) {
			t.Errorf("%d cached: verdict %q, %d left out, notes:\n%s", c.cached, verdict, p.Cached, notes)
		}
	}
}
