package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/stats"
)

// plain is BM25 as textbooks have it, with which the ranking is compared: whole documents, their
// text alone, and a query's word as often as it occurs (Robertson and Zaragoza, 2009, section 3.5,
// without k3). The words are those of the index, and documents that a question cannot know are left
// out of both rankings.
type plain struct {
	docs    []Document
	counts  []map[string]int
	lengths []float64
	average float64
	found   map[string]int // documents that contain a term
}

func newPlain(docs []Document) *plain {
	p := &plain{docs: docs, found: map[string]int{}}
	for _, d := range docs {
		_, text, _ := strings.Cut(d.Text, "\n") // without the title
		counts, length := map[string]int{}, 0
		for _, t := range indexTerms(text) {
			counts[t]++
			length++
		}
		for t := range counts {
			p.found[t]++
		}
		p.counts, p.lengths = append(p.counts, counts), append(p.lengths, float64(length))
		p.average += float64(length) / float64(len(docs))
	}
	return p
}

// search returns the paths of the ten best documents.
func (p *plain) search(q neutralQuestion, k1, b float64) []string {
	scores := make([]float64, len(p.docs))
	for _, t := range indexTerms(q.Question) {
		n, df := float64(len(p.docs)), float64(p.found[t])
		for i, counts := range p.counts {
			if tf := float64(counts[t]); tf > 0 {
				scores[i] += math.Log1p((n-df+.5)/(df+.5)) * tf / (tf + k1*(1-b+b*p.lengths[i]/p.average))
			}
		}
	}
	var order []int
	for i, score := range scores {
		if score > 0 && (&Filter{}).keep(&p.docs[i], q.AsOf) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(scores[j], scores[i]), cmp.Compare(p.docs[i].Path, p.docs[j].Path))
	})
	var paths []string
	for _, i := range order[:min(10, len(order))] {
		paths = append(paths, p.docs[i].Path)
	}
	return paths
}

// BenchmarkPlain compares the ranking with the better of two common settings of a plain BM25, as
// nDCG@10 says. It logs the figures of both, and the differences with their 95 % intervals over the
// questions (BCa, 10,000 resamples, seed 1).
func BenchmarkPlain(b *testing.B) {
	for _, tk := range tasks {
		b.Run(tk.name, func(b *testing.B) {
			docs, questions := tk.load(b)
			brains, plains := tk.index(docs, nil), map[string]*plain{}
			for name, docs := range tk.split(docs) {
				plains[name] = newPlain(docs)
			}
			ours := measured{}
			rivals := []measured{{name: "k1 0.9, b 0.4"}, {name: "k1 1.2, b 0.75"}}
			for b.Loop() {
				for _, q := range questions {
					brain := tk.brainOf(q.Expected[0])
					ours.add(tk.ranked(b, brains[brain], q), q)
					rivals[0].add(plains[brain].search(q, .9, .4), q)
					rivals[1].add(plains[brain].search(q, 1.2, .75), q)
				}
			}
			best := rivals[0]
			if mean(rivals[1].ndcg) > mean(best.ndcg) {
				best = rivals[1]
			}
			b.Logf("R@10 %s\nnDCG@10 %s\nplain: %s",
				versus(ours.recall, best.recall), versus(ours.ndcg, best.ndcg), best.name)
		})
	}
}

// measured has the figures of each question.
type measured struct {
	name         string
	recall, ndcg []float64
}

func (m *measured) add(ranked []string, q neutralQuestion) {
	m.recall = append(m.recall, recall(ranked, q.Expected, 10))
	m.ndcg = append(m.ndcg, ndcg(ranked, q.Expected, 10))
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func versus(ours, plain []float64) string {
	differences := make([]float64, len(ours))
	for i := range ours {
		differences[i] = ours[i] - plain[i]
	}
	lo, hi := stats.BCa(differences, 10_000, 1, .95)
	return fmt.Sprintf("%.3f, plain %.3f, difference %+.3f [%+.3f %+.3f]",
		mean(ours), mean(plain), mean(differences), lo, hi)
}
