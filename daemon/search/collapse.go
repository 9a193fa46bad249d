package search

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// group is a chunk together with the chunks that have the same text.
type group struct {
	candidate
	duplicates []candidate // in rank order
}

// groups returns the first n groups of ranked that the query's limit for each document leaves, each
// represented by the chunk that its order prefers. Called with mu held.
func (ix *Index) groups(ranked []candidate, n int, q Query) []group {
	first := n
	if q.MaxPerDocument > 0 {
		first = len(ranked)
	}
	groups := ix.collapse(ranked, first)
	ix.promoteNewest(groups, q.Sort)
	return limitDocuments(groups, n, q, func(g group) *entry { return ix.chunks[g.chunk].doc })
}

// collapse returns the first n chunks of ranked whose texts differ, each with the other chunks of
// ranked that have its text. Texts are the same only if they are equal byte for byte; chunks have
// no surrounding white space. Called with mu held.
func (ix *Index) collapse(ranked []candidate, n int) []group {
	groups := make([]group, 0, min(n, len(ranked)))
	texts := newTextTable(min(n, len(ranked)))
	for _, c := range ranked {
		text := ix.chunks[c.chunk].text
		if i := texts.find(text); i >= 0 {
			groups[i].duplicates = append(groups[i].duplicates, c)
		} else if len(groups) < n {
			texts.add(text)
			groups = append(groups, group{candidate: c})
		}
	}
	return groups
}

// promoteNewest makes the newest chunk of each group its hit, for the orders that prefer newer
// documents: the newest of all for SortRecency, the newest of those that are equally relevant for
// SortRelevanceThenRecency. Of equally new chunks, the best ranked is chosen. Called with mu held.
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

// limitDocuments returns the first n of ranked, in their order, without those that exceed the
// query's limit for each document. If places are left and the query fills them, the first of these
// take them. It reuses the memory of ranked.
func limitDocuments[T any, D comparable](ranked []T, n int, q Query, document func(T) D) []T {
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

// textTable finds equal texts. It looks at the ends of a text first, which takes much less time than a
// hash of all of it, and tells most texts apart.
type textTable struct {
	seed  maphash.Seed
	slots []int32 // one more than the number of a text, by the hash of its ends and then onwards
	texts []tableText
}

type tableText struct {
	text string
	hash uint64 // of all of it; 0 before it is needed
}

// newTextTable returns a table for at most n texts.
func newTextTable(n int) *textTable {
	return &textTable{
		seed:  maphash.MakeSeed(),
		slots: make([]int32, 1<<bits.Len(uint(2*n))),
		texts: make([]tableText, 0, n),
	}
}

// find returns the number of the equal text that was added, -1 if there is none.
func (t *textTable) find(text string) int {
	wanted := tableText{text: text}
	for slot := t.slot(text); t.slots[slot] > 0; slot = t.after(slot) {
		known := &t.texts[t.slots[slot]-1]
		if len(known.text) == len(text) && t.hash(known) == t.hash(&wanted) && known.text == text {
			return int(t.slots[slot] - 1)
		}
	}
	return -1
}

// add adds a text that is not in the table. It has the next number.
func (t *textTable) add(text string) {
	slot := t.slot(text)
	for t.slots[slot] > 0 {
		slot = t.after(slot)
	}
	t.texts = append(t.texts, tableText{text: text})
	t.slots[slot] = int32(len(t.texts))
}

func (t *textTable) slot(text string) int {
	var ends [16]byte
	copy(ends[:8], text)
	copy(ends[8:], text[max(0, len(text)-8):])
	hash := uint64(len(text)) ^ binary.LittleEndian.Uint64(ends[:8])
	hash = hash*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(ends[8:])
	return int(hash*0x9e3779b97f4a7c15>>32) & (len(t.slots) - 1)
}

func (t *textTable) after(slot int) int { return (slot + 1) & (len(t.slots) - 1) }

func (t *textTable) hash(text *tableText) uint64 {
	if text.hash == 0 {
		text.hash = maphash.String(t.seed, text.text)
	}
	return text.hash
}
