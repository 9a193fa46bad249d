package nightly

import (
	"fmt"
	"strings"
	"testing"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/longtest"
	"evalctl/internal/markdown/markdowntest"
)

// TestHostileReport puts hostile texts everywhere, and compares the page with that of plain texts.
func TestHostileReport(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	want := markdowntest.Read(t, render(t, func(i int) string { return fmt.Sprintf("plain %d", i) }))
	hostile := markdowntest.Hostile
	every := longtest.Rounds(4, 1)
	for n := 0; n < len(hostile); n += every {
		got := markdowntest.Read(t, render(t, func(i int) string { return hostile[(n+i)%len(hostile)] }))
		if got.Headings != want.Headings || got.Tables != want.Tables {
			t.Errorf("%q: %d headings and %d tables, want %d and %d",
				hostile[n], got.Headings, got.Tables, want.Headings, want.Tables)
		}
		// Empty texts are no code spans. A text with vertical bars is several of them in a table.
		if len(got.Spans) > 2*len(want.Spans) || len(got.Spans) < len(want.Spans)/2 {
			t.Errorf("%q: %d code spans, of plain texts %d", hostile[n], len(got.Spans), len(want.Spans))
		}
	}
}

// render returns a report of two arms whose texts are all from next.
func render(t *testing.T, next func(int) string) string {
	t.Helper()
	dir, arms := t.TempDir(), []Arm{}
	for n, name := range []string{"go", "ts"} {
		i := 0
		data := func() string { i++; return next(2*i + n) } // so that the arms differ everywhere
		m := replayOf(name, every(4+n))
		for q := range m.Questions {
			r := &m.Questions[q]
			r.ID += " " + next(q)
			r.Question, r.Answer, r.Reference, r.Reason = next(q), data(), data(), data()
		}
		m.Questions[3].Outcome, m.Questions[3].Score, m.Questions[3].Passed = result.Errored, nil, false
		m.Questions[3].Error = &result.Failure{Message: data()}
		m.fill()
		id, r := &m.Identity, m.Replay
		id.Dataset.Path, id.Daemon.Version, id.Daemon.Program, id.Mode = data(), data(), data(), data()
		id.Judge.Model, r.Actor.Model, r.Load.Format = data(), data(), data()
		r.Load.Traps[0].Kind, r.Load.Traps[0].Examples = data(), []string{data(), data()}
		r.Sample.Strata = []result.StratumDraw{{Name: data(), Population: 9, Sampled: 3}}
		for s := range r.Strata {
			r.Strata[s].Name = data()
		}
		r.Errata = &result.ErrataUse{Path: data(), IDs: []string{data()}}
		m.EffectiveModes, m.Fusions = map[string]int{"m" + data(): 3}, map[string]int{"f" + data(): 3}
		m.CostAccounting.Unpriced = []string{data()}
		m.Settings.DaemonEnv = &result.DaemonEnv{Withheld: []string{data()}, Passed: []string{data()}}
		m.Replay.ModelRequests = &result.ModelRequests{Refused: []result.RefusedRequests{{Path: data(), Status: 404, Requests: 2}}}
		m.CostAccounting.Tokens = map[string]result.ModelTokens{"m" + data(): {}}
		arms = append(arms, Arm{Name: "arm " + data(), Path: m.Save(t, dir, name+".json"), Problem: data()})
	}
	var b strings.Builder
	accepted := compared(arms, compare.Options{Resamples: 20, Accept: key.Names(key.Arms)})
	if err := Report(&b, readArms(arms), accepted, dir); err != nil || accepted.Comparison == nil {
		t.Fatal(err, accepted.Sentences())
	}
	return b.String()
}

// TestLargeReport checks that GitHub shows all of a report.
func TestLargeReport(t *testing.T) {
	dir := t.TempDir()
	var arms []Arm
	for i := range 6 {
		name := fmt.Sprint("arm", i)
		m := replayOf(name, func(n int) bool { return n != i })
		for q := range m.Questions {
			r := &m.Questions[q]
			r.ID += strings.Repeat("語", 999)
			r.Question, r.Answer = strings.Repeat("問", 500), strings.Repeat("答", 500)
			r.Reference, r.Reason = strings.Repeat("参", 500), strings.Repeat("理", 500)
		}
		arms = append(arms, Arm{Name: name, Path: m.Save(t, dir, name+".json")})
	}
	page := reportOf(t, dir, arms...)
	if len(page) > 1<<20 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(page, "more, in the result files") {
		t.Error("it does not say that failures are left out")
	}
}
