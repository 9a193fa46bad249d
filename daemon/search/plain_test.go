package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/plaintest"
	"evalctl/internal/stats"
)

// plain is a plain BM25 of the same documents, with the words of the index. Documents that a
// question cannot know are left out of both rankings.
type plain struct {
	bm25 *plaintest.BM25
	docs map[string]*document.Document
}

func newPlain(docs []document.Document, l language.Language) plain {
	p, texts := plain{docs: map[string]*document.Document{}}, make([]plaintest.Document, len(docs))
	for i := range docs {
		_, text, _ := strings.Cut(docs[i].Text, "\n") // without the title
		texts[i] = plaintest.Document{Path: docs[i].Path, Text: text}
		p.docs[docs[i].Path] = &docs[i]
	}
	p.bm25 = plaintest.New(texts, l.Terms)
	return p
}

// search returns the paths of the ten best documents.
func (p plain) search(q neutralQuestion, k1, b float64) []string {
	return p.bm25.Rank(q.Question, k1, b, 10, func(path string) bool {
		return (&Filter{}).keep(p.docs[path], q.AsOf)
	})
}

// BenchmarkPlain compares the ranking with a plain BM25 in two common settings, of which the
// documentation has the one with the better nDCG@10. It logs the figures of both, and the
// differences with their 95 % intervals over the questions (BCa, 10,000 resamples, seed 1).
func BenchmarkPlain(b *testing.B) {
	for _, tk := range slices.Concat(tasks, languageTasks) {
		b.Run(tk.name, func(b *testing.B) {
			docs, questions := tk.load(b)
			brains, plains := tk.index(docs, nil), map[string]plain{}
			for name, docs := range tk.split(docs) {
				plains[name] = newPlain(docs, tk.language())
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
			for _, r := range rivals {
				b.Logf("plain, %s: R@10 %s; nDCG@10 %s", r.name, versus(ours.recall, r.recall), versus(ours.ndcg, r.ndcg))
			}
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
