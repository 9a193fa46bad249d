package aggregate_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/scorer"
)

// figures returns a result with the figures of these records.
func figures(topK int, records ...result.Record) (res result.Result) {
	sum := aggregate.New(topK)
	for _, r := range records {
		sum.Add(r)
	}
	sum.Fill(&res)
	return res
}

// TestWarnings checks the warnings that depend on the answers.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []result.Record
		want    string
	}{
		{"found", []result.Record{retrieved(result.Scored, 1, []int{0}),
			retrieved(result.Scored, 2, []int{2})}, ""},
		{"no chunks", []result.Record{retrieved(result.Scored, 0, []int{0}),
			retrieved(result.Errored, 0, []int{0})}, "nothing_retrieved 1"},
		{"gold never found", []result.Record{retrieved(result.Scored, 5, []int{0}),
			retrieved(result.Unscored, 5, []int{0, 0})}, "gold_never_found 2"},
		{"errors alone", []result.Record{retrieved(result.Errored, 0, []int{0})}, ""},
	} {
		got := ""
		for _, g := range figures(5, c.records...).Retrieval.Warnings {
			got += fmt.Sprint(g.Kind, " ", g.Count)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// retrieved returns a record whose gold a.md, b.md, … has these ranks. Each document has two
// chunks.
func retrieved(outcome result.Outcome, documents int, ranks []int, tags ...string) result.Record {
	r := result.Record{Outcome: outcome, Tags: tags}
	var gold scorer.Ranking
	for i, rank := range ranks {
		path := string(rune('a'+i)) + ".md"
		r.ExpectedPaths = append(r.ExpectedPaths, path)
		gold = append(gold, scorer.Gold{Path: path, Gain: 1, Rank: rank})
	}
	if len(ranks) > 0 && outcome != result.Errored {
		r.Retrieval = &result.QuestionRetrieval{Documents: documents, Gold: gold}
		r.Retrieved = make([]result.Chunk, 2*documents)
	}
	return r
}

// TestRetrievalFigures compares the metrics of a run with values that were calculated by hand.
func TestRetrievalFigures(t *testing.T) {
	res := figures(2,
		retrieved(result.Scored, 2, []int{1}, "t"),
		retrieved(result.Unscored, 1, []int{0, 1, 0, 0}, "t", "u"), // the ranking is known nevertheless
		retrieved(result.Scored, 2, []int{2, 0}),
		retrieved(result.Errored, 0, []int{0}, "u"),
		retrieved(result.Scored, 2, nil, "t"),
		retrieved(result.NoGold, 0, nil, "t"),
	)
	ndcg2 := (1 + 1/(1+1/math.Log2(3)) + 1/math.Log2(3)/(1+1/math.Log2(3)) + 0) / 4
	want := &result.Retrieval{
		Ks: []int{1, 2}, Questions: 4, NoGold: 2, Errors: 1,
		Depth: &result.Depth{ // of three questions
			Chunks: result.Spread{Min: 2, Median: 4, Max: 4}, Documents: result.Spread{Min: 1, Median: 2, Max: 2},
		},
		Macro: result.Metrics{
			"recall@1": 1.25 / 4, "any@1": 0.5, "all@1": 0.25,
			"precision@1": 0.5, "success@1": 0.5, "ndcg@1": 0.5,
			"recall@2": 1.75 / 4, "any@2": 0.75, "all@2": 0.25,
			"precision@2": 1.5 / 4, "success@2": 0.75, "ndcg@2": ndcg2,
			"mrr": 2.5 / 4, "map": 1.5 / 4,
		},
		Micro: result.Metrics{
			"recall@1": 2.0 / 8, "precision@1": 2.0 / 3, "recall@2": 3.0 / 8, "precision@2": 3.0 / 5,
		},
		Basis: &result.IntervalBasis{Units: 4}, // too few questions for a bootstrap
		ByTag: map[string]*result.TagMeans{
			"t": {N: 2, Macro: result.Metrics{
				"recall@1": 0.625, "any@1": 1, "all@1": 0.5,
				"precision@1": 1, "success@1": 1, "ndcg@1": 1,
				"recall@2": 0.625, "any@2": 1, "all@2": 0.5,
				"precision@2": 0.5, "success@2": 1, "ndcg@2": (1 + 1/(1+1/math.Log2(3))) / 2,
				"mrr": 1, "map": 0.625,
			}, Micro: result.Metrics{
				"recall@1": 2.0 / 5, "precision@1": 1, "recall@2": 2.0 / 5, "precision@2": 2.0 / 3,
			}},
			"u": {N: 2, Macro: result.Metrics{
				"recall@1": 0.125, "any@1": 0.5, "all@1": 0,
				"precision@1": 0.5, "success@1": 0.5, "ndcg@1": 0.5,
				"recall@2": 0.125, "any@2": 0.5, "all@2": 0,
				"precision@2": 0.25, "success@2": 0.5, "ndcg@2": 1 / (1 + 1/math.Log2(3)) / 2,
				"mrr": 0.5, "map": 0.125,
			}, Micro: result.Metrics{
				"recall@1": 1.0 / 5, "precision@1": 1, "recall@2": 1.0 / 5, "precision@2": 1,
			}},
		},
		Warnings: []result.Warning{},
	}
	got := res.Retrieval
	intervals := cmpopts.IgnoreFields(result.Retrieval{}, "Intervals")
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 2e-9), intervals); diff != "" {
		t.Error(diff)
	}
	// 1, 0.25, 0.5 and 0 have the mean 0.4375 and the variance 0.182292; t is 3.182446 for 3
	// degrees of freedom.
	half := 3.182446 * math.Sqrt(0.182292/4)
	i := got.Intervals["recall@2"]
	if len(got.Intervals) != 5 || math.Abs(i.High-min(1, 0.4375+half)) > 1e-5 || i.Low != 0 ||
		got.Intervals["ndcg@2"].Method != "student_t" {
		t.Errorf("got %+v, half the width is %v", got.Intervals, half)
	}
	same := retrieved(result.Scored, 3, []int{1, 0, 0})
	if r := figures(2, same, same, same).Retrieval; len(r.Intervals) != 0 {
		t.Errorf("values that are all the same have intervals: %+v", r.Intervals)
	}
	if head := []string{"recall@2", "any@2", "all@2", "mrr",
		"ndcg@2"}; !slices.Equal(got.PrimaryMetrics(), head) {
		t.Errorf("got %v", got.PrimaryMetrics())
	}
	if c := res.Counts; c.Total != 5 || c.NoGold != 1 || res.GoldMissed != 0 {
		t.Errorf("got %+v, %d missed", c, res.GoldMissed)
	}
}

