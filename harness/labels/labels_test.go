package labels_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/labels"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
)

// answer is a stored answer: whether the scorer passed it, whether it is right, and its tag.
type answer struct {
	passed, right, failed bool
	tag                   string
	recipes               []bool // the verdicts of a panel, nil for one judge
}

// save writes a result with the answers. The answer's text says whether it is right.
func save(t *testing.T, answers []answer) string {
	t.Helper()
	at := time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC)
	f := resulttest.File{Result: result.Result{
		SDK: "go", ScorerName: "exact", StartedAt: at, FinishedAt: at, Planned: len(answers),
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "q.jsonl", SHA256: strings.Repeat("9f", 32), Selected: len(answers)},
		},
		Settings: result.Settings{Concurrency: 1, TimeoutSeconds: 60},
	}}
	for i, a := range answers {
		r := result.Record{
			ID: fmt.Sprintf("q-%04d", i), Question: "Which?", Reference: "this", Outcome: result.Scored,
			Score: new(0.0), Reply: result.Reply{Answer: fmt.Sprint("right: ", a.right)},
		}
		if a.passed {
			r.Passed, r.Score = true, new(1.0)
		}
		if a.tag != "" {
			r.Tags = []string{a.tag}
		}
		for _, passed := range a.recipes {
			v := result.RecipeVerdict{Passed: passed, Score: new(0.0)}
			if passed {
				v.Score = new(1.0)
			}
			r.Panel = append(r.Panel, v)
		}
		if a.failed {
			r.Outcome, r.Score, r.Answer = result.Errored, nil, ""
			r.Error = &result.Failure{Message: "no answer"}
		}
		f.Questions = append(f.Questions, r)
	}
	f.Fill()
	return f.Save(t, t.TempDir(), "go.json")
}

