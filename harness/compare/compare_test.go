package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// sketch are the verdicts of three runs on 50 questions: go passes 46, py 44, ts 41. Only go passes
// 4 against py and 6 against ts, only py 2 and 6 against go and ts, only ts 1 and 3.
func sketch() (goRun, py, ts *file) {
	verdicts := [3][]byte{}
	for i := range verdicts {
		verdicts[i] = []byte(strings.Repeat("p", 50))
	}
	fail := func(run int, questions ...int) {
		for _, q := range questions {
			verdicts[run][q] = 'f'
		}
	}
	fail(0, 0, 1, 2, 3)
	fail(1, 2, 3, 4, 10, 11, 12)
	fail(2, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	return newFile("go", string(verdicts[0])), newFile("py", string(verdicts[1])), newFile("ts", string(verdicts[2]))
}

// TestSketch compares with values of statistics.md, A.2 and B.4. Intervals have the levels of Holm's
// method: 1 - 0.05/3, 1 - 0.05/2 and between.
func TestSketch(t *testing.T) {
	g, py, ts := sketch()
	c := mustCompare(t, Options{}, ts.open(t), g.open(t), py.open(t))
	var names []string
	for _, r := range c.Runs {
		names = append(names, fmt.Sprintf("%s %d %d/%d %.3f %.3f", r.Name, r.Argument, r.Counts.Passed, r.Counts.Total, r.Interval.Low, r.Interval.High))
	}
	want := []string{"go 2 46/50 0.812 0.968", "py 3 44/50 0.762 0.944", "ts 1 41/50 0.692 0.902"}
	if !slices.Equal(names, want) {
		t.Errorf("runs %q", names)
	}
	var pairs []string
	for _, p := range c.Pairs {
		pairs = append(pairs, fmt.Sprintf("%d-%d %+.1f [%+.1f %+.1f] %d %d p %.3f %.3f %s", p.Run, p.Reference, 100**p.Difference,
			100*p.Interval.Low, 100*p.Interval.High, p.OnlyReference, p.OnlyRun, *p.P, *p.Adjusted, p.Verdict))
	}
	want = []string{
		"1-0 -4.0 [-16.8 +8.3] 4 2 p 0.688 1.000 no_difference_shown",
		"2-0 -10.0 [-25.1 +4.0] 6 1 p 0.125 0.375 no_difference_shown",
		"2-1 -6.0 [-20.9 +8.7] 6 3 p 0.508 1.000 no_difference_shown",
	}
	if diff := cmp.Diff(want, pairs); diff != "" {
		t.Error(diff)
	}
	p := c.Pairs[1].Power
	// Seven questions are not likely to show a difference, even if all went the same way.
	if p.Disagreement != 0.14 || p.Detectable != nil || *p.Needed != 114 || math.Abs(*p.Confirm-0.1) > 1e-12 {
		t.Errorf("power %+v: needed %v", p, *p.Needed)
	}
	for i, want := range []string{
		"with 50 questions and 12% disagreement, no difference could have been shown with 80% power; to confirm 4.0 pp with it takes 622 questions",
		"with 50 questions and 14% disagreement, no difference could have been shown with 80% power; to confirm 10.0 pp with it takes 114 questions",
		"with 50 questions and 18% disagreement, a difference of about 16.6 pp or more could have been shown with 80% power; to confirm 6.0 pp with it takes 415 questions",
	} {
		if got := c.Pairs[i].PowerText(); got != want {
			t.Errorf("power of pair %d: %s", i, got)
		}
	}
	shown := c.Pairs[1]
	if shown.Verdict = Worse; shown.PowerText() != "" {
		t.Errorf("a difference is shown, and %s", shown.PowerText())
	}
	if got := strings.Join(c.Pairs[1].OnlyRunIDs, " "); got != "q000" {
		t.Errorf("only ts: %s", got)
	}
	if len(c.Differing) != 11 || c.Differing[0].ID != "q000" || c.Differing[0].Answers[0].Passed != 0 || c.Differing[0].Answers[1].Passed != 1 {
		t.Errorf("differing %+v", c.Differing)
	}
	if c.Tests != 3 || c.Questions.Compared != 50 || c.Questions.Intersected || c.Key("daemon").State != key.Differs {
		t.Errorf("comparison %+v", c)
	}
}

// TestRegression plants a loss of 6 questions of 50, and then one of 5, which is not significant.
func TestRegression(t *testing.T) {
	before := strings.Repeat("p", 45) + "fffff"
	for lost, want := range map[int]Verdict{6: Worse, 5: NotSeen} {
		after := strings.Repeat("f", lost) + strings.Repeat("p", 45-lost) + "fffff"
		margin := 0.03
		c := mustCompare(t, Options{Baseline: "old", Margin: &margin}, newFile("old", before).open(t), newFile("new", after).open(t))
		p := c.Pairs[0]
		if p.Verdict != want || c.Baseline != "old" || c.Runs[0].Name != "old" {
			t.Errorf("%d lost: %s, p %v", lost, p.Verdict, *p.P)
		}
	}
}

// TestLeaks: one forbidden text that comes back is a regression, unless it came back before, or the
// reference did not answer.
func TestLeaks(t *testing.T) {
	leak := []result.Leak{{Text: "four euros", Place: result.InAnswer, Origin: result.OfReplaced}}
	for name, c := range map[string]struct {
		before string // of q000 and q001, in which the run fails
		leaked bool   // in q001 of the reference
		want   []string
	}{
		"new":              {"pp", false, []string{"q000", "q001"}},
		"failed before":    {"ff", false, []string{"q000", "q001"}},
		"one leaked too":   {"pf", true, []string{"q000"}},
		"one not answered": {"pe", false, []string{"q000"}},
		"neither is new":   {"ef", true, nil},
	} {
		old, run := newFile("old", c.before+"pppp"), newFile("new", "ffpppp")
		run.Questions[0].Leaks, run.Questions[1].Leaks = leak, leak
		if c.leaked {
			old.Questions[1].Leaks = leak
		}
		got := mustCompare(t, Options{Baseline: "old"}, old.open(t), run.open(t))
		if p := got.Pairs[0]; !slices.Equal(p.LeakedIDs, c.want) || (got.Regression() != nil) != (c.want != nil) {
			t.Errorf("%s: %q, %v", name, p.LeakedIDs, got.Regression())
		}
		if err := got.Regression(); err != nil && (strings.Contains(err.Error(), "worse") || !strings.Contains(err.Error(), "forbidden texts came back in "+figure.Count(len(c.want), "question")+" of new")) {
			t.Errorf("%s, not shown to differ: %v", name, err)
		}
	}
}

// TestLeaksOfSides: with several runs a side, a forbidden text must come back in most answers of the
// one side and in none of the other.
func TestLeaksOfSides(t *testing.T) {
	side := func(name, leaks string) *Run {
		var runs []*Run
		for i, l := range leaks {
			f := newFile(name, "ffpppp")
			f.StartedAt = f.StartedAt.Add(time.Duration(i) * time.Hour)
			if l == 'l' {
				f.Questions[1].Leaks = []result.Leak{{Text: "four euros", Place: result.InAnswer, Origin: result.OfReplaced}}
			}
			runs = append(runs, f.open(t))
		}
		return Side(name, runs)
	}
	for leaks, want := range map[[2]string]bool{
		{"...", "l.."}: false, {"...", "ll."}: true, {"...", "lll"}: true, {"l..", "lll"}: false, {"..", "l."}: false,
	} {
		got := mustCompare(t, Options{Baseline: "old"}, side("old", leaks[0]), side("new", leaks[1]))
		if p := got.Pairs[0]; (len(p.LeakedIDs) == 1) != want || (got.Regression() != nil) != want {
			t.Errorf("%s: %q, %v", leaks, p.LeakedIDs, got.Regression())
		}
	}
}

// TestFalseAlarms compares pairs of runs of the same quality, two thirds of whose failures they
// share.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(7, 7))
	alarms := 0
	const pairs = 200
	for range pairs {
		runs := []*Run{{path: "a.json", index: map[string]int{}}, {path: "b.json", index: map[string]int{}}}
		for q := range 100 {
			shared := random.Float64()
			for _, r := range runs {
				passed := shared < 0.8 && random.Float64() < 0.9
				r.index[fmt.Sprint(q)] = len(r.questions)
				r.questions = append(r.questions, question{
					id:       fmt.Sprint(q),
					attempts: []attempt{{outcome: result.Scored, passed: passed}},
				})
			}
		}
		if mustCompare(t, Options{Resamples: 1, Accept: ofLines}, runs...).Pairs[0].Verdict != NotSeen {
			alarms++
		}
	}
	// The exact test is conservative: at most 5% are expected, and 4.5 standard errors more.
	if limit := 0.05*pairs + 4.5*math.Sqrt(0.05*0.95*pairs); float64(alarms) > limit {
		t.Errorf("%d of %d null pairs are significant, want at most %.0f", alarms, pairs, limit)
	}
}

