package search

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/internal/sharedtest"
)

// task is one retrieval task, with the figures that it must reach.
type task struct {
	name    string
	dir     string
	brainOf func(path string) string // documents and questions of different brains never meet
	recall  float64                  // minimum recall@10; 0 for a task that TestQuality leaves out
	ndcg    float64                  // minimum nDCG@10
}

func oneBrain(string) string { return "" }

// conversation is the part of a LoCoMo path that names the conversation.
func conversation(path string) string {
	return strings.Split(strings.TrimPrefix(path, documentsFolder), "/")[1]
}

// documentsFolder is the folder of a brain that contains its documents.
const documentsFolder = "raw/documents/"

// The required figures are a little below the measured ones.
var tasks = []task{
	{name: "locomo-turn", dir: "locomo-turn", brainOf: oneBrain},
	{name: "locomo-turn-per-conversation", dir: "locomo-turn", brainOf: conversation, recall: .776, ndcg: .62},
	{name: "locomo-session-per-conversation", dir: "locomo-session", brainOf: conversation, recall: .947, ndcg: .846},
	{name: "lme-mixed-turn", dir: "lme-mixed-turn", brainOf: oneBrain, recall: .829, ndcg: .724},
	{name: "lme-evidence-turn", dir: "lme-evidence-turn", brainOf: oneBrain, recall: .915, ndcg: .836},
	{name: "cisi", dir: "cisi", brainOf: oneBrain, recall: .12, ndcg: .415},
	{name: "cranfield", dir: "cranfield", brainOf: oneBrain, recall: .45, ndcg: .423},
	{name: "core", dir: coreDir, brainOf: oneBrain, recall: .95, ndcg: .83},
}

// languageTasks are questions and paragraphs in several languages. No constant was chosen on them.
var languageTasks = []task{
	{name: "languages/en", dir: "../languages/en", brainOf: oneBrain, recall: .985, ndcg: .96},
	{name: "languages/de", dir: "../languages/de", brainOf: oneBrain, recall: .98, ndcg: .935},
	{name: "languages/ru", dir: "../languages/ru", brainOf: oneBrain, recall: .98, ndcg: .935},
	{name: "languages/th", dir: "../languages/th", brainOf: oneBrain, recall: .99, ndcg: .95},
	{name: "languages/ja", dir: "../languages/ja", brainOf: oneBrain, recall: .945, ndcg: .9},
}

// coreDir marks the task that is this project's own dataset. No constant was chosen on it.
const coreDir = "core"

// language returns that of a task, English for a task that is not named after one.
func (tk task) language() language.Language {
	return cmp.Or(language.Parse(filepath.Base(tk.dir)), language.English)
}

// quality averages over the questions that have expected paths. A document counts once, at the rank
// of its best chunk.
type quality struct {
	recall5, recall10, mrr10, ndcg10 float64
	hits10                           float64 // recall within the first 10 chunks, several of which may belong to one document
}

