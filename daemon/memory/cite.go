package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// minQuotedWords is the length of the shortest part of a sentence that counts as a
// quote. Fewer words may agree by chance.
const minQuotedWords = 4

// citation is a byte span of the answer and the quote from a hit that supports it.
type citation struct {
	span
	hit   int
	quote string
}

// cite returns the citations of an answer that was written from the hits. The first
// rule that applies to a sentence decides what is cited:
//
//  1. A chunk contains the sentence verbatim: the sentence, with itself as the quote.
//  2. The sentence has markers like [2]: the sentence, with the best matching sentence
//     of each named chunk as a quote.
//  3. A chunk contains parts of it, of 4 words or more, verbatim: those parts.
//
// Offsets count code points of the answer. A quote always occurs in its chunk.
func cite(answer string, hits []search.Hit) []protocol.CitationEvent {
	var events []protocol.CitationEvent
	offset := runeOffsets{text: answer}
	for _, s := range sentences(answer) {
		for _, c := range citeSentence(answer, s, hits) {
			hit := hits[c.hit]
			start := offset.at(c.start)
			events = append(events, protocol.CitationEvent{
				Type: protocol.EventCitation, ChunkID: hit.ChunkID, DocumentID: hit.Path,
				AnswerStart: start, AnswerEnd: start + utf8.RuneCountInString(answer[c.start:c.end]), Quote: c.quote,
			})
		}
	}
	return events
}

func citeSentence(answer string, s span, hits []search.Hit) []citation {
	sentence := answer[s.start:s.end]
	for i, h := range hits {
		if strings.Contains(h.Text, sentence) {
			return []citation{{s, i, sentence}}
		}
	}
	if marked := markers(sentence, len(hits)); len(marked) > 0 {
		var list []citation
		for _, i := range marked {
			if quote := bestSentence(hits[i].Text, sentence); quote != "" {
				list = append(list, citation{s, i, quote})
			}
		}
		return list
	}
	return citeParts(answer, s, hits)
}

// citeParts finds, from left to right, the longest runs of whole words that occur
// verbatim in a chunk.
func citeParts(answer string, s span, hits []search.Hit) []citation {
	var list []citation
	ws := words(answer[s.start:s.end])
	for i := 0; i+minQuotedWords <= len(ws); {
		best, hit := 0, 0
		from := s.start + ws[i].start
		for j, h := range hits {
			n := max(best+1, minQuotedWords)
			for i+n <= len(ws) && strings.Contains(h.Text, answer[from:s.start+ws[i+n-1].end]) {
				best, hit = n, j
				n++
			}
		}
		if best == 0 {
			i++
			continue
		}
		part := span{from, s.start + ws[i+best-1].end}
		list = append(list, citation{part, hit, answer[part.start:part.end]})
		i += best
	}
	return list
}

// markers returns the indexes of the hits that a sentence names, each once and in
// order. Numbers without a hit are left out.
func markers(sentence string, hits int) []int {
	var list []int
	seen := make([]bool, hits)
	for i := 0; i < len(sentence); {
		numbers, size := leadingMarker(sentence[i:])
		for _, n := range numbers {
			if n >= 1 && n <= hits && !seen[n-1] {
				seen[n-1] = true
				list = append(list, n-1)
			}
		}
		i += max(size, 1)
	}
	return list
}

// bestSentence returns the sentence of text that has the most distinct words in common
// with claim, the first one of several.
func bestSentence(text, claim string) string {
	wanted := wordSet(claim)
	best, most := "", -1
	for _, s := range sentences(text) {
		shared := 0
		for w := range wordSet(text[s.start:s.end]) {
			if wanted[w] {
				shared++
			}
		}
		if shared > most {
			best, most = text[s.start:s.end], shared
		}
	}
	return best
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		set[w] = true
	}
	return set
}

// runeOffsets converts byte offsets of a text into offsets in code points. It does not
// count from the start each time as long as the offsets ascend.
type runeOffsets struct {
	text        string
	byte, runes int
}

func (o *runeOffsets) at(i int) int {
	if i < o.byte {
		o.byte, o.runes = 0, 0
	}
	o.runes += utf8.RuneCountInString(o.text[o.byte:i])
	o.byte = i
	return o.runes
}
