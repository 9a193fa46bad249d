package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/key"
	"evalctl/harness/result"
)

func TestIncomparable(t *testing.T) {
	const verdicts = "ppfpf"
	for _, c := range []struct {
		name   string
		change func(*file)
		want   string // the keys that refuse
	}{
		{"nothing", func(*file) {}, ""},
		{"daemon and tool", func(f *file) {
			f.Identity.Daemon.Version, f.Identity.Tool.Version, f.Settings.Concurrency = "2", "9", 1
		}, ""},
		{"dataset", func(f *file) { f.Identity.Dataset.SHA256 = "e" }, "dataset"},
		{"questions", func(f *file) { f.Questions = f.Questions[:4] }, "questions"},
		{"selection", func(f *file) {
			f.Questions = f.Questions[:4]
			f.Identity.Dataset.Selection = &result.Selection{Limit: 4, Total: 5}
		}, "questions"},
		{"order only", func(f *file) { f.Identity.Dataset.Selection = &result.Selection{Seed: new(uint64(1)), Total: 5} }, ""},
		{"stopped", func(f *file) { f.Stopped, f.Planned = result.StopBudget, 9 }, "complete"},
		{"gold", func(f *file) { f.Questions[2].Reference = "else" }, "gold"},
		{"date", func(f *file) { f.Questions[2].QuestionDate = "2026-01-01" }, "question_date"},
		{"scenario", func(f *file) { f.Identity.Scenario = result.AskAugmented }, "scenario"},
		{"mode", func(f *file) { f.Identity.Mode = "bm25" }, "mode"},
		{"mode that ran", func(f *file) { f.EffectiveModes = map[string]int{"hybrid": 5} }, "effective_modes"},
		{"fusion that ran", func(f *file) { f.Fusions = map[string]int{"score 0.2": 4, "rrf 0.2": 1} }, "fusions"},
		{"a daemon that says no fusion", func(f *file) { f.Fusions = nil }, ""},
		{"passages of a document", func(f *file) { f.Identity.MaxPerDocument = new(2) }, "max_per_document"},
		{"depths", func(f *file) { f.Identity.TopK, f.Identity.CandidateK, f.Identity.RerankTopN = 6, 7, 8 }, "top_k candidate_k rerank_top_n"},
		{"scorer", func(f *file) { f.Identity.Scorer, f.Identity.ExactCase, f.Identity.Judge = "exact", new(false), nil }, "scorer exact_case judge judge_prompt judge_votes"},
		{"case", func(f *file) { f.Identity.ExactCase = new(true) }, "exact_case"},
		{"judge", func(f *file) { f.Identity.Judge.Model = "other" }, "judge"},
		{"prompt", func(f *file) { f.Identity.Judge.PromptSHA256 = "b" }, "judge_prompt"},
		{"reader", func(f *file) { f.ReaderModels = map[string]int{"m": 4, "n": 1} }, "reader"},
		{"reader's prompt", func(f *file) { f.ReaderPrompts = map[string]int{"p2": 5} }, "reader_prompt"},
		{"corpus", func(f *file) { f.Identity.Corpus = nil }, "corpus"},
		{"ingest", func(f *file) { f.Identity.Replay = &result.ReplayID{Ingest: "documents"} }, "ingest"},
		{"not recorded", func(f *file) { f.ReaderModels, f.EffectiveModes, f.ModesUnknown = nil, nil, 5 }, "effective_modes reader"},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := newFile("py", verdicts)
			c.change(other)
			runs := []*Run{newFile("go", verdicts).open(t), other.open(t)}
			_, err := Compare(runs, Options{Resamples: 2})
			var refused *key.IncomparableError
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !errors.As(err, &refused) || !errors.Is(err, key.ErrIncomparable) || strings.Join(refused.Differing, " ") != c.want {
				t.Fatalf("got %v, want a difference in %s", err, c.want)
			}
			// Everything can be accepted by its name, and the sets of questions by --intersect.
			options := Options{Resamples: 2, Accept: refused.Differing}
			if !slices.ContainsFunc(refused.Differing, func(name string) bool { return !slices.Contains(key.OfQuestions(), name) }) {
				options.Intersect, options.Accept = true, nil
			}
			accepted := mustCompare(t, options, runs...)
			for _, name := range refused.Differing {
				if k := accepted.Key(name); !k.Accepted || k.State == key.Same {
					t.Errorf("%s is %+v", name, k)
				}
			}
		})
	}
}

