package scorer

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
)

// The rule by which a returned text contains a piece of evidence. Three words are the fewest that
// say who did what to whom: the same words about another fact form other sequences of three. A
// changed word breaks three sequences in the middle of the evidence and one at its end. At a share
// of nine in ten, evidence of up to 11 words must therefore occur verbatim; from 12 words on, a
// word at an end may differ, and from 32 words on, a word in the middle.
const (
	evidenceWords   = 3 // of a sequence
	evidenceShare   = 9 // the sequences that must be there, of
	evidenceShareOf = 10
)

// Passage is a returned text. Passages of the same document share Document, which is empty if
// unknown.
type Passage struct{ Document, Text string }

// EvidenceRanks returns, for each piece of evidence in texts, the number of the passage, from 1,
// that completes it, or 0 if the passages do not contain it. Passages of the same document are
// combined, because a piece may be split over several chunks.
//
// A piece is found if nine in ten of its three-word sequences are found and every number is in one
// of them. A shorter piece is a single sequence. Words are folded by visible.Folded, and characters
// between words are ignored; in scripts without spaces, each character is a word.
func EvidenceRanks(texts []string, passages []Passage) []int {
	ranks := make([]int, len(texts))
	pieces := make([]evidence, len(texts))
	for i, text := range texts {
		pieces[i] = evidenceOf(text)
	}
	documents := map[string]*document{}
	for at, p := range passages {
		d := documents[p.Document]
		if d == nil || p.Document == "" {
			d = &document{has: make([]map[string]bool, len(pieces))}
			documents[p.Document] = d
		}
		d.add(p.Text, pieces)
		for i := range pieces {
			if ranks[i] == 0 && pieces[i].completeIn(d.has[i]) {
				ranks[i] = at + 1
			}
		}
	}
	return ranks
}

// Quotes reports whether a text contains all words of a piece of evidence in sequence.
func Quotes(text, evidence string) bool { return WordsOf(text).Quote(WordsOf(evidence)) }

// Words is a text prepared for repeated comparison.
type Words string

// WordsOf returns the words of a text, empty if it has none.
func WordsOf(text string) Words {
	if words := wordsOf(text); len(words) > 0 {
		return Words(between(words))
	}
	return ""
}

// Quote reports whether w contains all words of a piece in sequence. An empty piece is never
// contained.
func (w Words) Quote(piece Words) bool {
	return piece != "" && strings.Contains(string(w), string(piece))
}

// Len returns the number of words.
func (w Words) Len() int { return max(0, strings.Count(string(w), " ")-1) }

// fewestWords is the minimum number of words by which a text is recognized in others.
const fewestWords = 3

// Identify reports whether w has enough words to recognize the document of a passage by them. A
// character of a script without spaces is part of a word: half of one in Chinese and Japanese, and a
// quarter elsewhere.
func (w Words) Identify() bool {
	quarters := 0
	for word := range strings.FieldsSeq(string(w)) {
		switch r, _ := utf8.DecodeRuneInString(word); {
		case unicode.In(r, syllabic...):
			quarters += 2
		case unicode.In(r, unspaced...):
			quarters++
		default:
			quarters += 4
		}
		if quarters >= 4*fewestWords {
			return true
		}
	}
	return false
}

// between returns words separated and surrounded by spaces.
func between(words []string) string { return " " + strings.Join(words, " ") + " " }

// HasWords reports whether a text contains a word. Without one it cannot be evidence.
func HasWords(text string) bool { return len(wordsOf(text)) > 0 }

// evidence is a piece of evidence as sequences of words.
type evidence struct {
	words     []string
	n         int // words of a sequence
	sequences map[string]bool
}

func evidenceOf(text string) evidence {
	p := evidence{words: wordsOf(text), sequences: map[string]bool{}}
	p.n = min(evidenceWords, len(p.words))
	for _, s := range sequences(p.words, p.n) {
		p.sequences[s] = true
	}
	return p
}

