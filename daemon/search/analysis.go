package search

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// minShare is the number of documents that is worth a goroutine.
const minShare = 8

// analysis holds what one goroutine found in some of the documents.
type analysis struct {
	counter counter
	docs    []analysed
}

// analysed is a document that is ready to be added.
type analysed struct {
	*entry
	chunks []counted
}

// analyse splits documents between as many goroutines as are worth their cost. Of the n analyses
// that it returns, analysis w holds the documents w, w+n, w+2n and so on.
func (ix *Index) analyse(docs []document.Document) []analysis {
	n := min(runtime.GOMAXPROCS(0), (len(docs)+minShare-1)/minShare)
	analyses := make([]analysis, n)
	var wg sync.WaitGroup
	for w := range analyses {
		work := func() {
			a := &analyses[w]
			a.counter.numberer = newNumberer(&ix.vocabulary)
			for i := w; i < len(docs); i += n {
				a.add(docs[i], ix.chunkSize, ix.language)
			}
		}
		if n == 1 {
			work()
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
	return analyses
}

func (a *analysis) add(doc document.Document, chunkSize int, given language.Language) {
	d := analysed{entry: &entry{Document: doc}}
	if d.Language == language.None {
		d.Language = cmp.Or(given, language.Detect(doc.Title+"\n"+doc.Text))
	}
	for _, c := range document.Split(&d.Document, chunkSize) {
		d.chunks = append(d.chunks, a.counter.count(newChunk(d.entry, c)))
	}
	a.docs = append(a.docs, d)
}

// addTerms adds the new terms of an analysis to the vocabulary, and renumbers them in the chunks of
// the analysis where an earlier analysis has found the same terms. Called with mu held for writing.
func (ix *Index) addTerms(a analysis) {
	first := uint32(a.counter.first)
	numbers, moved := ix.learn(a.counter.numberer)
	if !moved {
		return
	}
	for _, doc := range a.docs {
		for _, ch := range doc.chunks {
			for i, t := range ch.words {
				if t >= first && t != noTerm {
					ch.words[i] = numbers[t-first]
				}
			}
			for i, t := range ch.terms {
				if t.term >= first {
					ch.terms[i].term = numbers[t.term-first]
				}
			}
		}
	}
}

// counted is a chunk with its terms, ready to be added.
type counted struct {
	chunk
	words []uint32    // of its sequence: term numbers, noTerm for function words
	terms []termCount // each once
}

type termCount struct {
	term   uint32
	counts tally
}

// counter counts the terms of chunks.
type counter struct {
	*numberer
	keys []uint64 // working memory: term number and field of each occurrence
}

func (c *counter) count(ch chunk) counted {
	words := make([]uint32, 0, len(ch.text)/5)
	c.keys = c.keys[:0]
	for field, text := range ch.fields() {
		before, last := len(words), len(words)
		for start, end := range language.Words(text) {
			t := c.number(ch.doc.Language, text[start:end])
			if t == noTerm && field != textField {
				continue
			}
			words = append(words, t)
			if t != noTerm {
				last = len(words)
				ch.lengths[field]++
				c.keys = append(c.keys, uint64(t)<<2|uint64(field))
			}
		}
		words = words[:max(before, last)]
	}
	return counted{chunk: ch, words: words, terms: c.distinct()}
}

// distinct returns the terms of keys, each once.
func (c *counter) distinct() []termCount {
	slices.Sort(c.keys)
	out := make([]termCount, 0, len(c.keys))
	for _, key := range c.keys {
		t := uint32(key >> 2)
		if len(out) == 0 || out[len(out)-1].term != t {
			out = append(out, termCount{term: t})
		}
		if n := &out[len(out)-1].counts[key&3]; *n < maxCount {
			*n++
		}
	}
	return out
}