func TestDepths(t *testing.T) {
	at := func(topK int) *result.Retrieval {
		return figures(topK, retrieved(result.Scored, 1, []int{1})).Retrieval
	}
	for topK, want := range map[int][]int{
		1: {1}, 2: {1, 2}, 3: {1, 3}, 5: {1, 3, 5}, 10: {1, 3, 5, 10}, 100: {1, 3, 5, 10, 100},
	} {
		if got := at(topK).Ks; !slices.Equal(got, want) {
			t.Errorf("top-k %d: got %v, want %v", topK, got, want)
		}
	}
	if got := at(100).PrimaryMetrics()[4]; got != "ndcg@10" {
		t.Errorf("got %s", got)
	}
}

// TestIntervalsOfDependentQuestions checks that means have no t interval where questions are alike:
// here one cluster, or questions that do not differ.
func TestIntervalsOfDependentQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		repeats int
		cluster string
		want    bool
	}{
		"independent": {want: true}, "asked once": {repeats: 1, want: true},
		"repeats": {repeats: 2}, "clusters": {cluster: "conv"},
	} {
		sum := aggregate.New(2)
		for i := range 4 {
			r := retrieved(result.Scored, 2, []int{i % 2})
			r.ID, r.Tags, r.Score = fmt.Sprint(i/2), []string{"conv:a"}, new(float64(i%2))
			if c.repeats > 1 {
				r.Repeat = 1 + i%2
			}
			sum.Add(r)
		}
		res := result.Result{Settings: result.Settings{ClusterTag: c.cluster}}
		res.Identity.Dataset.Repeats = c.repeats
		sum.Fill(&res)
		if got := len(res.Retrieval.Intervals) > 0; got != c.want || res.MeanScoreInterval != nil != c.want {
			t.Errorf("%s: %v, %v", name, res.Retrieval.Intervals, res.MeanScoreInterval)
		}
	}
}

