package search

import (
	"slices"

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

// fields returns the texts by which a chunk is found, by field.
func (ch *chunk) fields() (texts [fieldCount]string) {
	texts[textField], texts[titleField], texts[pathField], texts[labelsField] = ch.doc.Fields(ch.headings, ch.text)
	return texts
}
