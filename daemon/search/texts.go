package search

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

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