// TestDepth checks the range and the median of the numbers of documents, and how they read.
func TestDepth(t *testing.T) {
	for _, c := range []struct {
		documents []int
		want      string
	}{
		{[]int{3}, "top-k 5: passages 6, documents 3"},
		{[]int{2, 1}, "top-k 5: passages 3 (2–4), documents 1.5 (1–2)"},
		{[]int{5, 0, 1, 1}, "top-k 5: passages 2 (0–10), documents 1 (0–5)"},
		{[]int{4, 1, 3, 0, 4}, "top-k 5: passages 6 (0–8), documents 3 (0–4)"},
		{nil, ""},
	} {
		records := []result.Record{retrieved(result.Errored, 0, []int{0})} // no list of chunks came
		for _, n := range c.documents {
			records = append(records, retrieved(result.Scored, n, []int{0}))
		}
		res := figures(5, records...)
		res.Identity.TopK = 5
		if got := wording.Depth(&res); got != c.want {
			t.Errorf("%v: got %q, want %q", c.documents, got, c.want)
		}
	}
	res := figures(5, retrieved(result.Scored, 3, []int{0}))
	res.Identity.TopK, res.Identity.MaxPerDocument = 5, new(0)
	if got, want := wording.Depth(&res), "top-k 5, max_per_document 0: passages 6, documents 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEvidenceFigures compares the metrics by evidence, and what is said of the size of texts, with
// values that were calculated by hand.
func TestEvidenceFigures(t *testing.T) {
	record := func(outcome result.Outcome, tokens int, ranks ...int) result.Record {
		r := retrieved(outcome, 2, []int{1})
		r.ExpectedEvidence = make([]string, len(ranks))
		if outcome != result.Errored {
			r.Evidence = &result.QuestionEvidence{Ranks: ranks}
			r.Returned = &result.TextSize{Words: 10, Tokens: tokens}
		}
		return r
	}
	res := figures(2,
		record(result.Scored, 100, 1, 1), record(result.Unscored, 300, 0, 2), record(result.Scored, 0, 0),
		record(result.Errored, 0, 0), retrieved(result.Scored, 2, []int{0}), retrieved(result.NotMeasurable, 0, nil),
	)
	e := res.Evidence
	if e == nil || e.Questions != 4 || e.NoGold != 1 || e.Errors != 1 || res.Retrieval.Questions != 5 || res.Gold != result.ByEvidence {
		t.Fatalf("gold %q, evidence %+v", res.Gold, e)
	}
	want := result.Metrics{
		"recall@1": 1. / 4, "any@1": 1. / 4, "all@1": 1. / 4, "recall@2": 1.5 / 4, "any@2": 2. / 4, "all@2": 1. / 4, "mrr": 1.5 / 4,
	}
	if diff := cmp.Diff(want, e.Macro, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(result.Metrics{"recall@1": 2. / 6, "recall@2": 3. / 6}, e.Micro, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	returned := &result.ReturnedSize{Words: 10, Tokens: 400. / 3, RecallPer1000Tokens: new(1000 * 1.5 / 400)}
	if diff := cmp.Diff(returned, e.Returned, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	for _, metric := range []string{"ndcg@2", "recall@1"} {
		if _, ok := e.Intervals[metric]; ok {
			t.Errorf("evidence has an interval of %s", metric)
		}
	}
	if _, ok := e.Intervals["recall@2"]; !ok {
		t.Errorf("the intervals are %v", e.Intervals)
	}
	textless := record(result.Scored, 0, 0)
	textless.Returned = &result.TextSize{}
	if w := figures(2, textless).Evidence.Warnings; len(w) != 1 || w[0].Kind != "no_texts" {
		t.Errorf("without texts: %+v", w)
	}
	if res := figures(2, retrieved(result.Scored, 2, []int{1})); res.Evidence != nil || res.Gold != "id" {
		t.Errorf("without evidence: gold %q, %+v", res.Gold, res.Evidence)
	}
}
