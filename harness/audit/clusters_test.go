package audit

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/compare"
	"evalctl/harness/dataset"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
)

// inBrains puts each n questions in a brain, by which the result has its clusters.
func inBrains(n int, scenario result.Scenario) func(*resulttest.File) {
	return func(f *resulttest.File) {
		f.Settings.ClusterTag, f.Identity.Scenario = result.ByBrain, scenario
		for i := range f.Questions {
			f.Questions[i].Brain = fmt.Sprintf("b%d", i/n)
		}
	}
}

// TestContextInClusters: the full context fails all questions about four brains of ten, which is
// what compare makes of the two files, and not shown.
func TestContextInClusters(t *testing.T) {
	memory := save(t, "x", strings.Repeat("+", 50), inBrains(5, result.AskBasic))
	full := save(t, "full", strings.Repeat("-", 20)+strings.Repeat("+", 30), inBrains(5, result.FullContext))
	f := only(t, "full-context-equals-memory", Spec{Files: []string{memory, full}})
	const want = "+40.0 pp [+0.0 +75.0] over 50 questions in 10 clusters, p 0.125 (cluster sign flips)"
	if got := strings.Join(f.Evidence, "\n"); f.Says != Unknown || !strings.Contains(got, want) {
		t.Errorf("%s, want %s:\n%s", f.Says, want, got)
	}
	runs, err := compare.OpenAll([]string{full, memory})
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(runs, compare.Options{Baseline: full, Accept: key.Names(key.Compare)})
	if err != nil || *c.Pairs[0].P != 0.125 {
		t.Errorf("compare: %v, %+v", err, c)
	}
	few := only(t, "full-context-equals-memory", Spec{Files: []string{
		save(t, "x", strings.Repeat("+", 50), inBrains(10, result.AskBasic)),
		save(t, "full", strings.Repeat("-", 50), inBrains(10, result.FullContext)),
	}})
	if got := strings.Join(few.Evidence, "\n"); few.Says != Unknown || !strings.Contains(got, "over 50 questions in 5 clusters, which determine no interval") {
		t.Errorf("five clusters: %s:\n%s", few.Says, got)
	}
}

// TestSharesInClusters: a share of questions in clusters, or that were repeated, has the interval
// that the result itself has.
func TestSharesInClusters(t *testing.T) {
	repeated := func(f *resulttest.File) {
		f.Identity.Scenario, f.Identity.Dataset.Repeats = result.NoMemory, 3
		for i := range f.Questions {
			f.Questions[i].ID, f.Questions[i].Repeat = fmt.Sprint(i/3), i%3+1
		}
	}
	for name, path := range map[string]string{
		"clusters": save(t, "none", strings.Repeat("++++++++", 6)+strings.Repeat("--------", 4), inBrains(8, result.NoMemory)),
		"all pass": save(t, "none", strings.Repeat("+", 32), inBrains(8, result.NoMemory)),
		"repeats":  save(t, "none", strings.Repeat("+++---+-+", 8), repeated),
		"neither":  save(t, "none", "+++---+-+", func(f *resulttest.File) { f.Identity.Scenario = result.NoMemory }),
	} {
		one, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		i := one.Result.Believed()
		want := fmt.Sprintf("passes %d/%d %.3f [%.3f %.3f]", one.Result.Passed, one.Result.Total, *one.Result.PassRate, i.Low, i.High)
		if f := only(t, "needs-no-memory", Spec{Files: []string{path}}); !strings.Contains(fmt.Sprint(f.Evidence), want) {
			t.Errorf("%s: want %s:\n%s", name, want, f.Evidence)
		}
	}
	if got := (share{hits: 2, n: 4, values: []float64{1, 0, 1, 0}, clusters: make([]int, 4)}).String(); got != "2/4 0.500 [no interval]" {
		t.Errorf("one cluster: %s", got)
	}
}

