package search

import "hash/maphash"

// group is a chunk together with the chunks that have the same text.
type group struct {
	candidate
	duplicates []candidate // in rank order
}

// groups returns the first n groups of ranked within the query's limit for each document. Each is
// represented by the chunk that the query's order prefers. Called with mu held.
func (ix *Index) groups(ranked []candidate, n int, q Query) []group {
	first := n
	if q.MaxPerDocument > 0 {
		first = len(ranked)
	}
	groups := ix.collapse(ranked, first)
	ix.promoteNewest(groups, q.Sort)
	return LimitDocuments(groups, n, q, func(g group) *entry { return ix.chunks[g.chunk].doc })
}

// collapse returns the first n chunks of ranked with different texts, each with the other chunks of
// ranked that have the same text. Texts are compared byte for byte; chunks have no surrounding
// white space. Called with mu held.
func (ix *Index) collapse(ranked []candidate, n int) []group {
	groups := make([]group, 0, min(n, len(ranked)))
	texts := newTextTable(cap(groups))
	for _, c := range ranked {
		text := ix.chunks[c.chunk].text
		if i, key := texts.find(text); i >= 0 {
			groups[i].duplicates = append(groups[i].duplicates, c)
		} else if len(groups) < n {
			texts.add(key, text)
			groups = append(groups, group{candidate: c})
		}
	}
	return groups
}

// promoteNewest makes the newest chunk of each group its hit, for the orders that prefer newer
// documents: the newest of all for SortRecency, the newest of the equally relevant ones for
// SortRelevanceThenRecency. Of equally new chunks, it chooses the best ranked. Called with mu held.
func (ix *Index) promoteNewest(groups []group, by Sort) {
	if by != SortRecency && by != SortRelevanceThenRecency {
		return
	}
	for g := range groups {
		first, rest := &groups[g].candidate, groups[g].duplicates
		newest := -1
		date := ix.chunks[first.chunk].doc.Date
		for i, c := range rest {
			if by == SortRelevanceThenRecency && roundScore(c.score) != roundScore(first.score) {
				break // duplicates are in rank order
			}
			if d := ix.chunks[c.chunk].doc.Date; d.After(date) {
				newest, date = i, d
			}
		}
		if newest >= 0 {
			was := *first
			*first = rest[newest]
			copy(rest[1:newest+1], rest[:newest])
			rest[0] = was
		}
	}
}

// LimitDocuments returns the first n of ranked, in their order, without those that exceed the
// query's limit for each document. If the query fills places, the first of these take the remaining
// ones. It reuses the memory of ranked.
func LimitDocuments[T any, D comparable](ranked []T, n int, q Query, document func(T) D) []T {
	if q.MaxPerDocument == 0 {
		return ranked[:min(n, len(ranked))]
	}
	count, taken := map[D]int{}, make([]bool, len(ranked))
	free := n
	for i, r := range ranked {
		if free == 0 {
			break
		}
		d := document(r)
		if count[d]++; count[d] <= q.MaxPerDocument {
			taken[i] = true
			free--
		}
	}
	chosen := ranked[:0]
	for i, r := range ranked {
		if q.FillPlaces && free > 0 && !taken[i] {
			taken[i] = true
			free--
		}
		if taken[i] {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// textTable numbers different texts. It looks at the ends of a text, which distinguish most texts:
// the rest is far away in memory.
type textTable struct {
	seed    maphash.Seed
	numbers map[textKey]int
	texts   []string // by number
}

// textKey identifies a text by its ends and, if another text has the same ends, by a hash of all of
// it.
type textKey struct {
	length      int
	first, last [8]byte
	hash        uint64
}

// newTextTable returns a table with room for n texts.
func newTextTable(n int) *textTable {
	return &textTable{maphash.MakeSeed(), make(map[textKey]int, n), make([]string, 0, n)}
}

// find returns the number of the equal text that was added, or -1 and the key to add the text with.
func (t *textTable) find(text string) (int, textKey) {
	key := textKey{length: len(text)}
	copy(key.first[:], text)
	copy(key.last[:], text[max(0, len(text)-8):])
	n, known := t.numbers[key]
	if known && t.texts[n] != text {
		key.hash = maphash.String(t.seed, text) | 1
		n, known = t.numbers[key]
	}
	if known && t.texts[n] == text {
		return n, key
	}
	return -1, key
}

func (t *textTable) add(key textKey, text string) {
	t.numbers[key] = len(t.texts)
	t.texts = append(t.texts, text)
}
