package search

import (
	"slices"
	"unicode/utf8"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// termSet is a set of terms that may be in the index.
type termSet struct {
	names   map[string]bool
	numbers []uint32
	low     [4]uint64 // the low bits of the numbers, which exclude most others
}

func (ix *Index) termSet(terms []queryTerm) *termSet {
	set := &termSet{names: nameSet(terms)}
	for _, t := range terms {
		if n, ok := ix.numbers[t.name]; ok {
			set.numbers = append(set.numbers, n)
			set.low[n>>6&3] |= 1 << (n & 63)
		}
	}
	return set
}

func (set *termSet) contains(term uint32) bool {
	return set.low[term>>6&3]>>(term&63)&1 > 0 && slices.Contains(set.numbers, term)
}

// highlights returns the words of a chunk whose terms are wanted, in order.
func (ix *Index) highlights(ch *chunk, wanted *termSet) []Span {
	h := highlighter{text: ch.text}
	body := document.Body(ch.headings, ch.text)
	headings := len(ch.text) - len(body)
	for start, end := range language.Words(ch.text[:headings]) {
		if wanted.names[ix.wordTerm(ch.doc.Language, ch.text[start:end])] {
			h.add(start, end)
		}
	}
	matches := 0
	for field, t := range ch.terms() {
		if field != textField {
			break
		}
		if wanted.contains(t) {
			matches++
		}
	}
	words := ch.sequence
	for start, end := range language.Words(body) {
		if matches == 0 {
			break
		}
		var word uint32
		if word, words = words.next(); word != functionWord && wanted.contains(word-1) {
			h.add(headings+start, headings+end)
			matches--
		}
	}
	return h.spans
}

// highlighter converts words to spans, those that overlap to one.
type highlighter struct {
	text          string
	spans         []Span
	offset, point int // the end of the last word in bytes and in code points
}

// add adds the next word.
func (h *highlighter) add(start, end int) {
	overlaps := start < h.offset
	start = max(start, h.offset)
	h.point += utf8.RuneCountInString(h.text[h.offset:start])
	length := utf8.RuneCountInString(h.text[start:end])
	if overlaps {
		h.spans[len(h.spans)-1].End += length
	} else {
		h.spans = append(h.spans, Span{h.point, h.point + length})
	}
	h.offset, h.point = end, h.point+length
}
