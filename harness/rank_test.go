package harness

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// checkRanks checks the ranks of the gold, and how many documents were found.
func checkRanks(t *testing.T, name string, got *result.QuestionRetrieval, ranks []int, documents int) {
	t.Helper()
	var found []int
	for _, g := range got.Gold {
		found = append(found, g.Rank)
	}
	if !slices.Equal(found, ranks) || got.Documents != documents {
		t.Errorf("%s: ranks %v of %d documents, want %v of %d", name, found, got.Documents, ranks, documents)
	}
}

func TestRetrievalOf(t *testing.T) {
	corpus := pathsOf("gold.md", "b/gold.md", "x.md")
	chunks := []result.Chunk{
		{Path: "raw/documents/x.md", Score: 5},
		{DocumentID: "raw/documents/b/gold.md", Score: 4},
		{Path: "srv/x.md", Score: 3},
		{Path: "gold.md", Score: 2},
		{ChunkID: "c5", Score: 1},
	}
	for _, c := range []struct {
		name      string
		expected  []string
		topK      int
		known     *dataset.Paths
		ranks     []int
		documents int
	}{
		{"a document counts once", []string{"gold.md", "b/gold.md"}, 5, corpus, []int{3, 2}, 4},
		{"unknown documents", []string{"gold.md", "b/gold.md"}, 5, nil, []int{4, 2}, 5},
		{"below top-k is not retrieved", []string{"gold.md"}, 3, corpus, []int{0}, 2},
		{"the seed root in the dataset", []string{"raw/documents/b/gold.md"}, 5,
			corpus, []int{2}, 4},
		{"given twice", []string{"x.md", "x.md", "raw/documents/x.md"}, 5, corpus, []int{1}, 4},
		{"missing", []string{"old.md", "gold.md"}, 5, corpus, []int{0, 3}, 4},
		{"fewer chunks than top-k", []string{"x.md"}, 50, corpus, []int{1}, 4},
	} {
		checkRanks(t, c.name, rankingOf(result.Gold(c.expected, nil), chunks, c.topK, c.known), c.ranks, c.documents)
	}
	got := *rankingOf(result.Gold([]string{"b/gold.md", "old.md"}, nil), chunks, 5, corpus)
	want := result.QuestionRetrieval{
		Documents: 4,
		Gold:      scorer.Ranking{{Path: "b/gold.md", Gain: 1, Rank: 2}, {Path: "old.md", Gain: 1}},
		Recall:    0.5, NDCG: 0.386853, ReciprocalRank: 0.5, AveragePrecision: 0.25,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	ties := []result.Chunk{{Path: "b.md", Score: 1}, {Path: "a.md", Score: 1}}
	if got := rankingOf(result.Gold([]string{"a.md"}, nil), ties, 1, nil); got.Recall != 0 {
		t.Errorf("ties are broken before the cut: %+v", got)
	}
	if got := rankingOf(result.Gold([]string{"a.md"}, nil), ties, 2, nil); got.ReciprocalRank != 1 {
		t.Errorf("ties are not broken by path: %+v", got)
	}
}

// TestRunScoresRetrieval checks that retrieval is scored without answers, and that a question
// without gold is not asked and does not count.
func TestRunScoresRetrieval(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		switch query := c.Body["query"].(string); query {
		case "broken":
			http.Error(w, "no", http.StatusBadRequest)
		default:
			_, _ = io.WriteString(w, `{"chunks":[{"path":"elsewhere/raw.md","score":2},`+
				`{"path":"data/`+query+`","score":1}]}`)
		}
	})
	file := filetest.Write(t, t.TempDir()+"/q.jsonl", strings.Join([]string{
		`{"id":"q1","question":"one.md","expected_paths":["one.md"],"tags":["a"]}`,
		`{"id":"q2","question":"two.md","expected_paths":["one.md","two.md"]}`,
		`{"id":"q3","question":"two.md","expected_paths":["three.md"]}`,
		`{"id":"q4","question":"broken","expected_paths":["three.md"]}`,
		`{"id":"q5","question":"no gold","tags":["a","b"]}`,
	}, "\n"))
	d, err := dataset.Open(file, dataset.Options{Naming: dataset.BrainNaming{Default: "eval"}, Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	cfg := setUp(t, s, d, t.TempDir())
	targetIn(cfg.Asker).Brains = map[string]string{"eval": "eval"}
	cfg.Scorer, targetIn(cfg.Asker).Scenario = scorer.Retrieval{TopK: 5}, result.SearchOnly
	docs := []dataset.Doc{{Path: "one.md"}, {Path: "two.md"}, {Path: "three.md"}}
	cfg.Brains = []dataset.Brain{{Name: "eval", Docs: docs, Questions: 5}}
	cfg.Warnings = []result.Warning{{Kind: "gold_shared", Message: "m", Count: 2, IDs: []string{}}}
	recorded := 0
	cfg.Recorded = func(result.Record) { recorded++ }
	res, path, err := cfg.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := readResult(t, path)
	want := result.Counts{Total: 4, Passed: 2, Scored: 3, Errors: 1, NoGold: 1}
	if f.Counts != want || recorded != 5 || f.Planned != 5 {
		t.Errorf("got %+v, %d recorded, want %+v", f.Counts, recorded, want)
	}
	if *res.PassRate != 0.5 || *res.MeanScore != 0.5 || f.Tags["b"].NoGold != 1 ||
		f.Tags["b"].Total != 0 {
		t.Errorf("pass rate %v, mean score %v, tag b %+v", *res.PassRate,
			*res.MeanScore, f.Tags["b"])
	}
	for _, c := range s.Calls() {
		if c.Body["query"] == "no gold" {
			t.Error("a question without gold was asked")
		}
	}
	if q := f.Questions[4]; q.Outcome != result.NoGold || q.Score != nil || q.Passed ||
		q.Attempts != 0 || q.Reason == "" {
		t.Errorf("got %+v", q)
	}
	if q := f.Questions[1]; *q.Score != 0.5 || q.Retrieval.Recall != 0.5 || q.GoldRank() != 2 ||
		q.Reason != "1 of 2 gold documents in the top 5" {
		t.Errorf("got %+v", q)
	}
	if q := f.Questions[3]; q.Outcome != result.Errored || q.Retrieval != nil || q.GoldRank() != 0 {
		t.Errorf("got %+v", q)
	}
	if r := f.Retrieval; r.Questions != 4 || r.NoGold != 1 || r.Errors != 1 ||
		r.Macro["recall@5"] != 0.375 || len(r.Warnings) != 1 || f.GoldMissed != 1 {
		t.Errorf("got %+v, %d missed", r, f.GoldMissed)
	}
}

func TestRunWithoutGoldHasNoRetrieval(t *testing.T) {
	const question = `{"id":"q1","question":"question 1","expected_substrings":["answer 1"]}`
	d := openDataset(t, filetest.Write(t, t.TempDir()+"/q.jsonl", question))
	path := setUp(t, daemontest.Answering(t), d, t.TempDir()).finish(t)
	if f := readResult(t, path); f.Retrieval != nil || f.Questions[0].Retrieval != nil {
		t.Errorf("got %+v", f.Retrieval)
	}
}

// pathsOf returns the paths of a brain whose documents have no text.
func pathsOf(paths ...string) *dataset.Paths {
	var docs []dataset.Doc
	for _, p := range paths {
		docs = append(docs, dataset.Doc{Path: p})
	}
	return dataset.PathsOf(docs)
}
