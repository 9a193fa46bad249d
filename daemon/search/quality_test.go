package search

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// neutralData holds retrieval tasks written by others; it is not part of the
// project and may be absent.
const neutralData = "../../../shared/data/neutral"

// task is one retrieval task as it is measured.
type task struct {
	name    string
	dir     string
	brainOf func(path string) string // documents and questions of different brains never meet
	minimum float64                  // of recall@10 in TestQuality, slightly under what was measured
}

func oneBrain(string) string { return "" }

// conversation is the part of a LoCoMo path that names the conversation.
func conversation(path string) string {
	return strings.Split(strings.TrimPrefix(path, documentsFolder), "/")[1]
}

// documentsFolder is where a brain keeps documents.
const documentsFolder = "raw/documents/"

var tasks = []task{
	{name: "locomo-turn", dir: "locomo-turn", brainOf: oneBrain},
	{name: "locomo-turn-per-conversation", dir: "locomo-turn", brainOf: conversation},
	{name: "locomo-session-per-conversation", dir: "locomo-session", brainOf: conversation, minimum: .940},
	{name: "lme-mixed-turn", dir: "lme-mixed-turn", brainOf: oneBrain},
	{name: "lme-evidence-turn", dir: "lme-evidence-turn", brainOf: oneBrain},
	{name: "cranfield", dir: "cranfield", brainOf: oneBrain, minimum: .394},
}

// quality averages over the questions that have expected paths. A document
// counts once, at the rank of its best chunk.
type quality struct {
	recall5, recall10, mrr10, ndcg10 float64
	hits10                           float64 // recall within the first 10 chunks, several of which may be of one document
}

type neutralQuestion struct {
	Question string    `json:"question"`
	Expected []string  `json:"expected_paths"`
	AskedAt  time.Time `json:"question_date"`
}

func readNeutral[T any](tb testing.TB, name string) []T {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(neutralData, name))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("no retrieval tasks at %s", neutralData)
	}
	if err != nil {
		tb.Fatal(err)
	}
	var out []T
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		out = append(out, v)
	}
	return out
}

// load reads the documents as evalctl writes them into a brain, and the questions
// that have expected paths.
func (tk task) load(tb testing.TB) ([]Document, []neutralQuestion) {
	type line struct{ Path, Title, Text, Date string }
	var docs []Document
	for _, l := range readNeutral[line](tb, tk.dir+"/corpus.jsonl") {
		var b strings.Builder
		if l.Date != "" {
			fmt.Fprintf(&b, "---\ndate: %s\n---\n\n", l.Date)
		}
		fmt.Fprintf(&b, "# %s\n\n%s\n", oneLine(l.Title), l.Text)
		doc, ok := Parse(documentsFolder+l.Path, []byte(b.String()))
		if !ok {
			tb.Fatalf("%s is not indexed", l.Path)
		}
		docs = append(docs, doc)
	}
	questions := readNeutral[neutralQuestion](tb, tk.dir+"/questions.jsonl")
	for _, q := range questions {
		for i := range q.Expected {
			q.Expected[i] = documentsFolder + q.Expected[i]
		}
	}
	return docs, slices.DeleteFunc(questions, func(q neutralQuestion) bool { return len(q.Expected) == 0 })
}

func (tk task) index(docs []Document) map[string]*Index {
	brains := map[string]*Index{}
	for _, d := range docs {
		name := tk.brainOf(d.Path)
		if brains[name] == nil {
			brains[name] = New(nil)
		}
		brains[name].Put(d)
	}
	return brains
}

func (tk task) measure(brains map[string]*Index, questions []neutralQuestion) quality {
	var sum quality
	for _, q := range questions {
		hits := brains[tk.brainOf(q.Expected[0])].Search(Query{Text: q.Question, AskedAt: q.AskedAt, TopK: 50}).Hits
		var first10, ranked []string
		for i, h := range hits {
			if i < 10 {
				first10 = append(first10, h.Path)
			}
			if !slices.Contains(ranked, h.Path) {
				ranked = append(ranked, h.Path)
			}
		}
		sum.recall5 += recall(ranked, q.Expected, 5)
		sum.recall10 += recall(ranked, q.Expected, 10)
		sum.hits10 += recall(first10, q.Expected, 10)
		sum.mrr10 += reciprocalRank(ranked, q.Expected, 10)
		sum.ndcg10 += ndcg(ranked, q.Expected, 10)
	}
	n := float64(len(questions))
	return quality{sum.recall5 / n, sum.recall10 / n, sum.mrr10 / n, sum.ndcg10 / n, sum.hits10 / n}
}

func recall(ranked, expected []string, k int) float64 {
	found := 0
	for _, e := range expected {
		if slices.Contains(ranked[:min(k, len(ranked))], e) {
			found++
		}
	}
	return float64(found) / float64(len(expected))
}

func reciprocalRank(ranked, expected []string, k int) float64 {
	for i, p := range ranked[:min(k, len(ranked))] {
		if slices.Contains(expected, p) {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func ndcg(ranked, expected []string, k int) float64 {
	var got, ideal float64
	for i, p := range ranked[:min(k, len(ranked))] {
		if slices.Contains(expected, p) {
			got += 1 / math.Log2(float64(i+2))
		}
	}
	for i := range min(k, len(expected)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	return got / ideal
}

// A change that costs recall on long notes or on abstracts shows here; the
// other tasks are in BenchmarkQuality.
func TestQuality(t *testing.T) {
	for _, tk := range tasks {
		if tk.minimum == 0 {
			continue
		}
		t.Run(tk.name, func(t *testing.T) {
			docs, questions := tk.load(t)
			if got := tk.measure(tk.index(docs), questions).recall10; got < tk.minimum {
				t.Errorf("recall@10 is %.4f, want at least %.4f", got, tk.minimum)
			}
		})
	}
}

// BenchmarkQuality reports ranking quality on each task, over the questions
// with expected paths: R@5, R@10, MRR@10 and nDCG@10 by document, and R@10hits,
// the recall within the first ten chunks. The time is that of one question.
func BenchmarkQuality(b *testing.B) {
	for _, tk := range tasks {
		b.Run(tk.name, func(b *testing.B) {
			docs, questions := tk.load(b)
			brains := tk.index(docs)
			q := tk.measure(brains, questions)
			next := 0
			for b.Loop() {
				question := questions[next%len(questions)]
				brains[tk.brainOf(question.Expected[0])].Search(Query{Text: question.Question, AskedAt: question.AskedAt})
				next++
			}
			b.ReportMetric(q.recall5, "R@5")
			b.ReportMetric(q.recall10, "R@10")
			b.ReportMetric(q.mrr10, "MRR@10")
			b.ReportMetric(q.ndcg10, "nDCG@10")
			b.ReportMetric(q.hits10, "R@10hits")
		})
	}
}
