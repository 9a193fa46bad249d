package search

import "strings"

// maxWords bounds the words whose terms are remembered.
const maxWords = 1 << 17

// noTerm is the term number of stop words.
const noTerm = 1<<32 - 1

// vocabulary numbers the terms of an index. Numbers are given in the order in
// which terms are met, and given anew by compact.
type vocabulary struct {
	numbers map[string]uint32 // by term
	names   []string          // by number
	words   map[string]uint32 // terms of words met so far, noTerm for stop words
}

func newVocabulary() vocabulary {
	return vocabulary{numbers: map[string]uint32{}, words: map[string]uint32{}}
}

// wordTerm is the function term through the words that are known.
func (v *vocabulary) wordTerm(word string) string {
	n, known := v.words[word]
	switch {
	case !known:
		return term(word)
	case n == noTerm:
		return ""
	}
	return v.names[n]
}

// learn keeps what a numberer found out.
func (v *vocabulary) learn(n *numberer) {
	for _, name := range n.names {
		v.numbers[name] = uint32(len(v.names))
		v.names = append(v.names, name)
	}
	if len(v.words)+len(n.words) > maxWords {
		clear(v.words)
	}
	for word, number := range n.words {
		v.words[word] = number
	}
}

// renumber gives the terms for which keep holds numbers anew, in the same order.
// It returns the new numbers by the old ones, noTerm for those that are gone.
func (v *vocabulary) renumber(keep func(term uint32) bool) []uint32 {
	moved := make([]uint32, len(v.names))
	var names []string
	for n, name := range v.names {
		if !keep(uint32(n)) {
			moved[n] = noTerm
			delete(v.numbers, name)
			continue
		}
		moved[n] = uint32(len(names))
		v.numbers[name] = moved[n]
		names = append(names, name)
	}
	v.names = names
	for word, n := range v.words {
		if n == noTerm {
			continue
		}
		if moved[n] == noTerm {
			delete(v.words, word)
		} else {
			v.words[word] = moved[n]
		}
	}
	return moved
}

// numberer finds term numbers without changing the vocabulary, which it only
// reads: terms that it meets first get the numbers that learn will give them.
type numberer struct {
	known *vocabulary
	words map[string]uint32
	terms map[string]uint32
	names []string // of terms, in the order met
}

func newNumberer(v *vocabulary) *numberer {
	return &numberer{known: v, words: map[string]uint32{}, terms: map[string]uint32{}}
}

// append appends the term numbers of text to seq, in order.
func (n *numberer) append(seq []uint32, text string) []uint32 {
	for start, end := nextWord(text, 0); end > start; start, end = nextWord(text, end) {
		if t := n.number(text[start:end]); t != noTerm {
			seq = append(seq, t)
		}
	}
	return seq
}

// number is the function term with a memory: stemming a word takes longer than
// everything else that is done with it.
func (n *numberer) number(word string) uint32 {
	if t, ok := n.known.words[word]; ok {
		return t
	}
	if t, ok := n.words[word]; ok {
		return t
	}
	t := n.intern(term(word))
	n.words[strings.Clone(word)] = t // a slice of the document would keep all of it alive
	return t
}

func (n *numberer) intern(name string) uint32 {
	if name == "" {
		return noTerm
	}
	if t, ok := n.known.numbers[name]; ok {
		return t
	}
	if t, ok := n.terms[name]; ok {
		return t
	}
	t := uint32(len(n.known.names) + len(n.names))
	name = strings.Clone(name)
	n.terms[name] = t
	n.names = append(n.names, name)
	return t
}
