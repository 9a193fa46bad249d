package search

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

// tally is how often a term occurs in each field of a chunk, at most maxCount times.
type tally [fieldCount]uint8

// tallies numbers the tallies of postings, so that each takes a byte. There are few different ones:
// nearly all terms occur once to some times in the text, and at most once in each other field.
type tallies struct {
	list  []tally // by number; that of uncounted is zero
	known map[tally]uint8
}

// uncounted is the number of tallies that have none, because all others are taken. The terms of the
// chunk are counted again where it is needed.
const (
	uncounted  = 0
	maxTallies = 256
)

// usual is the number of occurrences in the text up to which tallies have a number from the start.
const usual = 15

func newTallies() tallies {
	t := tallies{list: make([]tally, 1, maxTallies), known: map[tally]uint8{}}
	for others := range uint8(1 << (fieldCount - 1)) {
		for text := range uint8(usual + 1) {
			t.number(tally{textField: text, titleField: others & 1, pathField: others >> 1 & 1, labelsField: others >> 2})
		}
	}
	return t
}

func (t *tallies) number(counts tally) uint8 {
	n, known := t.known[counts]
	if !known && len(t.list) < maxTallies {
		n = uint8(len(t.list))
		t.known[counts] = n
		t.list = append(t.list, counts)
	}
	return n
}

// restore adds the tallies of a snapshot, in their order. It reports whether they are different and
// begin with those that newTallies has.
func (t *tallies) restore(list []tally) bool {
	if len(list) < len(t.list)-1 {
		return false
	}
	for i, counts := range list {
		if int(t.number(counts)) != i+1 {
			return false
		}
	}
	return true
}