// ranked returns the documents of the ten best passages as a search by default shows them.
func (tk task) ranked(tb testing.TB, ix *Index, q neutralQuestion) []string {
	tb.Helper()
	res, err := NewSearcher(ix, Config{}).Search(tb.Context(), Query{
		Text: q.Question, AsOf: q.AsOf, TopK: 10, MaxPerDocument: 1, FillPlaces: true,
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

type neutralQuestion struct {
	Question string    `json:"question"`
	Expected []string  `json:"expected_paths"`
	AsOf     time.Time `json:"question_date"`
}

// readNeutral reads a file of retrieval tasks of other authors.
func readNeutral[T any](tb testing.TB, name string) []T {
	tb.Helper()
	return sharedtest.Lines[T](tb, sharedtest.Path(tb, "neutral/"+name))
}

// load reads the documents as evalctl writes them into a brain, and the questions that have
// expected paths.
func (tk task) load(tb testing.TB) ([]document.Document, []neutralQuestion) {
	if tk.dir == beamDir {
		return beam(tb)
	}
	docs, questions := tk.documents(tb), []neutralQuestion(nil)
	if tk.dir == coreDir {
		questions = sharedtest.Lines[neutralQuestion](tb, "../../datasets/core.jsonl")
	} else {
		questions = readNeutral[neutralQuestion](tb, tk.dir+"/questions.jsonl")
	}
	for _, q := range questions {
		for i := range q.Expected {
			q.Expected[i] = documentsFolder + q.Expected[i]
		}
	}
	return docs, slices.DeleteFunc(questions, func(q neutralQuestion) bool { return len(q.Expected) == 0 })
}

func (tk task) documents(tb testing.TB) []document.Document {
	if tk.dir == coreDir {
		return folder(tb, "../../datasets/core.corpus")
	}
	type line struct{ Path, Title, Text, Date string }
	var docs []document.Document
	for _, l := range readNeutral[line](tb, tk.dir+"/corpus.jsonl") {
		var b strings.Builder
		if l.Date != "" {
			fmt.Fprintf(&b, "---\ndate: %s\n---\n\n", l.Date)
		}
		fmt.Fprintf(&b, "# %s\n\n%s\n", strings.Join(strings.Fields(l.Title), " "), l.Text)
		doc, ok := document.Parse(documentsFolder+l.Path, b.String())
		if !ok {
			tb.Fatalf("%s is not indexed", l.Path)
		}
		docs = append(docs, doc)
	}
	return docs
}

// folder reads the documents in a folder.
func folder(tb testing.TB, root string) (docs []document.Document) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		doc, ok := document.Parse(documentsFolder+filepath.ToSlash(name), string(data))
		if !ok {
			tb.Errorf("%s is not indexed", path)
		}
		docs = append(docs, doc)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return docs
}

// split returns the documents of each brain.
func (tk task) split(docs []document.Document) map[string][]document.Document {
	byBrain := map[string][]document.Document{}
	for _, d := range docs {
		name := tk.brainOf(d.Path)
		byBrain[name] = append(byBrain[name], d)
	}
	return byBrain
}

func (tk task) index(docs []document.Document, opts *Options) map[string]*Index {
	brains := map[string]*Index{}
	for name, docs := range tk.split(docs) {
		brains[name] = New(opts)
		brains[name].Put(docs...)
	}
	return brains
}

func (tk task) measure(brains map[string]*Index, questions []neutralQuestion) quality {
	var sum quality
	for _, q := range questions {
		hits := brains[tk.brainOf(q.Expected[0])].SearchInstead(Query{Text: q.Question, AsOf: q.AsOf, TopK: 50}).Hits
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

// A change that reduces quality is detected here, on questions of other authors.
func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, tk := range slices.Concat(tasks, []task{beamTask}, languageTasks) {
		if tk.recall == 0 {
			continue
		}
		t.Run(tk.name, func(t *testing.T) {
			t.Parallel()
			docs, questions := tk.load(t)
			got := tk.measure(tk.index(docs, nil), questions)
			if got.recall10 < tk.recall || got.ndcg10 < tk.ndcg {
				t.Errorf("recall@10 is %.4f, want at least %.4f; nDCG@10 is %.4f, want at least %.4f", got.recall10, tk.recall, got.ndcg10, tk.ndcg)
			}
		})
	}
}

// everyNth returns every nth question, beginning with the given one.
func everyNth(questions []neutralQuestion, first, n int) []neutralQuestion {
	var some []neutralQuestion
	for i := first; i < len(questions); i += n {
		some = append(some, questions[i])
	}
	return some
}

// BenchmarkQuality reports the ranking quality on each task, over the questions with expected
// paths: R@5, R@10, MRR@10 and nDCG@10 by document, R@10hits, the recall within the first ten
// chunks, and R@10even and R@10odd, the recall of every second question. The time is that of one
// question.
func BenchmarkQuality(b *testing.B) {
	for _, tk := range slices.Concat(tasks, []task{beamTask}, languageTasks) {
		b.Run(tk.name, func(b *testing.B) {
			docs, questions := tk.load(b)
			brains := tk.index(docs, nil)
			q := tk.measure(brains, questions)
			even, odd := tk.measure(brains, everyNth(questions, 0, 2)), tk.measure(brains, everyNth(questions, 1, 2))
			next := 0
			for b.Loop() {
				question := questions[next%len(questions)]
				brains[tk.brainOf(question.Expected[0])].Search(Query{Text: question.Question, AsOf: question.AsOf})
				next++
			}
			b.ReportMetric(q.recall5, "R@5")
			b.ReportMetric(q.recall10, "R@10")
			b.ReportMetric(even.recall10, "R@10even")
			b.ReportMetric(odd.recall10, "R@10odd")
			b.ReportMetric(q.mrr10, "MRR@10")
			b.ReportMetric(q.ndcg10, "nDCG@10")
			b.ReportMetric(q.hits10, "R@10hits")
		})
	}
}
