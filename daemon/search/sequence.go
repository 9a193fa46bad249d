package search

import (
	"encoding/binary"
)

// sequence holds the words of a chunk, in the order of its fields and of the words in them. Each
// word is the number of its term plus one, as a uvarint of encoding/binary. Frequent terms have low
// numbers, so most words take a byte or two. Function words are 0, and are kept only in the text,
// up to its last term.
type sequence string

const functionWord = 0

// encodeSequence returns words, which are term numbers, or noTerm for function words.
func encodeSequence(buf []byte, words []uint32) (sequence, []byte) {
	buf = buf[:0]
	for _, t := range words {
		if t == noTerm {
			buf = append(buf, functionWord)
		} else {
			buf = binary.AppendUvarint(buf, uint64(t)+1)
		}
	}
	return sequence(buf), buf
}

// renumbered appends the words with their new term numbers, by the old ones.
func (s sequence) renumbered(words, terms []uint32) []uint32 {
	for s != "" {
		var word uint32
		if word, s = s.next(); word == functionWord {
			words = append(words, noTerm)
		} else {
			words = append(words, terms[word-1])
		}
	}
	return words
}

// next returns the first word, which must exist, and the others.
func (s sequence) next() (word uint32, rest sequence) {
	if b := s[0]; b < 0x80 {
		return uint32(b), s[1:]
	}
	return s.nextLong()
}

func (s sequence) nextLong() (word uint32, rest sequence) {
	for i, shift := 0, 0; i < len(s); i, shift = i+1, shift+7 {
		word |= uint32(s[i]&0x7f) << shift
		if s[i] < 0x80 {
			return word, s[i+1:]
		}
	}
	return word, "" // not a sequence
}

// valid reports whether s, which may be any text, is the sequence of a chunk with terms below
// limit.
func (s sequence) valid(lengths [fieldCount]uint16, limit uint64) bool {
	var words uint64
	for i := 0; i < len(s); {
		word, size := uint64(s[i]), 1
		if word >= 0x80 {
			if word, size = uvarint(string(s[i:])); size == 0 {
				return false
			}
		}
		if word > limit {
			return false
		}
		if word != functionWord {
			words++
		}
		i += size
	}
	for _, n := range lengths {
		words -= uint64(n)
	}
	return words == 0
}

// uvarint is binary.Uvarint of a string. The size is 0 if it is not one.
func uvarint(s string) (v uint64, size int) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		v |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