// TestDifferencesInClusters: what differs between few clusters is not shown, although it would be
// between as many independent answers.
func TestDifferencesInClusters(t *testing.T) {
	dir := t.TempDir()
	halves := strings.Repeat("+", 20) + strings.Repeat("-", 20)
	var first strings.Builder
	for i := range 20 {
		fmt.Fprintf(&first, "q-%02d\n", i)
	}
	public, err := dataset.ReadIDs(filetest.Write(t, filepath.Join(dir, "ids"), first.String()))
	if err != nil {
		t.Fatal(err)
	}
	// Of the first half, the answers are long, and are not the gold.
	answers := func(f *resulttest.File) {
		for i := range f.Questions[:20] {
			f.Questions[i].Answer = "words that are many"
		}
		f.Questions[0].Passed, f.Questions[39].Passed = false, true
	}
	for claim, spec := range map[string]Spec{
		"rate-hangs-on-the-prompt": {}, "long-answers-please-the-judge": {}, "key-in-memory-or-tuned": {Public: public},
	} {
		for clusters, want := range map[int]Answer{1: Shown, 20: NotShown} {
			spec.Files = []string{save(t, "x", halves, func(f *resulttest.File) {
				answers(f)
				inBrains(clusters, result.AskBasic)(f)
			})}
			if f := only(t, claim, spec); f.Says != want {
				t.Errorf("%s, %d questions in a cluster: %s, want %s:\n%s", claim, clusters, f.Says, want, f.Evidence)
			}
		}
	}
}

// TestWidened: with clusters of one, the clustered interval is the t interval of independent
// answers; with clusters, the design effect widens it.
func TestWidened(t *testing.T) {
	group := func(outcomes string, each, from int) (s share) {
		for i, o := range outcomes {
			s.add(o == '+', from+i/each)
		}
		return s
	}
	long, short := strings.Repeat("++++++++--", 10), strings.Repeat("++----++--", 10)
	alone := difference{0.4, 0.4, 0.4}.widened(nil, stratum{group(long, 1, 0), group(short, 1, 100)})
	if got := alone.String(); got != "+40.0 pp [+27.5 +52.5]" { // 0.4 ± 1.97·√(0.16/100 + 0.24/100)
		t.Errorf("clusters of one: %s", got)
	}
	pairs := difference{0.4, 0.4, 0.4}.widened(nil, stratum{group(long, 2, 0), group(short, 2, 100)})
	if got := pairs.String(); got != "+40.0 pp [+22.2 +57.8]" { // √2 times, with fewer degrees of freedom
		t.Errorf("pairs: %s", got)
	}
}

// TestEqualInClusters: a difference that every cluster has has the interval of as many
// independent items as there are clusters, and so is shown if these are many.
func TestEqualInClusters(t *testing.T) {
	for _, c := range []struct {
		clusters, each int
		want, paired   string
	}{
		{40, 1, "[+77.2 +100.0]", "[+87.6 +100.0]"},
		{40, 3, "[+77.2 +100.0]", "[+87.6 +100.0]"},
		{5, 8, "[-100.0 +100.0]", "[-100.0 +100.0]"},
		{1, 40, "[-100.0 +100.0]", "[-100.0 +100.0]"},
	} {
		var both verdicts
		var long, short share
		for i := range c.clusters * c.each {
			both.add(true, false, i/c.each)
			if i < c.clusters*c.each/2 {
				long.add(true, i/c.each)
			} else {
				short.add(false, i/c.each)
			}
		}
		d, _ := long.less(short)
		if got := d.String(); got != "+100.0 pp "+c.want {
			t.Errorf("%d clusters of %d: %s, want %s", c.clusters, c.each, got, c.want)
		}
		if got := both.difference().String(); got != "+100.0 pp "+c.paired {
			t.Errorf("%d clusters of %d, paired: %s, want %s", c.clusters, c.each, got, c.paired)
		}
		if d, _ = adjusted([]stratum{{long, short}, {}}); d.shown() != (c.clusters == 40) {
			t.Errorf("%d clusters of %d, at equal truth: %s", c.clusters, c.each, d)
		}
	}
	var same verdicts
	for i := range 60 {
		same.add(i < 30, i < 30, i/2)
	}
	if d := same.difference(); d.shown() || d.low < -0.2 || d.high > 0.2 {
		t.Errorf("equal verdicts: %s", d)
	}
}
