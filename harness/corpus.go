package harness

import (
	"slices"
	"sync"
	"sync/atomic"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// Documents assigns retrieved passages to documents of the corpus. Implementations must be safe for
// concurrent use.
type Documents interface {
	// Documents returns the documents of a passage, as dataset.Paths does.
	Documents(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string
	// Date returns the date of a passage's document in the corpus at the time of the question,
	// empty if unknown.
	Date(q dataset.Question, c result.Chunk) string
	// ByText returns the number of passages that were assigned by their text.
	ByText() int
}

// Corpus is the Documents of a dataset, including documents written by operations.
type Corpus struct {
	dataset dataset.Dataset
	docs    map[string][]dataset.Doc  // of the corpus, by brain
	paths   map[string]*dataset.Paths // at any time, by brain
	texts   map[string]func() []plainDoc
	byText  atomic.Int64
}

// plainDoc is a document reduced to words.
type plainDoc struct {
	path  string
	words scorer.Words
}

// newCorpus returns the documents of brains. If byText is set, passages without a document name are
// assigned by their text.
func newCorpus(d dataset.Dataset, brains []dataset.Brain, byText bool) *Corpus {
	k := &Corpus{
		dataset: d, docs: map[string][]dataset.Doc{}, paths: map[string]*dataset.Paths{},
		texts: map[string]func() []plainDoc{},
	}
	for _, b := range brains {
		k.docs[b.Name] = b.Docs
		versions := d.Versions(b.Name, b.Docs)
		k.paths[b.Name] = dataset.PathsOf(versions)
		if byText && versions != nil {
			k.texts[b.Name] = sync.OnceValue(func() []plainDoc { return plainDocs(versions) })
		}
	}
	return k
}

func plainDocs(docs []dataset.Doc) []plainDoc {
	plain := make([]plainDoc, len(docs))
	for i, d := range docs {
		plain[i] = plainDoc{d.Path, scorer.WordsOf(string(d.Data))}
	}
	return plain
}

// textOf assigns a passage to documents by its text: those that contain all its words in sequence,
// and those that it contains entirely. It returns none if the service names the document.
func (k *Corpus) textOf(q dataset.Question, c result.Chunk) []string {
	known, texts := k.paths[q.Brain], k.texts[q.Brain]
	if texts == nil || known.Has(known.Name(c.Path)) || known.Has(known.Name(c.DocumentID)) {
		return nil
	}
	return containing(texts(), scorer.WordsOf(c.Text))
}

// Documents implements Documents.
func (k *Corpus) Documents(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string {
	known, own := k.paths[q.Brain], k.textOf(q, c)
	if len(own) == 0 {
		return known.Documents(c, gold)
	}
	k.byText.Add(1)
	var golden []string
	for _, g := range gold {
		if slices.Contains(own, known.Gold(g.Path)) {
			golden = append(golden, g.Path)
		}
	}
	if len(golden) > 0 {
		slices.Sort(golden)
		return golden
	}
	return own[:1]
}

// Date implements Documents. If a passage is assigned by text, it is the latest of its documents'
// dates that a check can read.
func (k *Corpus) Date(q dataset.Question, c result.Chunk) string {
	known := k.paths[q.Brain]
	for _, name := range []string{c.Path, c.DocumentID} {
		if path := known.Name(name); known.Has(path) {
			return k.dateAt(q, path)
		}
	}
	last, lastDay := "", ""
	for _, path := range k.textOf(q, c) {
		date := k.dateAt(q, path)
		if day, _ := scorer.Day(date); day > lastDay || last == "" {
			last, lastDay = date, day
		}
	}
	return last
}

// dateAt returns the date of a document at the time of a question, or before its deletion.
func (k *Corpus) dateAt(q dataset.Question, path string) string {
	data, ok := k.dataset.DocumentAt(q, k.docs[q.Brain], path)
	if !ok {
		data = k.paths[q.Brain].Data(path)
	}
	return dataset.Doc{Data: data}.Date()
}

// ByText implements Documents.
func (k *Corpus) ByText() int { return int(k.byText.Load()) }

// containing returns the paths of the documents that contain words in sequence, or are contained in
// them.
func containing(docs []plainDoc, words scorer.Words) (paths []string) {
	if !words.Identify() {
		return nil
	}
	for _, d := range docs {
		whole := d.words.Identify() && words.Quote(d.words)
		if (whole || d.words.Quote(words)) && !slices.Contains(paths, d.path) {
			paths = append(paths, d.path)
		}
	}
	return paths
}
