package harness

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/harness/daemontest"
	"evalctl/scorer"
)

// knowing is the catalogue of a brain with these documents.
func knowing(paths ...string) catalogue {
	var docs []Doc
	for _, p := range paths {
		docs = append(docs, Doc{Path: p})
	}
	return catalogueOf(docs)
}

func TestCatalogue(t *testing.T) {
	for _, c := range []struct {
		name  string
		known catalogue
		got   string
		want  string
	}{
		{"as it is", knowing("a.md"), "a.md", "a.md"},
		{"below the seed root", knowing("a.md"), "raw/documents/a.md", "a.md"},
		{"below another folder", knowing("b/a.md"), "tenants/7/b/a.md", "b/a.md"},
		{"below another folder with the seed root", knowing("b/a.md"), "tenants/7/raw/documents/b/a.md", "b/a.md"},
		{"the longest end", knowing("a.md", "b/a.md"), "x/b/a.md", "b/a.md"},
		{"another document", knowing("a.md", "b/a.md"), "b/a.md", "b/a.md"},
		{"only whole segments", knowing("a.md"), "x/data.md", "x/data.md"},
		{"a document of its own", knowing("a.md"), "c.md", "c.md"},
		{"a corpus with a folder named as the seed root", knowing("raw/documents/a.md"), "raw/documents/raw/documents/a.md", "raw/documents/a.md"},
		{"nothing known", nil, "raw/documents/b/a.md", "b/a.md"},
		{"no path", knowing("a.md"), "", ""},
		{"slashes", knowing("a.md"), "//", "//"},
	} {
		if got := c.known.name(c.got); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCatalogueFindsWhatWasMoved: below any folder a document is itself, unless the
// whole is a path of another.
func TestCatalogueFindsWhatWasMoved(t *testing.T) {
	paths := rapid.StringMatching(`[ab]{1,2}(/[ab]{1,2}){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		corpus := rapid.SliceOfN(paths, 1, 8).Draw(t, "corpus")
		known := knowing(corpus...)
		doc := rapid.SampledFrom(corpus).Draw(t, "document")
		folder := rapid.SampledFrom([]string{"", SeedRoot, "x/", "srv/7/" + SeedRoot, paths.Draw(t, "folder") + "/"}).Draw(t, "below")
		got := known.name(folder + doc)
		if !known.has(got) || !strings.HasSuffix("/"+folder+doc, "/"+got) || len(got) < len(doc) {
			t.Errorf("%s%s is %q", folder, doc, got)
		}
	})
	hostile := strings.Repeat("a/", 1<<20)
	if got := knowing("a").name(hostile + "a"); got != hostile+"a" {
		t.Error("a path that is too long is looked for")
	}
}

func TestRetrievalOf(t *testing.T) {
	corpus := knowing("gold.md", "b/gold.md", "x.md")
	chunks := []Chunk{
		{Path: "raw/documents/x.md", Score: 5}, {DocumentID: "raw/documents/b/gold.md", Score: 4}, {Path: "srv/x.md", Score: 3}, {Path: "gold.md", Score: 2}, {ChunkID: "c5", Score: 1},
	}
	for _, c := range []struct {
		name      string
		expected  []string
		topK      int
		known     catalogue
		ranks     []int
		documents int
	}{
		{"a document counts once", []string{"gold.md", "b/gold.md"}, 5, corpus, []int{3, 2}, 4},
		{"not known, a path is itself", []string{"gold.md", "b/gold.md"}, 5, nil, []int{4, 2}, 5},
		{"below top-k is not retrieved", []string{"gold.md"}, 3, corpus, []int{0}, 2},
		{"the seed root in the dataset", []string{"raw/documents/b/gold.md"}, 5, corpus, []int{2}, 4},
		{"given twice", []string{"x.md", "x.md", "raw/documents/x.md"}, 5, corpus, []int{1}, 4},
		{"missing", []string{"old.md", "gold.md"}, 5, corpus, []int{0, 3}, 4},
		{"fewer chunks than top-k", []string{"x.md"}, 50, corpus, []int{1}, 4},
	} {
		got := retrievalOf(goldOf(c.expected), chunks, c.topK, c.known)
		var ranks []int
		for _, g := range got.Gold {
			ranks = append(ranks, g.Rank)
		}
		if !slices.Equal(ranks, c.ranks) || got.Documents != c.documents {
			t.Errorf("%s: ranks %v of %d documents, want %v of %d", c.name, ranks, got.Documents, c.ranks, c.documents)
		}
	}
	got := *retrievalOf(goldOf([]string{"b/gold.md", "old.md"}), chunks, 5, corpus)
	want := QuestionRetrieval{
		Documents: 4, Gold: scorer.Ranking{{Path: "b/gold.md", Gain: 1, Rank: 2}, {Path: "old.md", Gain: 1}},
		Recall: 0.5, NDCG: 0.386853, ReciprocalRank: 0.5, AveragePrecision: 0.25,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	ties := []Chunk{{Path: "b.md", Score: 1}, {Path: "a.md", Score: 1}}
	if got := retrievalOf(goldOf([]string{"a.md"}), ties, 1, nil); got.Recall != 0 {
		t.Errorf("ties are broken before the cut: %+v", got)
	}
	if got := retrievalOf(goldOf([]string{"a.md"}), ties, 2, nil); got.ReciprocalRank != 1 {
		t.Errorf("ties are not broken by path: %+v", got)
	}
}

// retrieved is a record whose gold a.md, b.md, … has these ranks.
func retrieved(outcome Outcome, documents int, ranks []int, tags ...string) Record {
	r := Record{Outcome: outcome, Tags: tags}
	var gold scorer.Ranking
	for i, rank := range ranks {
		path := string(rune('a'+i)) + ".md"
		r.ExpectedPaths = append(r.ExpectedPaths, path)
		gold = append(gold, scorer.Gold{Path: path, Gain: 1, Rank: rank})
	}
	if len(ranks) > 0 && outcome != Errored {
		r.Retrieval = &QuestionRetrieval{Documents: documents, Gold: gold}
	}
	return r
}

// TestRetrievalFigures holds a run of which every figure was worked out by hand.
func TestRetrievalFigures(t *testing.T) {
	tally := NewTally(2)
	for _, r := range []Record{
		retrieved(Scored, 2, []int{1}, "t"),
		retrieved(Unscored, 1, []int{0, 1, 0, 0}, "t", "u"), // the ranking is known all the same
		retrieved(Scored, 2, []int{2, 0}),
		retrieved(Errored, 0, []int{0}, "u"),
		retrieved(Scored, 2, nil, "t"),
		retrieved(NoGold, 0, nil, "t"),
	} {
		tally.Add(r)
	}
	ndcg2 := (1 + 1/(1+1/math.Log2(3)) + 1/math.Log2(3)/(1+1/math.Log2(3)) + 0) / 4
	want := &Retrieval{
		Ks: []int{1, 2}, Questions: 4, NoGold: 2, Errors: 1,
		Macro: Figures{
			"recall@1": 1.25 / 4, "any@1": 0.5, "all@1": 0.25, "precision@1": 0.5, "success@1": 0.5, "ndcg@1": 0.5,
			"recall@2": 1.75 / 4, "any@2": 0.75, "all@2": 0.25, "precision@2": 1.5 / 4, "success@2": 0.75, "ndcg@2": ndcg2,
			"mrr": 2.5 / 4, "map": 1.5 / 4,
		},
		Micro: Figures{"recall@1": 2.0 / 8, "precision@1": 2.0 / 3, "recall@2": 3.0 / 8, "precision@2": 3.0 / 5},
		ByTag: map[string]*TagMeans{
			"t": {N: 2, Macro: Figures{
				"recall@1": 0.625, "any@1": 1, "all@1": 0.5, "precision@1": 1, "success@1": 1, "ndcg@1": 1,
				"recall@2": 0.625, "any@2": 1, "all@2": 0.5, "precision@2": 0.5, "success@2": 1, "ndcg@2": (1 + 1/(1+1/math.Log2(3))) / 2,
				"mrr": 1, "map": 0.625,
			}, Micro: Figures{"recall@1": 2.0 / 5, "precision@1": 1, "recall@2": 2.0 / 5, "precision@2": 2.0 / 3}},
			"u": {N: 2, Macro: Figures{
				"recall@1": 0.125, "any@1": 0.5, "all@1": 0, "precision@1": 0.5, "success@1": 0.5, "ndcg@1": 0.5,
				"recall@2": 0.125, "any@2": 0.5, "all@2": 0, "precision@2": 0.25, "success@2": 0.5, "ndcg@2": 1 / (1 + 1/math.Log2(3)) / 2,
				"mrr": 0.5, "map": 0.125,
			}, Micro: Figures{"recall@1": 1.0 / 5, "precision@1": 1, "recall@2": 1.0 / 5, "precision@2": 1}},
		},
		Guards: []Guard{},
	}
	got := tally.Retrieval()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 2e-9), cmpopts.IgnoreFields(Retrieval{}, "Intervals")); diff != "" {
		t.Error(diff)
	}
	// Of 1, 0.25, 0.5, 0: mean 0.4375, variance 0.182292, t of 3 degrees of freedom 3.182446.
	half := 3.182446 * math.Sqrt(0.182292/4)
	i := got.Intervals["recall@2"]
	if len(got.Intervals) != 2 || math.Abs(i.High-min(1, 0.4375+half)) > 1e-5 || i.Low != 0 || got.Intervals["ndcg@2"].Method != "student_t" {
		t.Errorf("got %+v, half a width is %v", got.Intervals, half)
	}
	same := NewTally(2)
	for range 3 {
		same.Add(retrieved(Scored, 3, []int{1, 0, 0}))
	}
	if r := same.Retrieval(); len(r.Intervals) != 0 {
		t.Errorf("values that are all the same have intervals: %+v", r.Intervals)
	}
	if head := []string{"recall@2", "any@2", "all@2", "mrr", "ndcg@2"}; !slices.Equal(got.Headline(), head) {
		t.Errorf("got %v", got.Headline())
	}
	c := tally.Counts
	if c.Total != 5 || c.NoGold != 1 || tally.GoldMissed != 0 {
		t.Errorf("got %+v, %d missed", c, tally.GoldMissed)
	}
}

func TestDepths(t *testing.T) {
	for topK, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 3}, 5: {1, 3, 5}, 10: {1, 3, 5, 10}, 100: {1, 3, 5, 10, 100}} {
		if got := depths(topK); !slices.Equal(got, want) {
			t.Errorf("of top-k %d: %v, want %v", topK, got, want)
		}
	}
	if got := headline(100)[4]; got != "ndcg@10" {
		t.Errorf("got %s", got)
	}
}

// TestRunScoresRetrieval: no answer is needed, a question without gold is not
// asked, and the rate is of the others.
func TestRunScoresRetrieval(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		switch query := c.Body["query"].(string); query {
		case "broken":
			http.Error(w, "no", http.StatusBadRequest)
		default:
			_, _ = w.Write([]byte(`{"chunks":[{"path":"elsewhere/raw.md","score":2},{"path":"data/` + query + `","score":1}]}`))
		}
	})
	d, err := Survey(writeFile(t, t.TempDir()+"/q.jsonl", strings.Join([]string{
		`{"id":"q1","question":"one.md","expected_paths":["one.md"],"tags":["a"]}`,
		`{"id":"q2","question":"two.md","expected_paths":["one.md","two.md"]}`,
		`{"id":"q3","question":"two.md","expected_paths":["three.md"]}`,
		`{"id":"q4","question":"broken","expected_paths":["three.md"]}`,
		`{"id":"q5","question":"nobody knows","tags":["a","b"]}`,
	}, "\n")), nil, Naming{Default: "eval"}, func(Question) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Target.Brains = map[string]string{"eval": "eval"}
	cfg.Scorer, cfg.Target.Scenario = scorer.Retrieval{TopK: 5}, SearchOnly
	cfg.Brains = []Brain{{Name: "eval", Docs: []Doc{{Path: "one.md"}, {Path: "two.md"}, {Path: "three.md"}}, Questions: 5}}
	cfg.Warnings = []Guard{{Kind: "gold_shared", Message: "m", Count: 2, IDs: []string{}}}
	recorded := 0
	cfg.Recorded = func(Record) { recorded++ }
	res, path, err := cfg.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := readResult(t, path)
	if want := (Counts{Total: 4, Passed: 2, Scored: 3, Errors: 1, NoGold: 1}); f.Counts != want || recorded != 5 || f.Planned != 5 {
		t.Errorf("got %+v, %d recorded, want %+v", f.Counts, recorded, want)
	}
	if *res.PassRate != 0.5 || *res.MeanScore != 0.5 || f.Tags["b"].NoGold != 1 || f.Tags["b"].Total != 0 {
		t.Errorf("pass rate %v, mean score %v, tag b %+v", *res.PassRate, *res.MeanScore, f.Tags["b"])
	}
	for _, c := range s.Calls() {
		if c.Body["query"] == "nobody knows" {
			t.Error("a question without gold was asked")
		}
	}
	if q := f.Questions[4]; q.Outcome != NoGold || q.Score != nil || q.Passed || q.Attempts != 0 || q.Reason == "" {
		t.Errorf("got %+v", q)
	}
	if q := f.Questions[1]; *q.Score != 0.5 || q.Retrieval.Recall != 0.5 || q.GoldRank() != 2 || q.Reason != "1 of 2 gold documents in the top 5" {
		t.Errorf("got %+v", q)
	}
	if q := f.Questions[3]; q.Outcome != Errored || q.Retrieval != nil || q.GoldRank() != 0 {
		t.Errorf("got %+v", q)
	}
	if r := f.Retrieval; r.Questions != 4 || r.NoGold != 1 || r.Errors != 1 || r.Macro["recall@5"] != 0.375 || len(r.Guards) != 1 || f.GoldMissed != 1 {
		t.Errorf("got %+v, %d missed", r, f.GoldMissed)
	}
}

func TestRunWithoutGoldHasNoRetrieval(t *testing.T) {
	d := survey(t, writeFile(t, t.TempDir()+"/q.jsonl", `{"id":"q1","question":"question 1","expected_substrings":["answer 1"]}`))
	_, path, err := setUp(t, daemontest.Answering(t), d, t.TempDir()).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := readResult(t, path); f.Retrieval != nil || f.Questions[0].Retrieval != nil {
		t.Errorf("got %+v", f.Retrieval)
	}
}