func open(t *testing.T, path string, d labels.Design) *labels.Population {
	t.Helper()
	p, err := labels.Open(path, d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// truth labels the first n answers as they are.
func truth(p *labels.Population, n int) []labels.Label {
	var list []labels.Label
	for _, a := range p.Answers[:n] {
		list = append(list, labels.Label{
			ID: a.ID, Answer: a.Text, Right: new(a.Text == "right: true"), Labeller: "alice", Design: p.Design,
		})
	}
	return list
}

// lenient returns answers of which a quarter is right; the scorer passes all right ones and 40 % of
// the others. A fifth has the tag rare.
func lenient(n int, seed uint64) []answer {
	random := rand.New(rand.NewPCG(seed, 1))
	answers := make([]answer, n)
	for i := range answers {
		a := &answers[i]
		a.right = random.Float64() < .25
		a.passed = a.right || random.Float64() < .4
		a.tag = "common"
		if i%5 == 0 {
			a.tag = "rare"
		}
	}
	return answers
}

func rateOf(answers []answer) (passed, right float64) {
	for _, a := range answers {
		if a.passed && !a.failed {
			passed += 1 / float64(len(answers))
		}
		if a.right && !a.failed {
			right += 1 / float64(len(answers))
		}
	}
	return passed, right
}

func TestEstimate(t *testing.T) {
	answers := lenient(400, 1)
	answers[7].failed, answers[8].failed = true, true
	passed, right := rateOf(answers)
	path := save(t, answers)
	for _, sample := range []labels.Sample{labels.Random, labels.Stratified} {
		p := open(t, path, labels.Design{Sample: sample, Seed: 3})
		e, err := p.Estimate(truth(p, 150))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(e.Judged-passed) > 1e-9 || e.Total != 400 || e.Failed != 2 || e.Labelled != 150 {
			t.Errorf("%s: judged %v of %d, %d failed, %d labelled; want %v of 400, 2, 150",
				sample, e.Judged, e.Total, e.Failed, e.Labelled, passed)
		}
		if i := e.Rate.Interval; right < i.Low || right > i.High || passed >= i.Low && passed <= i.High {
			t.Errorf("%s: interval [%v, %v], want the labellers' %v in it and the judge's %v outside",
				sample, i.Low, i.High, right, passed)
		}
		all, err := p.Estimate(truth(p, len(p.Answers)))
		if err != nil || math.Abs(all.Rate.Rate-right) > 1e-9 || all.LabelSE != 0 {
			t.Errorf("%s: with all labels %+v, %v; want %v", sample, all, err, right)
		}
	}
}

// Whatever is labelled first is a sample: over many seeds, the estimate by the first labels is right
// on average, and a stratum is drawn by its share.
func TestDrawIsUnbiased(t *testing.T) {
	answers := lenient(60, 2)
	_, right := rateOf(answers)
	path := save(t, answers)
	const seeds = 400
	for _, sample := range []labels.Sample{labels.Random, labels.Stratified} {
		mean, rare := 0.0, 0.0
		for seed := range uint64(seeds) {
			p := open(t, path, labels.Design{Sample: sample, Seed: seed})
			e, err := p.Estimate(truth(p, 20))
			if err != nil {
				t.Fatal(err)
			}
			mean += e.Rate.Rate / seeds
			for _, a := range p.Answers[:20] {
				if answers[number(t, a.ID)].tag == "rare" {
					rare += 1. / seeds
				}
			}
		}
		// The standard error of one estimate is about .08.
		if math.Abs(mean-right) > 4*.08/math.Sqrt(seeds) {
			t.Errorf("%s: mean of the estimates %v, want %v", sample, mean, right)
		}
		if math.Abs(rare-4) > .4 {
			t.Errorf("%s: %.2f of 20 drawn are rare, want 4", sample, rare)
		}
	}
}

// TestSparseStrata: strata with fewer than two labels are counted, unless there is one stratum.
func TestSparseStrata(t *testing.T) {
	path := save(t, lenient(60, 2))
	for _, tt := range []struct {
		sample         labels.Sample
		labels, sparse int
	}{{labels.Stratified, 5, 1}, {labels.Stratified, 20, 0}, {labels.Random, 5, 0}} {
		p := open(t, path, labels.Design{Sample: tt.sample, Seed: 3})
		e, err := p.Estimate(truth(p, tt.labels))
		if err != nil || e.Sparse != tt.sparse || e.Strata != len(p.Strata) {
			t.Errorf("%s, %d labels: %d of %d strata are sparse, %v", tt.sample, tt.labels, e.Sparse, e.Strata, err)
		}
	}
}

// Tags of few answers do not take labels from the tag of nearly all: the interval is that of a random
// draw.
func TestRareTags(t *testing.T) {
	answers := lenient(400, 9)
	for i := range answers {
		if answers[i].tag = "most"; i < 20 {
			answers[i].tag = fmt.Sprint("rare ", i)
		}
	}
	path := save(t, answers)
	width := func(sample labels.Sample) float64 {
		p := open(t, path, labels.Design{Sample: sample, Seed: 3})
		e, err := p.Estimate(truth(p, 40))
		if err != nil || e.Strata != 1 || e.Sparse != 0 {
			t.Fatalf("%s: %d strata, %d of them sparse, %v; want one", sample, e.Strata, e.Sparse, err)
		}
		return e.Rate.Interval.High - e.Rate.Interval.Low
	}
	if got, want := width(labels.Stratified), width(labels.Random); got != want {
		t.Errorf("interval of %.3f, want %.3f", got, want)
	}
}

func number(t *testing.T, id string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(id, "q-%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Labels that somebody has selected are no sample.
func TestEstimateRejects(t *testing.T) {
	answers := lenient(50, 3)
	p := open(t, save(t, answers), labels.Design{Sample: labels.Random, Seed: 1})
	for name, change := range map[string]func([]labels.Label) []labels.Label{
		"no label":               func(l []labels.Label) []labels.Label { return append(l[:4], l[5:]...) },
		"another answer":         func(l []labels.Label) []labels.Label { l[3].Answer = "right: maybe"; return l },
		"no answer with this id": func(l []labels.Label) []labels.Label { l[3].ID = "q-99"; return l },
		"--seed 2":               func(l []labels.Label) []labels.Label { l[3].Seed = 2; return l },
		"too few":                func(l []labels.Label) []labels.Label { return l[:1] },
	} {
		_, err := p.Estimate(change(truth(p, 10)))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error with %q", err, name)
		}
	}
}

// The labels of a session survive its end, a line that was cut off is labelled again, and another
// labeller or result is rejected.
func TestSession(t *testing.T) {
	path := save(t, lenient(30, 5))
	d := labels.Design{Sample: labels.Random, Seed: 1}
	p := open(t, path, d)
	file := filepath.Join(t.TempDir(), "l.jsonl")
	run := func(replies string) (shown []string) {
		t.Helper()
		f, err := labels.OpenFile(file, "alice", d)
		if err != nil {
			t.Fatal(err)
		}
		s := labels.Session{
			Population: p, File: f, Labeller: "alice", Size: 6,
			Show:  func(_ int, a *labels.Answer) { shown = append(shown, a.ID) },
			Again: func(why string) { shown = append(shown, "again: "+why) },
		}
		if err := s.Run(context.Background(), strings.NewReader(replies)); err != nil {
			t.Fatal(err)
		}
		if _, err := labels.OpenFile(file, "alice", d); err == nil {
			t.Error("two sessions write to one file")
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return shown
	}
	ids := func(n ...int) (out []string) {
		for _, i := range n {
			out = append(out, p.Answers[i].ID)
		}
		return out
	}
	expect(t, run("u\n"+strings.Repeat("y", 100_000)+"\nq"), append(ids(0), "again: there is no label to undo", "again: "))
	expect(t, run("y\nNo\nwhat\ns\nu\nu\nn\nq\n"), append(append(ids(0, 1, 2), "again: "), ids(3, 2, 1, 2)...))
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "\n") != 2 {
		t.Fatalf("%s, %v; want two lines", data, err)
	}
	if err := os.WriteFile(file, append(data, `{"id":"q-00`...), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, run("y\ny\ny\ny\ny\n"), ids(2, 3, 4, 5))
	if _, err := labels.Read(file, file); err == nil || !strings.Contains(err.Error(), `by "alice": give the labels of each labeller once`) {
		t.Errorf("a file given twice: %v", err)
	}
	list, err := labels.Read(file)
	if err != nil || len(list) != 6 || *list[1].Right || list[5].Right == nil {
		t.Errorf("%+v, %v; want six labels, the second wrong", list, err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.TrimSuffix(whole, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, run("y\n"), nil)
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("a last line without its end became\n%s, %v; want\n%s", got, err, whole)
	}
	if _, err := labels.OpenFile(file, "bob", d); err == nil || !strings.Contains(err.Error(), "l.jsonl:1: it is by labeller") {
		t.Errorf("%v, want that the file is another labeller's", err)
	}
	if _, err := labels.OpenFile(file, "alice", labels.Design{Sample: labels.Stratified, Seed: 1}); err == nil {
		t.Error("a file is continued with another sample")
	}
}

func expect(t *testing.T, got, want []string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Answers about which the recipes disagree are drawn more often than their share, and the estimate is
// right on average all the same.
func TestDrawByDisagreement(t *testing.T) {
	answers := lenient(200, 7)
	random := rand.New(rand.NewPCG(8, 1))
	disputed := 0
	for i := range answers {
		a := &answers[i]
		strict := a.right && random.Float64() < .9
		if a.recipes = []bool{a.passed, strict}; a.passed != strict {
			disputed++
		}
	}
	_, right := rateOf(answers)
	path := save(t, answers)
	const seeds = 200
	mean, drawn := 0.0, 0.0
	for seed := range uint64(seeds) {
		p := open(t, path, labels.Design{Sample: labels.Disagreement, Seed: seed})
		e, err := p.Estimate(truth(p, 60))
		if err != nil {
			t.Fatal(err)
		}
		mean += e.Rate.Rate / seeds
		for _, a := range p.Answers[:60] {
			if r := answers[number(t, a.ID)].recipes; r[0] != r[1] {
				drawn += 1. / seeds
			}
		}
	}
	if share := 60 * float64(disputed) / 200; drawn < 1.2*share {
		t.Errorf("%.1f of 60 drawn are disputed, and %.1f would be at random", drawn, share)
	}
	if math.Abs(mean-right) > 4*.04/math.Sqrt(seeds) {
		t.Errorf("mean of the estimates %v, want %v", mean, right)
	}
	p := open(t, path, labels.Design{Sample: labels.Disagreement, Seed: 1})
	if _, err := labels.Compare(p, p, truth(p, 60), truth(p, 60)); err == nil {
		t.Error("a difference by samples of other questions")
	}
	if _, err := labels.Open(save(t, lenient(5, 1)), labels.Design{Sample: labels.Disagreement}); err == nil ||
		!strings.Contains(err.Error(), "--judge-panel") {
		t.Errorf("without a panel: %v", err)
	}
}

// A file that is no file of labels is not cut.
func TestForeignFileIsKept(t *testing.T) {
	for _, text := range []string{"buy milk", `{"name": "x"}`, `{"id":"q1","answer":"by hand"}`, `{"id":"q1",` + "\n" + `{"other": 1}`} {
		path := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := labels.OpenFile(path, "ann", labels.Design{Sample: labels.Random, Seed: 1})
		if err == nil {
			t.Errorf("%q is opened as labels: %v", text, f.Close())
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q (%v)", text, got, err)
		}
	}
}
