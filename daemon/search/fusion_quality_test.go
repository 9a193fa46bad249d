package search

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/stats"
)

// servedEmbedder returns the embedder at $SVC_EMBED_BASE_URL, such as that of tools/embed. It keeps
// vectors in the file $EMBED_CACHE, so that a second measurement takes a minute instead of an hour.
func servedEmbedder(tb testing.TB) Embedder {
	tb.Helper()
	base := os.Getenv("SVC_EMBED_BASE_URL")
	if base == "" {
		tb.Skip("SVC_EMBED_BASE_URL is not set: docs/dev/ranking.md shows how to serve a model")
	}
	e, err := llm.OpenEmbedder(llm.EmbedConfig{
		Provider: llm.ProviderOpenAI, Model: cmp.Or(os.Getenv("SVC_EMBED_MODEL"), "all-MiniLM-L6-v2"),
		BaseURL: base, APIKey: os.Getenv("SVC_EMBED_API_KEY"),
	})
	if err != nil {
		tb.Fatal(err)
	}
	path := os.Getenv("EMBED_CACHE")
	if path == "" {
		return llm.NewEmbedCache(e)
	}
	cache, err := llm.OpenEmbedCache(e, path, 0, slog.Default())
	if err != nil {
		tb.Fatal(err)
	}
	return cache
}

// fusionSettings are rankings that BenchmarkFusion compares with the first.
var fusionSettings = []struct {
	name   string
	mode   Mode
	fusion Fusion
	weight float64
}{
	{"bm25", ModeBM25, "", 0},
	{"semantic", ModeSemantic, "", 0},
	{"rrf 0.2", ModeHybrid, FusionRRF, .2},
	{"rrf 1", ModeHybrid, FusionRRF, 1},
	{"0.1", ModeHybrid, FusionScore, .1},
	{"0.2", ModeHybrid, FusionScore, .2},
	{"0.3", ModeHybrid, FusionScore, .3},
	{"0.4", ModeHybrid, FusionScore, .4},
	{"0.5", ModeHybrid, FusionScore, .5},
	{"0.7", ModeHybrid, FusionScore, .7},
	{"1", ModeHybrid, FusionScore, 1},
}

// collectionOf is the collection of a task: tasks of one collection have the same texts.
func collectionOf(tk task) string {
	name, _, _ := strings.Cut(tk.dir, "-")
	return name
}

// BenchmarkFusion measures hybrids with the embedder of servedEmbedder: R@10 and nDCG@10 of each
// setting on each task, and its difference from bm25 in points of nDCG@10 with the 95 % interval
// over the questions (BCa, 10,000 resamples, seed 1), low and high. Then it leaves out one
// collection after the other, and logs the weight that is best on the others, see leftOut, and its
// difference on that one. The time of a setting means nothing.
func BenchmarkFusion(b *testing.B) {
	embedder := servedEmbedder(b)
	gains := map[string][][]gain{} // by collection and task, of each setting
	for _, tk := range tasks {
		docs, questions := tk.load(b)
		brains := tk.index(docs, nil)
		var base measured
		found := make([]gain, len(fusionSettings))
		for i, set := range fusionSettings {
			b.Run(tk.name+"/"+set.name, func(b *testing.B) {
				cfg := Config{Embedder: embedder, Fusion: set.fusion, FusionWeight: set.weight}
				var m measured
				for b.Loop() {
					m = measured{}
					for _, q := range questions {
						s := NewSearcher(brains[tk.brainOf(q.Expected[0])], cfg)
						m.add(rankedBy(b, s, q, set.mode), q)
					}
				}
				if i == 0 {
					base = m
				}
				b.ReportMetric(mean(m.recall), "R@10")
				b.ReportMetric(mean(m.ndcg), "nDCG@10")
				found[i] = reportGain(b, m.ndcg, base.ndcg)
			})
		}
		gains[collectionOf(tk)] = append(gains[collectionOf(tk)], found)
	}
	b.Run("left-out", func(b *testing.B) {
		for b.Loop() {
			b.Log(leftOut(gains))
		}
	})
}

// gain is a difference from bm25 in points of nDCG@10, and the lower end of its interval.
type gain struct{ points, low float64 }

// reportGain reports the difference from base, and returns it.
func reportGain(b *testing.B, ndcg, base []float64) gain {
	b.Helper()
	if len(base) != len(ndcg) {
		b.Fatal("bm25 was not measured: run it too, it is what the others are compared with")
	}
	difference := make([]float64, len(ndcg))
	for i := range difference {
		difference[i] = 100 * (ndcg[i] - base[i])
	}
	lo, hi := stats.BCa(difference, 10_000, 1, .95)
	b.ReportMetric(mean(difference), "points")
	b.ReportMetric(lo, "low")
	b.ReportMetric(hi, "high")
	return gain{mean(difference), lo}
}

// rankedBy returns the documents of the ten best passages, as a search by default shows them.
func rankedBy(tb testing.TB, s *Searcher, q neutralQuestion, mode Mode) []string {
	tb.Helper()
	res, err := s.Search(tb.Context(), Query{
		Text: q.Question, AsOf: q.AsOf, Mode: mode, TopK: 10, MaxPerDocument: 1, FillPlaces: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	var paths []string
	for _, h := range res.Hits {
		if !slices.Contains(paths, h.Path) {
			paths = append(paths, h.Path)
		}
	}
	return paths
}

// leftOut describes the choice of the weight of the fusion of scores by all collections but one: of
// the weights, the one whose lowest end of an interval, over the tasks, is highest. So it is the
// weight that is least likely to lose on any task. The mean gain would follow the few questions
// with large differences.
func leftOut(gains map[string][][]gain) string {
	var lines []string
	for _, left := range slices.Sorted(maps.Keys(gains)) {
		chosen, highest := 0, math.Inf(-1)
		for i, set := range fusionSettings {
			lowest := math.Inf(1)
			for collection, of := range gains {
				for _, found := range of {
					if collection != left {
						lowest = min(lowest, found[i].low)
					}
				}
			}
			if set.fusion == FusionScore && lowest > highest {
				chosen, highest = i, lowest
			}
		}
		var on []float64
		for _, found := range gains[left] {
			on = append(on, found[chosen].points)
		}
		lines = append(lines, fmt.Sprintf("without %s: weight %s, lowest end %+.1f, %+.1f points on %s",
			left, fusionSettings[chosen].name, highest, mean(on), left))
	}
	return strings.Join(lines, "\n")
}
