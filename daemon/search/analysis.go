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

// analysis holds the findings of one goroutine in some of the documents.
type analysis struct {
	counter counter
	docs    []analysedDocument
}

// analysedDocument is a document that is ready to be added.
type analysedDocument struct {
	*entry
	chunks []countedChunk
}

// analyse splits documents between as many goroutines as pay off. Of the n analyses that it
// returns, analysis w holds the documents w, w+n, w+2n and so on.
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
	d := analysedDocument{entry: &entry{Document: doc}}
	if d.Language == language.None {
		d.Language = cmp.Or(given, language.Detect(doc.Title+"\n"+document.Prose(doc.Text)))
	}
	for _, c := range document.Split(&d.Document, chunkSize) {
		d.chunks = append(d.chunks, a.counter.count(newChunk(d.entry, c)))
	}
	a.docs = append(a.docs, d)
}

// addTerms adds the new terms of an analysis to the vocabulary. Terms that an earlier analysis has
// found are renumbered in the chunks of this one. Called with mu held for writing.
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

// countedChunk is a chunk with its terms, ready to be added.
type countedChunk struct {
	chunk
	words []uint32    // of its sequence: term numbers, noTerm for function words
	terms []termCount // each once
}

type termCount struct {
	term   uint32
	counts tally
}

// counter counts the terms of chunks. Its fields are working memory.
type counter struct {
	*numberer
	keys  []uint64            // term number and field of each occurrence
	names map[string]struct{} // of a field: those with parts, as they are written
}

// count counts the terms of a chunk. In code, and in prose that contains code, parts of names are
// ordinary words. In other prose they are terms of their own, see partOf.
//
// A name that a field repeats counts as often as it is there, but its parts count once: where prose
// goes on with "it", code has to repeat the name.
func (c *counter) count(ch chunk) countedChunk {
	partsAreWords := ch.doc.Language == language.Code || language.NamesCode(ch.text)
	words := make([]uint32, 0, len(ch.text)/5)
	c.keys = c.keys[:0]
	for field, text := range ch.fields() {
		before, last, whole := len(words), len(words), 0
		name, repeated := 0, false // where the last name starts, and whether it was there before
		clear(c.names)
		for start, end := range language.Words(text) {
			letter := language.Share(text[start:end]) == 0
			part := end <= whole && !letter
			switch {
			case !part:
				name = start
			case start == name: // the first part
				repeated = c.repeats(text[name:whole])
			}
			if part && repeated {
				continue
			}
			t := c.number(ch.doc.Language, text[start:end])
			if part && !partsAreWords {
				t = c.intern(partOf(ch.doc.Language.Term(text[start:end])))
			}
			whole = max(whole, end)
			if t == noTerm && field != textField {
				continue
			}
			words = append(words, t)
			if t != noTerm {
				last = len(words)
				ch.lengths[field]++
				if !part && !letter && field == textField {
					ch.length++
				}
				c.keys = append(c.keys, uint64(t)<<2|uint64(field))
			}
		}
		words = words[:max(before, last)]
	}
	return countedChunk{chunk: ch, words: words, terms: c.distinct()}
}

// repeats reports whether the field has had a name before.
func (c *counter) repeats(name string) bool {
	if c.names == nil {
		c.names = map[string]struct{}{}
	}
	before := len(c.names)
	c.names[name] = struct{}{}
	return len(c.names) == before
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
