package search

import (
	"testing"

	"evalctl/internal/llm"
)

// searchers returns a searcher for each brain.
func searchers(tb testing.TB, brains map[string]*Index, e Embedder) map[string]*Searcher {
	tb.Helper()
	out := map[string]*Searcher{}
	for name, ix := range brains {
		out[name] = NewSearcher(ix, Config{Embedder: e})
		if err := out[name].Prepare(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// measureMode returns recall@10 and nDCG@10 over documents.
func (tk task) measureMode(tb testing.TB, brains map[string]*Searcher, questions []neutralQuestion, mode Mode) (recall10, ndcg10 float64) {
	tb.Helper()
	for _, q := range questions {
		res, err := brains[tk.brainOf(q.Expected[0])].Search(tb.Context(), Query{Text: q.Question, AsOf: q.AsOf, TopK: 50, Mode: mode})
		if err != nil {
			tb.Fatal(err)
		}
		var ranked []string
		seen := map[string]bool{}
		for _, h := range res.Hits {
			if !seen[h.Path] {
				seen[h.Path] = true
				ranked = append(ranked, h.Path)
			}
		}
		recall10 += recall(ranked, q.Expected, 10)
		ndcg10 += ndcg(ranked, q.Expected, 10)
	}
	n := float64(len(questions))
	return recall10 / n, ndcg10 / n
}

// Hybrid search with the offline embedder is never worse than search by words alone.
func TestHybridQuality(t *testing.T) {
	for _, tk := range tasks {
		if tk.dir != "locomo-session" && tk.dir != "lme-evidence-turn" {
			continue // BenchmarkModes covers all tasks
		}
		t.Run(tk.name, func(t *testing.T) {
			docs, questions := tk.load(t)
			questions = questions[:min(100, len(questions))]
			brains := searchers(t, tk.index(docs, nil), llm.NewFakeEmbedder())
			wantRecall, wantNDCG := tk.measureMode(t, brains, questions, ModeBM25)
			gotRecall, gotNDCG := tk.measureMode(t, brains, questions, ModeHybrid)
			if gotRecall < wantRecall || gotNDCG < wantNDCG {
				t.Errorf("recall@10 %.4f and nDCG@10 %.4f, by words alone %.4f and %.4f", gotRecall, gotNDCG, wantRecall, wantNDCG)
			}
		})
	}
}

// BenchmarkModes reports recall@10 and nDCG@10 of each mode with the offline embedder on each task:
// hybrid as it is, and with the default weight of other embedders (default). The time is that of
// one question.
func BenchmarkModes(b *testing.B) {
	for _, tk := range tasks {
		docs, questions := tk.load(b)
		brains := tk.index(docs, nil)
		weighed := searchers(b, brains, llm.NewFakeEmbedder())
		byDefault := searchers(b, brains, struct{ Embedder }{llm.NewFakeEmbedder()})
		for _, bb := range []struct {
			name   string
			mode   Mode
			brains map[string]*Searcher
		}{
			{"bm25", ModeBM25, weighed},
			{"semantic", ModeSemantic, weighed},
			{"hybrid", ModeHybrid, weighed},
			{"default", ModeHybrid, byDefault},
		} {
			b.Run(tk.name+"/"+bb.name, func(b *testing.B) {
				recall10, ndcg10 := tk.measureMode(b, bb.brains, questions, bb.mode)
				next := 0
				for b.Loop() {
					tk.measureMode(b, bb.brains, questions[next%len(questions):][:1], bb.mode)
					next++
				}
				b.ReportMetric(recall10, "R@10")
				b.ReportMetric(ndcg10, "nDCG@10")
			})
		}
	}
}
