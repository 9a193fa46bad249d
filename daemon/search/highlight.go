package search

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/question"
)

// termSet is a set of terms that may be in the index.
type termSet struct {
	names   map[string]bool
	numbers []uint32
	low     [4]uint64 // the low bits of the numbers, which exclude most others
}

func (ix *Index) termSet(terms []queryTerm) *termSet {
	set := &termSet{names: map[string]bool{}}
	for _, t := range terms {
		set.names[t.name] = true
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

// add adds the next word, which may be part of the last one or overlap it.
func (h *highlighter) add(start, end int) {
	if end <= h.offset {
		return // part of the last one
	}
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

// phraseSpans returns the places in a text of the phrases that the conditions require, in no
// particular order.
func phraseSpans(c question.Conditions, text string) (spans []Span) {
	for _, group := range c.All {
		for _, a := range group {
			h := highlighter{text: text}
			for start, end := range a.Written.Find(text) {
				h.add(start, end)
			}
			spans = append(spans, h.spans...)
		}
	}
	return spans
}

// mergeSpans returns the spans of both lists in order, those that overlap as one.
func mergeSpans(spans, more []Span) []Span {
	if len(more) == 0 {
		return spans
	}
	all := slices.Concat(spans, more)
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	merged := all[:1]
	for _, s := range all[1:] {
		if last := &merged[len(merged)-1]; s.Start < last.End {
			last.End = max(last.End, s.End)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}