// TestUnscored checks that a pair with an unscored question is left out and counted, and that an
// error is a verdict.
func TestUnscored(t *testing.T) {
	c := mustCompare(t, Options{}, newFile("go", "pppue").open(t), newFile("py", "ufepp").open(t))
	p := c.Pairs[0]
	if p.N != 3 || p.Unscored != 2 || p.OnlyRun+p.OnlyReference != 3 || p.Both+p.Neither != 0 {
		t.Errorf("pair %+v", p.Table)
	}
	if n := c.Runs[0].Counts; n.Total != 5 || n.Unscored != 1 || n.Errors != 1 {
		t.Errorf("counts %+v", n)
	}
	if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "2 pairs left out, unscored") }) {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestRepeats checks that the means over the repeats of a question are compared.
func TestRepeats(t *testing.T) {
	run := func(name string, attempts ...string) *Run {
		r := &Run{path: name, index: map[string]int{}}
		for i, verdicts := range attempts {
			q := question{id: fmt.Sprint(i)}
			for _, v := range verdicts {
				q.attempts = append(q.attempts, attempt{outcome: result.Scored, passed: v == 'p'})
			}
			r.index[q.id] = i
			r.questions = append(r.questions, q)
		}
		return r
	}
	a := run("a.json", "pp", "pf", "ff", "pf", "pp", "pp", "pp", "pp")
	b := run("b.json", "pp", "pf", "ff", "ff", "pf", "ff", "pf", "pf")
	c := mustCompare(t, Options{Baseline: "a", Accept: ofLines}, a, b)
	p := c.Pairs[0]
	if !c.Repeated || p.Test != "sign_flip_exact" || p.N != 8 || p.Both != 1 || p.Neither != 1 || p.Tied != 1 || p.OnlyReference != 5 || p.Power != nil {
		t.Errorf("pair %+v", p.Table)
	}
	if *p.Difference != -3.0/8 || p.Interval.Method != "sign_flip" || p.Interval.High < 0 || c.Runs[0].Clustered.Clusters != 8 || c.Runs[0].Counts.Total != 16 {
		t.Errorf("difference %v, %+v, %+v", *p.Difference, p.Interval, c.Runs[0])
	}
	for _, r := range []*Run{a, b} { // means over two repeats that differ by rounding alone
		for i := range r.questions {
			at := r.questions[i].attempts
			at[0].values[measureScore], at[1].values[measureScore] = 0.1, 0.2
			if r == b {
				at[0].values[measureScore], at[1].values[measureScore] = 0.15000000000000002, 0.15
			}
		}
	}
	if m := mustCompare(t, Options{Baseline: "a", Accept: ofLines}, a, b).Pairs[0].Measures; m[0].Difference != 0 || m[0].P != 1 {
		t.Errorf("rounding is a difference: %+v", m)
	}
	if *p.P != 1.0/16 { // all five differ one way
		t.Errorf("p %v", *p.P)
	}
}

// TestClusters has a difference that comes from a few clusters alone: McNemar's test, which takes
// the questions as independent, must not decide, and the p-value, the interval and the verdicts of
// the pair and of tags are those of one test.
func TestClusters(t *testing.T) {
	before := strings.Repeat("p", 50)
	for lost, want := range map[int]struct {
		p       float64
		verdict Verdict
	}{2: {0.5, NotSeen}, 5: {0.0625, NotSeen}, 6: {0.03125, Worse}, 8: {0.0078125, Worse}} {
		after, py := strings.Repeat("f", 5*lost)+strings.Repeat("p", 50-5*lost), newFile("py", "")
		for i, v := range after {
			r := record(i, v)
			r.Tags = append(r.Tags, "all", fmt.Sprintf("part:%d", i%2), fmt.Sprintf("first:%t", i < 25))
			py.Questions = append(py.Questions, r)
		}
		c := mustCompare(t, Options{ClusterTag: "conv", Margin: new(0.03), Baseline: "py"}, newFile("go", before).open(t), py.open(t))
		p := c.Pairs[0]
		if *p.P != want.p || *p.Adjusted != want.p || p.Verdict != map[Verdict]Verdict{NotSeen: NotSeen, Worse: Better}[want.verdict] || p.Clusters != 10 || p.Test != "sign_flip_clusters_exact" || p.Power != nil {
			t.Errorf("%d clusters lost: %+v, p %v", lost, p.Table, *p.P)
		}
		if contains := p.Interval.Low <= 0; p.Interval.Method != "sign_flip_clusters" || contains != (want.verdict == NotSeen) {
			t.Errorf("%d clusters lost: interval %+v", lost, p.Interval)
		}
		for _, tag := range c.Tags {
			table := tag.Pairs[0].Table
			one := strings.HasPrefix(tag.Tag, "conv:") || strings.HasPrefix(tag.Tag, "first:")
			if one != (table.P == nil) || !one && (*table.P != want.p || table.Clusters != 10) {
				t.Errorf("%d clusters lost, tag %s: %+v", lost, tag.Tag, table)
			}
		}
		if c.OtherTests != 3 {
			t.Errorf("%d tests of tags", c.OtherTests)
		}
		notes := strings.Join(c.Notes, "\n")
		if !strings.Contains(notes, "with 10 clusters") || !strings.Contains(notes, "12 tags of fewer than 6 clusters not tested") {
			t.Errorf("notes %q", c.Notes)
		}
	}
}

// TestFewClusters has no result that could show a difference.
func TestFewClusters(t *testing.T) {
	c := mustCompare(t, Options{ClusterTag: "conv", Baseline: "go", Margin: new(0.03)},
		newFile("go", strings.Repeat("p", 25)).open(t), newFile("py", strings.Repeat("f", 25)).open(t))
	p := c.Pairs[0]
	if *p.P != 0.0625 || p.Verdict != NotSeen || p.Interval != nil || p.Margin.P != nil || p.Margin.Verdict != result.Unknown {
		t.Errorf("%+v, %+v", p.Table, p.Margin)
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "with 5 clusters no difference can be shown: 6 or more are needed") {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestSignFlipOfClusters has scores that are worse in two clusters of five questions. The signs of
// a cluster change together, so that this may be chance.
func TestSignFlipOfClusters(t *testing.T) {
	before, after := newFile("go", strings.Repeat("p", 50)), newFile("py", strings.Repeat("p", 50))
	for i := range 10 {
		after.Questions[i].Score = new(0.75)
	}
	a, b := before.open(t), after.open(t)
	for tag, want := range map[string]float64{"": 2.0 / 1024, "conv": 0.5} {
		test := map[string]string{"": "sign_flip_exact", "conv": "sign_flip_clusters_exact"}[tag]
		m := mustCompare(t, Options{Primary: []string{"score"}, ClusterTag: tag, Baseline: "go"}, a, b).Pairs[0].Measures
		if len(m) != 1 || math.Abs(m[0].P-want) > 1e-12 || m[0].Test != test || m[0].Verdict == NotSeen != (tag != "") {
			t.Errorf("cluster %q: got %+v, want p %v", tag, m, want)
		}
	}
}

func TestMargin(t *testing.T) {
	for _, c := range []struct {
		lost, n int
		cluster string
		want    result.BaselineVerdict
		p       float64
	}{
		{0, 400, "", result.NotWorse, 0.00022}, {60, 400, "", result.Worse, 1}, {4, 50, "", result.Unknown, 0.905}, {12, 400, "", result.Unknown, 0.5},
		{4, 400, "conv", result.NotWorse, 0.0095}, {60, 400, "conv", result.Worse, 1}, {4, 50, "conv", result.Unknown, 0.905},
		// All clusters agree, which is no proof that others would.
		{0, 400, "conv", result.Unknown, math.NaN()},
	} {
		after := strings.Repeat("f", c.lost) + strings.Repeat("p", c.n-c.lost)
		p := mustCompare(t, Options{Baseline: "go", Margin: new(0.03), ClusterTag: c.cluster},
			newFile("go", strings.Repeat("p", c.n)).open(t), newFile("py", after).open(t)).Pairs[0]
		got := math.NaN()
		if p.Margin.P != nil {
			got = *p.Margin.P
		}
		if p.Margin.Verdict != c.want || math.IsNaN(c.p) != math.IsNaN(got) || math.Abs(got-c.p) > 0.1*c.p {
			t.Errorf("%+v: %s with p %v by %+v", c, p.Margin.Verdict, got, p.Margin.Interval)
		}
	}
}

// TestMeasures plants a better ranking and slower answers.
func TestMeasures(t *testing.T) {
	a, b := newFile("go", strings.Repeat("pf", 20)), newFile("py", strings.Repeat("pf", 20))
	for i := range a.Questions {
		x, y := &a.Questions[i], &b.Questions[i]
		for _, r := range []*result.Record{x, y} {
			r.ExpectedPaths = []string{"a.md"}
			r.Retrieval = &result.QuestionRetrieval{Recall: 1, NDCG: float64(i%7) / 10, ReciprocalRank: 0.5, AveragePrecision: 0.5}
		}
		y.Retrieval.NDCG += 0.1 + float64(i%3)/100
		y.LatencyMS = 200 + float64(i%5)
		x.FirstDeltaMS, y.FirstDeltaMS = new(50.0), new(50.0)
	}
	p := mustCompare(t, Options{Baseline: "go", Primary: []string{"ndcg"}}, a.open(t), b.open(t)).Pairs[0]
	var got []string
	for _, m := range p.Measures {
		got = append(got, fmt.Sprintf("%s %s %v", m.Name, m.Verdict, m.Interval != nil))
	}
	want := []string{ // no interval where nothing differs: one without a width would prove anything
		"recall no_difference_shown false", "ndcg better true",
		"reciprocal_rank no_difference_shown false", "average_precision no_difference_shown false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m := p.Measures[1]; m.N != 40 || math.Abs(m.Difference-0.11) > 0.001 || m.Interval.Low < 0.1 || m.Interval.High > 0.12 {
		t.Errorf("ndcg %+v", m)
	}
	total, first := p.Latencies[0], p.Latencies[1]
	if total.Name != "total" || math.Abs(total.Ratio-2.02) > 0.001 || total.Verdict != NotJudged || total.ReferenceP50 != 100 {
		t.Errorf("latency %+v", total)
	}
	if first.Name != "first_token" || first.Ratio != 1 || first.Verdict != NotJudged {
		t.Errorf("first token %+v", first)
	}
}

// TestFelt checks that waits are compared as soon as a question of either run has any, beside the
// answering attempts, which they do not change.
func TestFelt(t *testing.T) {
	a, b := newFile("go", strings.Repeat("p", 10)), newFile("py", strings.Repeat("p", 10))
	for i := range b.Questions {
		b.Questions[i].FeltMS = new(400.0)
	}
	c := mustCompare(t, Options{Baseline: "go"}, a.open(t), b.open(t))
	var got []string
	for _, l := range c.Pairs[0].Latencies {
		got = append(got, fmt.Sprintf("%s %.2f", l.Name, l.Ratio))
	}
	if diff := cmp.Diff([]string{"total 1.00", "felt 4.00"}, got); diff != "" {
		t.Error(diff)
	}
	if r := c.Runs; r[0].Felt != nil || r[1].Felt == nil || *r[1].Felt.P50 != 400 || *r[1].Latency.P50 != 100 {
		t.Errorf("got %+v and %+v", r[0].Felt, r[1].Felt)
	}
}

func TestTags(t *testing.T) {
	g, py, _ := sketch()
	for _, f := range []*file{g, py} {
		f.Questions[49].Tags = []string{"single"}
		f.Questions[0].Tags = append(f.Questions[0].Tags, "pair")
		f.Questions[1].Tags = append(f.Questions[1].Tags, "pair")
		for i := range 20 {
			f.Questions[i].Tags = append(f.Questions[i].Tags, "early")
		}
	}
	c := mustCompare(t, Options{}, g.open(t), py.open(t))
	byTag := map[string]TagComparison{}
	for _, tag := range c.Tags {
		byTag[tag.Tag] = tag
	}
	if _, ok := byTag["single"]; ok || len(c.Tags) != 12 || c.OtherTests != 1 {
		t.Errorf("%d tags, %d tests", len(c.Tags), c.OtherTests)
	}
	if early := byTag["early"]; early.Pairs[0].N != 20 || math.Abs(*early.Pairs[0].P-0.6875) > 1e-12 || *early.Pairs[0].Adjusted != *early.Pairs[0].P || early.Counts[1].Passed != 14 {
		t.Errorf("early %+v", early)
	}
	if small := byTag["pair"].Pairs[0]; small.P != nil || small.OnlyRun != 2 {
		t.Errorf("pair %+v", small)
	}
	only := mustCompare(t, Options{Tag: "early"}, g.open(t), py.open(t))
	if len(only.Tags) != 0 || only.Pairs[0].N != 20 || only.Questions.Selected != 20 || only.Questions.Compared != 50 {
		t.Errorf("%+v", only.Questions)
	}
}

// TestSameTags has tags that select the same questions, whose test is one.
func TestSameTags(t *testing.T) {
	g, py, _ := sketch()
	for _, f := range []*file{g, py} {
		for i := range f.Questions {
			r := &f.Questions[i]
			r.Tags = []string{fmt.Sprintf("category:%d", i%2), fmt.Sprintf("type:%d", i%2)}
			if i < 20 {
				r.Tags = append(r.Tags, "early", "first")
			} else if i < 40 {
				r.Tags = append(r.Tags, "late")
			}
		}
	}
	c := mustCompare(t, Options{}, g.open(t), py.open(t))
	var got []string
	for _, tag := range c.Tags {
		got = append(got, fmt.Sprint(tag.Title(), " ", tag.Questions, " ", tag.Same))
	}
	want := []string{"early = first 20 [first]", "late 20 []", "type:0 = category:0 25 [category:0]", "type:1 = category:1 25 [category:1]"}
	if !slices.Equal(got, want) || c.OtherTests != 4 {
		t.Errorf("%d tests of %q, want %q", c.OtherTests, got, want)
	}
}

// TestAgreement has runs of which nothing could be shown, because no question differs.
func TestAgreement(t *testing.T) {
	a := newFile("go", strings.Repeat("p", 45)+"fffff")
	p := mustCompare(t, Options{}, a.open(t), a.open(t)).Pairs[0]
	want := "with 50 questions and 0% disagreement, no difference could have been shown with 80% power"
	if got := p.PowerText(); got != want || p.Power.Detectable != nil || p.Power.Needed != nil {
		t.Errorf("%q of %+v", got, p.Power)
	}
}

// TestLines compares a result with a run in JSON lines.
func TestLines(t *testing.T) {
	lines := openLines(t, "published", `{"id": "q001", "passed": true}`+"\n"+`{"id": "q000", "passed": false, "x": 1}`)
	c := mustCompare(t, Options{Accept: ofLines}, newFile("go", "pp").open(t), lines)
	if c.Pairs[0].OnlyReference != 1 || c.Key("scorer").State != key.NotRecorded || c.Key("questions").State != key.Same || c.Runs[1].Name != "published" {
		t.Errorf("%+v", c)
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"is not recorded", "keys that are not read: x", "no texts of questions"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q: %q", want, c.Notes)
		}
	}
}

// TestSwapMirrors compares A with the baseline B and the reverse.
func TestSwapMirrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		repeats := rapid.IntRange(1, 2).Draw(t, "repeats")
		draw := func(name string) *Run {
			r := &Run{path: name + ".jsonl", index: map[string]int{}}
			for i := range n {
				q := question{id: fmt.Sprint(i), tags: []string{fmt.Sprintf("c:%d", i%3), "t"}}
				for range repeats {
					a := attempt{outcome: rapid.SampledFrom([]result.Outcome{result.Scored, result.Scored, result.Errored, result.Unscored}).Draw(t, "outcome")}
					for m := range a.values {
						a.values[m] = math.NaN()
					}
					if a.outcome == result.Scored {
						a.passed = rapid.Bool().Draw(t, "passed")
						a.values[measureScore] = rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "score")
						a.values[measureTotal] = rapid.Float64Range(1, 1000).Draw(t, "latency")
					}
					q.attempts = append(q.attempts, a)
				}
				r.index[q.id] = i
				r.questions = append(r.questions, q)
			}
			return r
		}
		a, b := draw("a"), draw("b")
		compare := func(base string, runs ...*Run) Pair {
			c, err := Compare(runs, Options{Baseline: base, ClusterTag: "c", Resamples: 50, Accept: ofLines})
			if err != nil {
				t.Fatal(err)
			}
			return c.Pairs[0]
		}
		x, y := compare("a", a, b), compare("b", b, a)
		if diff := cmp.Diff(x, compare("a", b, a)); diff != "" {
			t.Fatalf("the order of the arguments matters: %s", diff)
		}
		mirror(t, x, y)
	})
}

