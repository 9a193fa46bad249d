package search

import (
	"maps"
	"strings"
)

// maxWords bounds the words whose terms are remembered.
const maxWords = 1 << 17

// maxSurroundings bounds what is indexed with a chunk besides its text, in
// code points, so that a long title does not weigh on every chunk of a document.
const maxSurroundings = 1000

// counted is a chunk with its terms, ready to be added.
type counted struct {
	chunk
	length uint32 // number of terms
	terms  []termCount
}

type termCount struct {
	term string
	tf   uint32
}

// counter counts the terms of chunks. It is for one writer at a time and
// reads the words of the index, which only a writer changes.
type counter struct {
	known map[string]string // the index's words
	fresh map[string]string // words met for the first time
	tf    map[string]uint32 // counts of the chunk at hand
}

func (ix *Index) counter() *counter {
	return &counter{known: ix.words, fresh: map[string]string{}, tf: map[string]uint32{}}
}

// count gives the terms of a chunk: those of its text and its surroundings, each
// occurrence counting once.
func (c *counter) count(ch chunk) counted {
	clear(c.tf)
	out := counted{chunk: ch}
	for _, field := range []string{ch.text, surroundings(ch.doc, ch.headings)} {
		for start, end := nextWord(field, 0); end > start; start, end = nextWord(field, end) {
			if t := c.term(field[start:end]); t != "" {
				c.tf[t]++
				out.length++
			}
		}
	}
	out.terms = make([]termCount, 0, len(c.tf))
	for t, tf := range c.tf {
		out.terms = append(out.terms, termCount{t, tf})
	}
	return out
}

// term is the function term with a memory: stemming a word takes longer than
// everything else that is done with it.
func (c *counter) term(word string) string {
	if t, ok := c.known[word]; ok {
		return t
	}
	if t, ok := c.fresh[word]; ok {
		return t
	}
	t := strings.Clone(term(word))
	c.fresh[strings.Clone(word)] = t // a slice of the document would keep all of it alive
	return t
}

// surroundings are what a chunk is found by besides its text. A heading that is also
// the title counts once.
func surroundings(doc *Document, headings string) string {
	if first, rest, _ := strings.Cut(headings, headingSeparator); first == doc.Title {
		headings = rest
	}
	return clip(doc.Title+"\n"+strings.Join(doc.Tags, "\n")+"\n"+headings, maxSurroundings)
}

// learn keeps what a counter found out. Called with mu held for writing.
func (ix *Index) learn(c *counter) {
	if len(ix.words)+len(c.fresh) > maxWords {
		clear(ix.words)
	}
	maps.Copy(ix.words, c.fresh)
}

// wordTerm is the function term through the words the index knows. Called with
// mu held.
func (ix *Index) wordTerm(word string) string {
	if t, ok := ix.words[word]; ok {
		return t
	}
	return term(word)
}
