package search

import (
	"path"
	"slices"
	"strings"
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
	terms []termCount // each once
}

type termCount struct {
	term   uint32
	counts [fieldCount]uint8
}

// counter counts the terms of chunks.
type counter struct {
	*numberer
	keys []uint64 // working memory: term number and field of each occurrence
}

func (c *counter) count(ch chunk) counted {
	seq := make([]uint32, 0, len(ch.text)/8)
	for field, text := range ch.fields() {
		before := len(seq)
		seq = c.append(seq, ch.doc.Language, text)
		ch.lengths[field] = uint32(len(seq) - before)
	}
	ch.sequence = slices.Clip(seq)
	return counted{chunk: ch, terms: c.countTerms(&ch)}
}

func (c *counter) countTerms(ch *chunk) []termCount {
	c.keys = c.keys[:0]
	start := uint32(0)
	for field, n := range ch.lengths {
		for _, t := range ch.sequence[start : start+n] {
			c.keys = append(c.keys, uint64(t)<<2|uint64(field))
		}
		start += n
	}
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

// fields returns the texts by which a chunk is found. A heading belongs to the labels and not to
// the text. A heading that is also the title belongs to neither.
func (ch *chunk) fields() [fieldCount]string {
	doc, headings := ch.doc, ch.headings
	text := ch.text
	if headings != "" {
		text = afterHeadings(text, headings)
	}
	headings = BelowTitle(doc.Title, headings)
	return [fieldCount]string{
		textField:   text,
		titleField:  clip(doc.Title, maxField),
		pathField:   clip(strings.TrimSuffix(doc.Path, path.Ext(doc.Path)), maxField),
		labelsField: clip(strings.Join(doc.Tags, "\n")+"\n"+headings, maxField),
	}
}