// mirror checks that y is x with the runs exchanged.
func mirror(t *rapid.T, x, y Pair) {
	same := func(what string, a, b float64) {
		if !(math.Abs(a-b) <= 1e-9*(1+math.Abs(a))) {
			t.Errorf("%s: %v and %v", what, a, b)
		}
	}
	if x.N != y.N || x.Both != y.Both || x.Neither != y.Neither || x.Tied != y.Tied || x.OnlyRun != y.OnlyReference || x.OnlyReference != y.OnlyRun || x.Unscored != y.Unscored {
		t.Fatalf("tables %+v and %+v", x.Table, y.Table)
	}
	if !slices.Equal(x.OnlyRunIDs, y.OnlyReferenceIDs) || !slices.Equal(x.OnlyReferenceIDs, y.OnlyRunIDs) {
		t.Fatalf("ids %v and %v", x.OnlyRunIDs, y.OnlyReferenceIDs)
	}
	if x.N == 0 {
		return
	}
	opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, NotSeen: NotSeen}
	same("difference", *x.Difference, -*y.Difference)
	same("p", *x.P, *y.P)
	if x.Interval != nil {
		same("low", x.Interval.Low, -y.Interval.High)
		same("high", x.Interval.High, -y.Interval.Low)
	}
	if x.Verdict != opposite[y.Verdict] {
		t.Fatalf("verdicts %s and %s", x.Verdict, y.Verdict)
	}
	if x.Interval != nil && x.Verdict != NotSeen == (x.Interval.Low <= 0 && x.Interval.High >= 0) {
		t.Fatalf("%s by %+v", x.Verdict, x.Interval)
	}
	for i, m := range x.Measures {
		same(m.Name, m.Difference, -y.Measures[i].Difference)
		same(m.Name+" p", m.P, y.Measures[i].P)
	}
	for i, l := range x.Latencies {
		same(l.Name, l.Ratio, 1/y.Latencies[i].Ratio)
		if l.Interval != nil {
			same(l.Name+" low", l.Interval.Low, 1/y.Latencies[i].Interval.High)
		}
	}
}

