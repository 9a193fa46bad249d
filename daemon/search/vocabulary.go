package search

import (
	"strings"

	"evalctl/daemon/language"
)

// maxWords bounds the number of words of a language whose terms are cached.
const maxWords = 1 << 17

// noTerm is the term number of stop words.
const noTerm = 1<<32 - 1

// vocabulary numbers the terms of an index in the order in which they are found. compact renumbers
// them.
type vocabulary struct {
	numbers map[string]uint32 // by term
	names   []string          // by number
	// words caches the terms of words by the language of their text, noTerm for stop words.
	words wordCache
	// variants has terms with optional marks, and terms of parts, by their forms without these.
	variants map[string][]string
}

// partMark begins the terms of partOf.
const partMark = "~"

// partOf returns the term of a part of a name in prose, such as Tide in TideService, from the term
// of the part as a word. It is looked up only for a word that no document has: names such as
// LinkedIn are mostly one word.
func partOf(word string) string {
	if word == "" {
		return ""
	}
	return partMark + word
}

func isPart(term string) bool { return term[0] == partMark[0] }

// addVariant adds a term to the variants, if it has marks or is a part.
func (v *vocabulary) addVariant(term string) {
	bare := term
	switch {
	case isPart(term):
		bare = term[len(partMark):]
	case strings.Contains(term, ":"): // a language that has letters of its own is in the term
		bare = language.Bare(term)
	}
	if bare == term {
		return
	}
	if v.variants == nil {
		v.variants = map[string][]string{}
	}
	v.variants[bare] = append(v.variants[bare], term)
}

// wordCache has the numbers of the terms of words, by the language of their text.
type wordCache [language.Count]map[string]uint32

func (c *wordCache) add(l language.Language, word string, number uint32) {
	if c[l] == nil {
		c[l] = map[string]uint32{}
	}
	c[l][word] = number
}

// wordTerm is language.Language.Term, with the cache of words.
func (v *vocabulary) wordTerm(l language.Language, word string) string {
	n, known := v.words[l][word]
	switch {
	case !known:
		return l.Term(word)
	case n == noTerm:
		return ""
	}
	return v.names[n]
}

// learn adds the terms and words that a numberer has found. It returns the numbers of the terms
// that were new to the numberer, and whether any of them differs from the number that the numberer
// chose.
func (v *vocabulary) learn(n *numberer) (numbers []uint32, moved bool) {
	for i, name := range n.names {
		t, ok := v.numbers[name]
		if !ok {
			t = uint32(len(v.names))
			v.numbers[name] = t
			v.names = append(v.names, name)
			v.addVariant(name)
		}
		numbers = append(numbers, t)
		moved = moved || int(t) != n.first+i
	}
	for l, words := range n.words {
		if len(v.words[l])+len(words) > maxWords {
			clear(v.words[l])
		}
		for word, t := range words {
			if t != noTerm && int(t) >= n.first {
				t = numbers[int(t)-n.first]
			}
			v.words.add(language.Language(l), word, t)
		}
	}
	return numbers, moved
}

// renumber drops the terms that keep rejects, and renumbers the others in the same order. It
// returns the new numbers by the old ones, noTerm for dropped terms.
func (v *vocabulary) renumber(keep func(term uint32) bool) []uint32 {
	moved := make([]uint32, len(v.names))
	var names []string
	v.variants = nil
	for n, name := range v.names {
		if !keep(uint32(n)) {
			moved[n] = noTerm
			delete(v.numbers, name)
			continue
		}
		moved[n] = uint32(len(names))
		v.numbers[name] = moved[n]
		names = append(names, name)
		v.addVariant(name)
	}
	v.names = names
	for _, words := range v.words {
		for word, n := range words {
			if n == noTerm {
				continue
			}
			if moved[n] == noTerm {
				delete(words, word)
			} else {
				words[word] = moved[n]
			}
		}
	}
	return moved
}

// numberer finds term numbers without changing the vocabulary, which it only reads. It numbers new
// terms from first on; learn may renumber them.
type numberer struct {
	known *vocabulary
	first int
	words wordCache
	terms map[string]uint32
	names []string // of new terms, in the order in which they were found
}

func newNumberer(v *vocabulary) *numberer {
	return &numberer{
		known: v, first: len(v.names), terms: map[string]uint32{},
	}
}

// number returns the number of a word's term. It caches, because stemming takes longer than
// everything else about a word.
func (n *numberer) number(l language.Language, word string) uint32 {
	if t, ok := n.known.words[l][word]; ok {
		return t
	}
	if t, ok := n.words[l][word]; ok {
		return t
	}
	t := n.intern(l.Term(word))
	n.words.add(l, strings.Clone(word), t) // a slice would keep the whole document in memory
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
	t := uint32(n.first + len(n.names))
	name = strings.Clone(name)
	n.terms[name] = t
	n.names = append(n.names, name)
	return t
}