func TestIntersect(t *testing.T) {
	a, b := newFile("go", "ppfpfp"), newFile("py", "pfffpn")
	a.Questions = a.Questions[1:]
	b.Questions = append(b.Questions[:4], b.Questions[5])
	b.Stopped, b.Planned = result.StopInterrupted, 8
	c := mustCompare(t, Options{Intersect: true}, a.open(t), b.open(t))
	want := Questions{Compared: 3, Selected: 3, Intersected: true, LeftOut: [][]string{{"q004"}, {"q000"}}, WithoutGold: 1,
		SHA256: result.IDsSHA256(slices.Values([]string{"q001", "q002", "q003"}))}
	if diff := cmp.Diff(want, c.Questions); diff != "" {
		t.Error(diff)
	}
	if p := c.Pairs[0]; p.N != 3 || p.Both != 0 || p.OnlyReference != 2 || p.Neither != 1 {
		t.Errorf("pair %+v", p.Table)
	}
	if all := strings.Join(c.Notes, "\n"); !strings.Contains(all, "only the 3 questions that all runs have are compared; left out: 1 of go, 1 of py") {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestExcluded checks that excluded questions are counted by their reason.
func TestExcluded(t *testing.T) {
	a, b := newFile("go", "ppfn"), newFile("py", "pfff")
	b.Questions[0].Outcome, b.Questions[0].Passed, b.Questions[0].Score = result.NotMeasurable, false, nil
	b.Questions[1].Outcome, b.Questions[1].Passed, b.Questions[1].Score = result.Unjudged, false, nil
	c := mustCompare(t, Options{}, a.open(t), b.open(t))
	if q := c.Questions; q.Compared != 1 || q.WithoutGold != 1 || q.NotMeasurable != 1 || q.Unjudged != 1 || q.Excluded() != 3 {
		t.Errorf("%+v", q)
	}
	for _, want := range []string{
		"1 question left out, not asked for lack of gold", "1 question left out, not asked of some run, whose target lacks an operation",
		"1 question left out, without a verdict in some run",
	} {
		if !slices.Contains(c.Notes, want) {
			t.Errorf("notes %q lack %q", c.Notes, want)
		}
	}
}

// TestUntested: a comparison without a test, or with a result that is not a score, does not show
// that there is no regression. Pairs of two baselines do not matter.
func TestUntested(t *testing.T) {
	invalid := newFile("ts", "ppffff")
	invalid.Invalid = "most answers are errors"
	baselines := []*file{arm("go", "bm25", passing), baselineArm(result.NoMemory, failing), baselineArm(result.FullContext, passing)}
	for name, c := range map[string]struct {
		files    []*file
		baseline string
		margin   *float64
		want     string
	}{
		"tested":                    {[]*file{newFile("go", "pppfff"), newFile("py", "ppffff")}, "go", nil, ""},
		"no verdicts":               {[]*file{newFile("go", "pppfff"), newFile("py", "uuuuuu")}, "go", new(.1), "no question has a pass rate of both go and py"},
		"an invalid baseline":       {[]*file{invalid, newFile("py", "ppffff")}, "ts", nil, "ts is not a score (most answers are errors): evaluate it again"},
		"an invalid run":            {[]*file{newFile("py", "ppffff"), invalid}, "py", new(.1), "ts is not a score (most answers are errors): evaluate it again"},
		"a baseline of two":         {baselines, "full-context", nil, ""},
		"a baseline and the margin": {baselines, "full-context", new(.05), ""},
	} {
		var runs []*Run
		for _, f := range c.files {
			runs = append(runs, f.open(t))
		}
		compared := mustCompare(t, Options{Baseline: c.baseline, Margin: c.margin, Resamples: 2}, runs...)
		err := compared.Untested()
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, key.ErrIncomparable) || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if err := compared.Regression(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	run := newFile("go", "ppf").open(t)
	again, err := Open(run.path)
	if err != nil {
		t.Fatal(err)
	}
	other := newFile("py", "ppf").open(t)
	reworded := newFile("ts", "ppf")
	reworded.Questions[1].Question = "Another?"
	disjoint := openLines(t, "else", `{"id": "x", "passed": true}`)
	half := 0.5
	for _, c := range []struct {
		name string
		runs []*Run
		opts Options
		want error
		text string
	}{
		{"one run", []*Run{run}, Options{}, ErrOptions, "it takes two"},
		{"the same file", []*Run{run, again}, Options{}, ErrOptions, "are the same file"},
		{"unknown baseline", []*Run{run, other}, Options{Baseline: "ts"}, ErrOptions, "the runs are go, py"},
		{"unknown key", []*Run{run, other}, Options{Accept: []string{"juge"}}, ErrOptions, `no difference is called "juge"`},
		{"unimportant key", []*Run{run, other}, Options{Accept: []string{"daemon"}}, ErrOptions, `no difference is called "daemon"`},
		{"margin alone", []*Run{run, other}, Options{Margin: &half}, ErrOptions, "a margin needs a baseline"},
		{"margin", []*Run{run, other}, Options{Margin: new(1.5), Baseline: "go"}, ErrOptions, "between 0 and 1"},
		{"tag", []*Run{run, other}, Options{Tag: "none"}, ErrOptions, `no question has the tag "none"`},
		{"cluster", []*Run{run, other}, Options{ClusterTag: "room"}, ErrOptions, "no question has a tag room:…"},
		{"unknown measure", []*Run{run, other}, Options{Primary: []string{"speed"}}, ErrOptions, `"speed" is not a measure that can be primary: they are pass_rate, score`},
		{"latency of single runs", []*Run{run, other}, Options{Primary: []string{"total"}}, ErrOptions, "latencies are judged from 3 runs a side on"},
		{"measure of neither", []*Run{run, other}, Options{Primary: []string{"recall"}}, ErrOptions, "no pair of runs has it"},
		{"other text", []*Run{run, reworded.open(t)}, Options{Intersect: true, Accept: key.Names(key.Compare)}, key.ErrIncomparable, `the id "q001" belongs to different questions`},
		{"nothing in common", []*Run{run, disjoint}, Options{Intersect: true, Accept: ofLines}, key.ErrIncomparable, "no question is in all"},
	} {
		c.opts.Resamples = 2
		if got, err := Compare(c.runs, c.opts); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: got %v, %v, want %q", c.name, got, err, c.text)
		}
	}
}
