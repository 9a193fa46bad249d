package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// sameText returns the Paths of a brain whose documents all have the same text.
func sameText(text string, paths ...string) *dataset.Paths {
	known := dataset.NewPaths()
	for _, p := range paths {
		known.Add(p, []byte("# Title\n\n"+text+"\n"))
	}
	return known
}

func TestRetrievalOfDuplicates(t *testing.T) {
	same := sameText("same", "a.md", "b.md", "c.md", "x.md", "y.md")
	same.Add("other.md", []byte("another text"))
	chunk := func(score float64, path string, duplicates ...string) result.Chunk {
		return result.Chunk{Path: path, Score: score, Text: "same", Duplicates: duplicates}
	}
	for _, c := range []struct {
		name      string
		gold      []string
		chunks    []result.Chunk
		topK      int
		known     *dataset.Paths
		ranks     []int
		documents int
	}{
		{"gold among the duplicates", []string{"a.md"},
			[]result.Chunk{chunk(2, "x.md", "y.md", "a.md")}, 1, same, []int{1}, 1},
		{"no gold takes one place", []string{"c.md"},
			[]result.Chunk{chunk(3, "x.md", "y.md", "a.md"), chunk(2, "b.md"), chunk(1, "c.md")},
			3, same, []int{3}, 3},
		{"each gold takes a place, by path", []string{"c.md", "b.md", "a.md"},
			[]result.Chunk{chunk(3, "b.md", "c.md", "x.md", "a.md"), chunk(2, "y.md")}, 2,
			same, []int{0, 2, 1}, 2},
		{"also without scores", []string{"c.md", "b.md", "a.md"},
			[]result.Chunk{chunk(0, "y.md"), chunk(0, "c.md", "b.md", "a.md")}, 2,
			same, []int{0, 0, 2}, 2},
		{"the next chunk moves down", []string{"a.md", "b.md", "c.md"},
			[]result.Chunk{chunk(3, "x.md", "b.md", "a.md"), chunk(2, "y.md"), chunk(1, "c.md")}, 4,
			same, []int{1, 2, 4}, 4},
		{"a document once, at its first place", []string{"a.md"},
			[]result.Chunk{chunk(3, "x.md", "a.md"), chunk(2, "a.md", "a.md"), chunk(1, "x.md")},
			3, same, []int{1}, 2},
		{"chunks below top-k never count", []string{"a.md", "b.md"},
			[]result.Chunk{chunk(3, "a.md"), chunk(2, "x.md", "b.md")}, 1, same, []int{1, 0}, 1},
		{"under folders of the daemon", []string{"raw/documents/a.md"},
			[]result.Chunk{chunk(1, "srv/x.md", "srv/a.md")}, 1, same, []int{1}, 1},
		{"a document without the text", []string{"other.md"},
			[]result.Chunk{chunk(1, "x.md", "other.md")}, 1, same, []int{0}, 1},
		{"a chunk without text", []string{"a.md"},
			[]result.Chunk{{Path: "x.md", Duplicates: []string{"a.md"}}}, 1, same, []int{0}, 1},
		{"the chunk's own document is not checked", []string{"other.md"},
			[]result.Chunk{chunk(1, "other.md")}, 1, same, []int{1}, 1},
		{"ids of chunks are not documents", []string{"a.md"},
			[]result.Chunk{chunk(1, "x.md", "a.md#0")}, 1, same, []int{0}, 1},
		{"unknown documents are not checked", []string{"other.md"},
			[]result.Chunk{chunk(1, "x.md", "raw/documents/other.md")}, 1, nil, []int{1}, 1},
	} {
		checkRanks(t, c.name, rankingOf(result.Gold(c.gold, nil), c.chunks, c.topK, c.known), c.ranks, c.documents)
	}
}