// TestIntervalsAreTheResults compares results of five conversations with ten questions each: a
// rate has the interval that its result has, also if all questions passed, and so has the rate of a
// tag.
func TestIntervalsAreTheResults(t *testing.T) {
	all := strings.Repeat("p", 50)
	for name, verdicts := range map[string]string{
		"all passed": all, "none passed": strings.Repeat("f", 50), "mixed": "fffeeffupp" + all[10:], "alike": strings.Repeat("pppppppfff", 5),
	} {
		for _, tag := range []string{result.NoClusters, "conv", "repeats"} {
			f := newFile("go", verdicts)
			for i := range f.Questions {
				f.Questions[i].Tags = []string{fmt.Sprintf("conv:%d", i/10), fmt.Sprintf("half:%d", i/2%2)}
			}
			if tag == "repeats" {
				tag, f.Identity.Dataset.Repeats = result.NoClusters, 2
				for i := range f.Questions {
					q := &f.Questions[i]
					q.ID, q.Question, q.Repeat = f.Questions[i/2*2].ID, f.Questions[i/2*2].Question, i%2+1
				}
			}
			f.Settings.ClusterTag = tag
			f.Fill()
			other := *f
			other.SDK = "py"
			c := mustCompare(t, Options{ClusterTag: tag, Accept: []string{"effective_modes", "reader"}}, f.open(t), other.open(t))
			got := c.Runs[0]
			for _, of := range c.Tags {
				if diff := cmp.Diff(f.Tags[of.Tag].Interval, of.Intervals[0], cmpopts.EquateApprox(0, 1e-9)); diff != "" {
					t.Errorf("%s by %q, %s (-result +comparison):\n%s", name, tag, of.Tag, diff)
				}
			}
			if len(c.Tags) != 7 {
				t.Errorf("%d tags", len(c.Tags))
			}
			if diff := cmp.Diff(f.Believed(), got.Believed(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("%s by %q (-result +comparison):\n%s", name, tag, diff)
			}
			if diff := cmp.Diff(f.Clustered, got.Clustered, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("%s by %q (-result +comparison):\n%s", name, tag, diff)
			}
			if diff := cmp.Diff(f.Latency, got.Latency); diff != "" {
				t.Errorf("%s (-result +comparison):\n%s", name, diff)
			}
		}
	}
}
