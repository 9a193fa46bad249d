package search

import (
	"path"
	"slices"
	"strings"

	"evalctl/daemon/language"
)

// The fields in which terms are counted, see fieldWeights. Title and path are those of the
// document; labels are its tags and the headings above the chunk.
const (
	textField = iota
	titleField
	pathField
	labelsField
	fieldCount
)

// maxField bounds each field except the text, in code points, so that a long title does not add to
// every chunk of its document.
const maxField = 1000

// maxCount is the largest number of occurrences of a term in a field that is counted. More add
// almost nothing to a score: even a tenth as many reach nearly the same gain.
const maxCount = 255

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

// body returns the text without the headings at its beginning.
func (ch *chunk) body() string {
	if ch.headings == "" {
		return ch.text
	}
	return afterHeadings(ch.text, ch.headings)
}

// fields returns the texts by which a chunk is found. A heading belongs to the labels and not to
// the text. A heading that is also the title belongs to neither.
func (ch *chunk) fields() [fieldCount]string {
	doc, headings := ch.doc, ch.headings
	headings = BelowTitle(doc.Title, headings)
	return [fieldCount]string{
		textField:   ch.body(),
		titleField:  clip(doc.Title, maxField),
		pathField:   clip(strings.TrimSuffix(doc.Path, path.Ext(doc.Path)), maxField),
		labelsField: clip(strings.Join(doc.Tags, "\n")+"\n"+headings, maxField),
	}
}