// TestDuplicatesOnlyAdd checks that duplicates lower no metric, that only documents of the first
// top-k chunks are found, and that no two documents have the same rank.
func TestDuplicatesOnlyAdd(t *testing.T) {
	paths := []string{"a.md", "b.md", "c.md", "d.md", "e.md", "f.md"}
	known := sameText("same", paths...)
	rapid.Check(t, func(t *rapid.T) {
		gold := result.Gold(rapid.SliceOfN(rapid.SampledFrom(paths), 1, 4).Draw(t, "gold"), nil)
		topK := rapid.IntRange(1, 6).Draw(t, "top-k")
		var chunks, silent []result.Chunk
		named := map[string]bool{}
		for i := range rapid.IntRange(0, 6).Draw(t, "chunks") {
			// All scores differ, because the order of ties depends on paths, which duplicates
			// change.
			path := rapid.SampledFrom(paths).Draw(t, "path")
			c := result.Chunk{Path: path, Score: float64(9 - i), Text: "same"}
			silent = append(silent, c)
			c.Duplicates = rapid.SliceOfN(rapid.SampledFrom(paths), 0, 3).Draw(t, "duplicates")
			chunks = append(chunks, c)
			for _, p := range append(c.Duplicates, c.Path) {
				named[p] = named[p] || i < topK
			}
		}
		with := rankingOf(gold, chunks, topK, known)
		without := rankingOf(gold, silent, topK, known)
		places := map[int]bool{}
		for _, g := range with.Gold {
			if g.Rank > 0 && (!named[g.Path] || places[g.Rank] ||
				g.Rank > with.Documents || g.Rank > topK) {
				t.Errorf("%s has rank %d of %d: %+v", g.Path, g.Rank, with.Documents, chunks)
			}
			places[g.Rank] = true
		}
		before := metricsOf(without, topK)
		for name, now := range metricsOf(with, topK) {
			if now < before[name]-1e-9 {
				t.Errorf("%s falls from %v to %v", name, before[name], now)
			}
		}
	})
}

// TestTwinsChangeNothing checks that a brain in which every document has a twin with the same text,
// of which the twins are gold, has the same metrics as one without twins.
func TestTwinsChangeNothing(t *testing.T) {
	var reply atomic.Pointer[[]byte]
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		_, _ = w.Write(*reply.Load())
	})
	asks := targetOf(t, s)
	asks.Scenario = result.SearchOnly
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "ranking")
		topK := rapid.IntRange(1, len(docs)).Draw(t, "top-k")
		known, score := dataset.NewPaths(), 9
		var plain, twins []map[string]any
		for _, d := range docs {
			path, text := fmt.Sprintf("d%d.md", d), fmt.Sprintf("text %d", d)
			score -= rapid.IntRange(0, 1).Draw(t, "step")
			plain = append(plain, map[string]any{"path": path, "score": score, "text": text})
			shown, hidden := path, path+"-twin"
			known.Add(shown, []byte(text))
			known.Add(hidden, []byte(text))
			if rapid.Bool().Draw(t, "twin is shown") {
				shown, hidden = hidden, shown
			}
			duplicate := rapid.SampledFrom([]any{
				hidden,
				map[string]any{"path": hidden, "document_id": "9"},
				map[string]any{"documentId": hidden},
			}).Draw(t, "form")
			twins = append(twins, map[string]any{
				"path": shown, "score": score, "text": text, "duplicates": []any{duplicate},
			})
		}
		wanted := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 1, 4, rapid.ID).Draw(t, "gold")
		retrieval := func(chunks []map[string]any, suffix string) *result.QuestionRetrieval {
			body, err := json.Marshal(map[string]any{"chunks": chunks})
			if err != nil {
				t.Fatal(err)
			}
			reply.Store(&body)
			a, err := asks.Ask(t.Context(), dataset.Question{Question: "q"}, questionTime)
			if err != nil {
				t.Fatal(err)
			}
			var gold []string
			for _, d := range wanted {
				gold = append(gold, fmt.Sprintf("d%d.md%s", d, suffix))
			}
			r := rankingOf(result.Gold(gold, nil), a.Retrieved, topK, known)
			for i := range r.Gold {
				r.Gold[i].Path = gold[i][:len("d0.md")]
			}
			return r
		}
		want, got := retrieval(plain, ""), retrieval(twins, "-twin")
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Errorf("(-without twins +with):\n%s", diff)
		}
	})
}

// metricsOf returns the metrics of a run of one question.
func metricsOf(r *result.QuestionRetrieval, topK int) result.Metrics {
	sum := aggregate.New(topK)
	var expected []string
	for _, g := range r.Gold {
		expected = append(expected, g.Path)
	}
	sum.Add(result.Record{Outcome: result.Scored, ExpectedPaths: expected, Reply: result.Reply{Retrieval: r}})
	var res result.Result
	sum.Fill(&res)
	sum.Judge(&res)
	return res.Retrieval.Macro
}