// completeIn reports whether the found sequences suffice.
func (p evidence) completeIn(found map[string]bool) bool {
	if len(p.words) == 0 || len(found)*evidenceShareOf < len(p.sequences)*evidenceShare {
		return false
	}
	covered := make([]bool, len(p.words))
	for i, s := range sequences(p.words, p.n) {
		for k := range p.n {
			covered[i+k] = covered[i+k] || found[s]
		}
	}
	for i, word := range p.words {
		if !covered[i] && strings.ContainsFunc(word, unicode.IsNumber) {
			return false
		}
	}
	return true
}

// document collects the sequences of each piece found so far in a document's passages.
type document struct {
	has   []map[string]bool
	texts [][]string // the words of the passages
}

func (d *document) add(text string, pieces []evidence) {
	words := wordsOf(text)
	d.find(words, pieces)
	if plain := unescaped(text); plain != text {
		d.find(wordsOf(plain), pieces)
	}
	const seam = evidenceWords - 1
	for _, other := range d.texts { // either may be the one that comes first in the document
		d.find(append(last(other, seam), first(words, seam)...), pieces)
		d.find(append(last(words, seam), first(other, seam)...), pieces)
	}
	d.texts = append(d.texts, words)
}

// find records which sequences of words belong to a piece.
func (d *document) find(words []string, pieces []evidence) {
	for n := 1; n <= evidenceWords; n++ {
		if !slices.ContainsFunc(pieces, func(p evidence) bool { return p.n == n }) {
			continue
		}
		for _, s := range sequences(words, n) {
			for i, p := range pieces {
				if p.n != n || !p.sequences[s] {
					continue
				}
				if d.has[i] == nil {
					d.has[i] = map[string]bool{}
				}
				d.has[i][s] = true
			}
		}
	}
}

// sequences returns the sequences of n words.
func sequences(words []string, n int) []string {
	var out []string
	for i := 0; n > 0 && i+n <= len(words); i++ {
		out = append(out, strings.Join(words[i:i+n], " "))
	}
	return out
}

func first(words []string, n int) []string { return words[:min(n, len(words))] }

// last returns a copy of the last n words.
func last(words []string, n int) []string {
	return append([]string{}, words[max(0, len(words)-n):]...)
}

// wordsOf returns the words of a text in their compared form.
func wordsOf(text string) (words []string) {
	start := -1
	folded := visible.Folded(text)
	end := func(at int) {
		if start >= 0 {
			words = append(words, folded[start:at])
			start = -1
		}
	}
	for i, r := range folded {
		switch {
		case r >= utf8.RuneSelf && unicode.In(r, unspaced...):
			end(i)
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			if start < 0 {
				start = i
			}
		case unicode.IsMark(r): // of a letter
		default:
			end(i)
		}
	}
	end(len(folded))
	return words
}

// syllabic are the scripts of Chinese and Japanese, in which a character is a syllable or more.
var syllabic = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}

// unspaced are the scripts without spaces between words.
var unspaced = slices.Concat(syllabic, []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar})

// surrogates matches the escape of a character that JSON writes as two, such as an emoji.
var surrogates = regexp.MustCompile(`\\u(?i:d[89ab][\da-f]{2})\\u(?i:d[c-f][\da-f]{2})`)

// unescaped returns a text that contains quoted JSON without its escapes.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	text = surrogates.ReplaceAllStringFunc(text, func(pair string) string {
		char, _ := jsonobj.String(json.RawMessage(`"` + pair + `"`))
		return char
	})
	var b strings.Builder
	for rest := text; rest != ""; {
		r, _, tail, err := strconv.UnquoteChar(rest, 0)
		switch {
		case strings.HasPrefix(rest, `\"`), strings.HasPrefix(rest, `\/`), strings.HasPrefix(rest, `\'`):
			b.WriteByte(rest[1])
			rest = rest[2:]
		case err != nil:
			b.WriteByte(rest[0])
			rest = rest[1:]
		default:
			b.WriteRune(r)
			rest = tail
		}
	}
	return b.String()
}
