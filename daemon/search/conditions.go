package search

import (
	"cmp"
	"slices"
	"sync"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/question"
)

// source is the set of passages that a ranking chooses from: those in documents that keep accepts
// and, if only is set, that meet conditions.
type source struct {
	keep  func(*document.Document) bool // nil accepts all but generated documents
	only  bool
	met   []metCondition // by chunk number
	gains []float64      // of the phrases, see gain
}

// metCondition is a passage that meets conditions, with the number of each phrase in each field.
type metCondition struct {
	chunk  uint32
	counts [][fieldCount]uint8 // by phrase
}

// meeting returns the source of the passages that a query may find. Phrases to contain are looked
// for in all documents that the filter selects, phrases to exclude only in those that would be
// found. Called with mu held.
func (ix *Index) meeting(q Query) (s source) {
	selected := func(d *document.Document) bool { return q.Filter.keep(d, q.AsOf) }
	switch {
	case len(q.Conditions.None) > 0:
		var known sync.Map // whether a document is excluded; keep is called concurrently
		s.keep = func(d *document.Document) bool {
			if !selected(d) {
				return false
			}
			excluded, ok := known.Load(d)
			if !ok {
				excluded = excludes(q.Conditions, d)
				known.Store(d, excluded)
			}
			return !excluded.(bool)
		}
	case !q.Filter.plain(q.AsOf):
		s.keep = selected
	}
	if len(q.Conditions.All) > 0 {
		s.only = true
		ix.collect(q.Conditions, &s)
	}
	return s
}

// excludes reports whether a document contains something that must not be in it.
func excludes(c question.Conditions, d *document.Document) bool {
	return slices.ContainsFunc(c.None, func(p language.Phrase) bool { return isIn(p, d) })
}

// isIn reports whether a phrase is in a document.
func isIn(p language.Phrase, d *document.Document) bool {
	return p.In(d.Title) || p.In(d.PathWords()) || slices.ContainsFunc(d.Tags, p.In) || p.In(d.Text)
}

// collect sets the passages of a source, and the gains of the phrases. It counts a phrase only in
// the passages that the source keeps.
func (ix *Index) collect(c question.Conditions, s *source) {
	groups := make([][]alternative, len(c.All))
	var phrases []language.Phrase
	for g, group := range c.All {
		for _, a := range ix.withFunctionWords(group) {
			if a.Word == "" {
				groups[g] = append(groups[g], alternative{phrase: len(phrases)})
				phrases = append(phrases, a.Written)
			} else {
				groups[g] = append(groups[g], alternative{chunks: ix.chunksWith(a.Word)})
			}
		}
	}
	found := make([]int, len(phrases)) // the number of passages of each
	for n := uint32(0); n < uint32(len(ix.chunks)); {
		doc := ix.chunks[n].doc
		if doc == nil {
			n++
			continue
		}
		n = doc.first + doc.count
		if !ix.accepts(s.keep, doc.first) || !ix.meets(groups, phrases, doc) {
			continue
		}
		for _, m := range ix.countPhrases(doc, phrases) {
			inGroup := func(g []alternative) bool { return slices.ContainsFunc(g, m.has) }
			if !slices.ContainsFunc(groups, inGroup) {
				continue
			}
			for p, counts := range m.counts {
				if counts != [fieldCount]uint8{} {
					found[p]++
				}
			}
			s.met = append(s.met, m)
		}
	}
	for _, n := range found {
		s.gains = append(s.gains, idf(max(ix.live, n), n)*(ix.k1+1))
	}
}

// alternative is a question.Alternative in an index: the number of a phrase, or the chunks of a
// word.
type alternative struct {
	phrase int
	chunks map[uint32]bool // nil for a phrase
}

// has reports whether an alternative is in a passage.
func (m metCondition) has(a alternative) bool {
	if a.chunks != nil {
		return a.chunks[m.chunk]
	}
	return m.counts[a.phrase] != [fieldCount]uint8{}
}

