package harness

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// Documents says to which documents of the corpus retrieved passages belong. Its methods may be
// called concurrently.
type Documents interface {
	// Documents returns the documents of a passage, as dataset.Paths does.
	Documents(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string
	// Date returns the date that the document of a passage has in the corpus when the question is
	// asked, empty if it is not known.
	Date(q dataset.Question, c result.Chunk) string
	// ByText returns for how many passages the text decided.
	ByText() int
}

// Corpus is the Documents of a dataset: those of the corpus, and those that operations write.
type Corpus struct {
	dataset dataset.Dataset
	docs    map[string][]dataset.Doc  // of the corpus, by brain
	paths   map[string]*dataset.Paths // at any time, by brain
	texts   map[string]func() []plainDoc
	byText  atomic.Int64
}

// plainDoc is a document as words.
type plainDoc struct{ path, words string }

// NewCorpus returns the documents of brains. If byText is set, passages whose document the service
// does not name are found by their text.
func NewCorpus(d dataset.Dataset, brains []dataset.Brain, byText bool) *Corpus {
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
		plain[i] = plainDoc{d.Path, wordsOf(string(d.Data))}
	}
	return plain
}

// textOf returns the documents to which a passage belongs by its text: those that contain its words
// one after the other, and those whose words it contains, if it has some. There are none if the
// service names its document.
func (k *Corpus) textOf(q dataset.Question, c result.Chunk) []string {
	known, texts := k.paths[q.Brain], k.texts[q.Brain]
	if texts == nil || known.Has(known.Name(c.Path)) || known.Has(known.Name(c.DocumentID)) {
		return nil
	}
	return containing(texts(), wordsOf(c.Text))
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

// Date implements Documents. It is the last one of the documents to which a passage belongs by its
// text.
func (k *Corpus) Date(q dataset.Question, c result.Chunk) string {
	known := k.paths[q.Brain]
	for _, name := range []string{c.Path, c.DocumentID} {
		if path := known.Name(name); known.Has(path) {
			return k.dateAt(q, path)
		}
	}
	last := ""
	for _, path := range k.textOf(q, c) {
		last = max(last, k.dateAt(q, path))
	}
	return last
}

// dateAt returns the date of a document when a question is asked, or before it was deleted.
func (k *Corpus) dateAt(q dataset.Question, path string) string {
	data, ok := k.dataset.DocumentAt(q, k.docs[q.Brain], path)
	if !ok {
		data = k.paths[q.Brain].Data(path)
	}
	return dataset.Doc{Data: data}.Date()
}

// ByText implements Documents.
func (k *Corpus) ByText() int { return int(k.byText.Load()) }

// fewestWords is how many words a passage needs to say by itself where it is from.
const fewestWords = 3

// containing returns the paths of the documents to which words belong by themselves.
func containing(docs []plainDoc, words string) (paths []string) {
	if strings.Count(words, " ") <= fewestWords {
		return nil
	}
	for _, d := range docs {
		whole := strings.Count(d.words, " ") > fewestWords && strings.Contains(words, d.words)
		if (whole || strings.Contains(d.words, words)) && !slices.Contains(paths, d.path) {
			paths = append(paths, d.path)
		}
	}
	return paths
}

// wordsOf returns the words of a text in lower case, each between spaces.
func wordsOf(text string) string {
	return " " + strings.Join(strings.FieldsFunc(visible.Folded(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " ") + " "
}
