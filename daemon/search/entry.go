package search

import (
	"iter"
	"slices"

	"evalctl/daemon/search/document"
)

// entry is a document in the index.
type entry struct {
	document.Document
	first, count uint32 // its chunks are the numbers from first to first+count-1
	prev, next   *entry // the documents before and after it in its folder, nil where there is none
	read         bool   // from a snapshot: its strings are parts of blocks.texts
}

// chunk is a passage in the index. Hits are made from chunks.
type chunk struct {
	doc      *entry // nil once deleted
	ordinal  uint32
	lengths  [fieldCount]uint16 // number of terms, by field
	length   uint16             // number of terms of the text that are not parts of other words
	start    uint32             // offset of text in the document's Text
	text     string             // part of the document's Text
	headings string
	sequence sequence
}

func newChunk(doc *entry, c document.Chunk) chunk {
	return chunk{
		doc: doc, ordinal: uint32(c.Ordinal), start: uint32(c.Start), text: c.Text, headings: c.Headings,
	}
}

// distinctTerms returns the term numbers of all fields, ascending, without duplicates.
func (ch *chunk) distinctTerms() []uint32 {
	terms := make([]uint32, 0, len(ch.sequence))
	for _, t := range ch.terms() {
		terms = append(terms, t)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// fields returns the texts by which a chunk is found, by field.
func (ch *chunk) fields() (texts [fieldCount]string) {
	texts[textField], texts[titleField], texts[pathField], texts[labelsField] = ch.doc.Fields(ch.headings, ch.text)
	return texts
}

// terms yields the terms of a chunk, each with its field.
func (ch *chunk) terms() iter.Seq2[int, uint32] {
	return func(yield func(field int, term uint32) bool) {
		field, left := textField, ch.lengths[textField]
		for rest := ch.sequence; rest != ""; {
			var word uint32
			if word, rest = rest.next(); word == functionWord {
				continue
			}
			for left == 0 && field < fieldCount-1 {
				field++
				left = ch.lengths[field]
			}
			left--
			if !yield(field, word-1) {
				return
			}
		}
	}
}

// count counts a term in a chunk.
func (ch *chunk) count(term uint32) (counts tally) {
	for field, t := range ch.terms() {
		if t == term && counts[field] < maxCount {
			counts[field]++
		}
	}
	return counts
}

// extent determines the norm of a text: it is twice the number of terms or, for a piece of a longer
// document, twice length + (length+slack)·scope·ln(pieces), rounded, plus 1.
type extent uint16

func (e extent) whole() bool { return e&1 == 0 }

// traits are the facts about a chunk's document that most searches need. They take one byte, while
// the document is far away in memory.
type traits uint8

const (
	present traits = 1 << iota // not deleted
	generated
	dated
)

func traitsOf(d *document.Document) traits {
	t := present
	if d.Generated {
		t |= generated
	}
	if !d.Date.IsZero() {
		t |= dated
	}
	return t
}