// meets reports whether one of the alternatives of each group is in a document.
func (ix *Index) meets(groups [][]alternative, phrases []language.Phrase, doc *entry) bool {
	in := func(a alternative) bool {
		if a.chunks == nil {
			return isIn(phrases[a.phrase], &doc.Document)
		}
		for n := doc.first; n < doc.first+doc.count; n++ {
			if a.chunks[n] {
				return true
			}
		}
		return false
	}
	return !slices.ContainsFunc(groups, func(group []alternative) bool { return !slices.ContainsFunc(group, in) })
}

// withFunctionWords adds the spellings of words that are function words in the language of some
// document, which has no terms for them.
func (ix *Index) withFunctionWords(group []question.Alternative) []question.Alternative {
	var written []question.Alternative
	for _, a := range group {
		isFunctionWord := func(l language.Language) bool { return l.Term(a.Word) == "" }
		if a.Word != "" && slices.ContainsFunc(ix.spoken(), isFunctionWord) {
			written = append(written, question.Alternative{Written: language.NewPhrase(a.Word, false)})
		}
	}
	return slices.Concat(group, written)
}

// chunksWith returns the chunks that contain a word in any of its forms.
func (ix *Index) chunksWith(word string) map[uint32]bool {
	chunks := map[uint32]bool{}
	for _, name := range distinctTerms(word, ix.spoken(), language.Language.Term) {
		if t, ok := ix.numbers[name]; ok {
			for _, n := range ix.postings[t].chunks {
				chunks[n] = true
			}
		}
	}
	return chunks
}

// countPhrases counts phrases in the passages of a document. A phrase of the text belongs to the
// passage in which it begins.
func (ix *Index) countPhrases(doc *entry, phrases []language.Phrase) []metCondition {
	passages := make([]metCondition, doc.count)
	for i := range passages {
		passages[i] = metCondition{doc.first + uint32(i), make([][fieldCount]uint8, len(phrases))}
	}
	if len(passages) == 0 {
		return nil
	}
	for p, phrase := range phrases {
		add := func(i, field int) {
			if n := &passages[i].counts[p][field]; *n < maxCount {
				*n++
			}
		}
		everywhere := func(field int, text string) {
			for range phrase.Find(text) {
				for i := range passages {
					add(i, field)
				}
			}
		}
		everywhere(titleField, doc.Title)
		everywhere(pathField, doc.PathWords())
		for _, tag := range doc.Tags {
			everywhere(labelsField, tag)
		}
		for start := range phrase.Find(doc.Text) {
			i, _ := slices.BinarySearchFunc(ix.chunksOf(doc), start, func(c chunk, start int) int {
				return cmp.Or(cmp.Compare(int(c.start), start), -1) // the last that begins before
			})
			add(max(0, i-1), textField)
		}
	}
	return passages
}

// bestOf is best for the passages of a source. In a source with conditions, a phrase scores like a
// term.
func (ix *Index) bestOf(sc *scratch, s source, query []weighedTerm, k int) []candidate {
	if !s.only {
		return ix.best(sc, query, s.keep, k)
	}
	ix.score(&sc.scores, query)
	norm := ix.lengthNorm()
	top := make([]candidate, len(s.met))
	for i, m := range s.met {
		score := sc.scores.sums[m.chunk]
		for p, counts := range m.counts {
			score += s.gains[p] * ix.saturated(weightedCount(counts, norm.of(ix.extents[m.chunk])))
		}
		top[i] = candidate{score, m.chunk}
	}
	sc.scores.reset()
	slices.SortFunc(top, ix.compare)
	return top[:min(k, len(top))]
}

// nearestIn returns the k passages of a source with the largest cosine above 0 to a vector of unit
// length, best first.
func (ix *Index) nearestIn(s source, query []float32, k int) (top []candidate) {
	if !s.only {
		keep := func(n uint32) bool { return ix.accepts(s.keep, n) }
		for _, m := range ix.vectors.Nearest(query, k, keep, ix.compareChunks) {
			top = append(top, candidate{m.Cosine, m.Number})
		}
		return top
	}
	for _, m := range s.met {
		if !ix.vectors.Has(m.chunk) {
			continue
		}
		if cosine := ix.vectors.Cosine(query, m.chunk); cosine > 0 {
			top = append(top, candidate{cosine, m.chunk})
		}
	}
	slices.SortFunc(top, ix.compare)
	return top[:min(k, len(top))]
}
