package reader

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// minQuotedWords is the length of the shortest part of a sentence that counts as a quote. Fewer
// words may agree by chance.
const minQuotedWords = 4

// citation is a byte span of the answer and the quote from a hit that supports it.
type citation struct {
	span
	hit   int
	quote string
}

// cite returns the citations of an answer without its markers, by the rules of Answer.Citations.
func cite(answer string, marks []mark, hits []search.Hit) []protocol.CitationEvent {
	var events []protocol.CitationEvent
	offset := runeOffsets{text: answer}
	list := splitAfterMarks(answer, sentences(answer), marks)
	for i, s := range list {
		n := marksOf(s, marks, i == len(list)-1)
		var marked []int
		for _, m := range marks[:n] {
			marked = union(marked, m.hits)
		}
		marks = marks[n:]
		for _, c := range citeSentence(answer, s, marked, hits) {
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

// splitAfterMarks ends a sentence where markers followed its final punctuation, even if the
// next one does not begin like a sentence.
func splitAfterMarks(answer string, list []span, marks []mark) []span {
	var out []span
	for _, s := range list {
		for ; len(marks) > 0 && marks[0].at < s.end; marks = marks[1:] {
			if at := marks[0].at; s.start < at && endsSentence(answer[s.start:at]) {
				out = appendTrimmed(out, answer, s.start, at)
				s.start = at
			}
		}
		out = appendTrimmed(out, answer, s.start, s.end)
	}
	return out
}

func endsSentence(text string) bool {
	text = strings.TrimRight(text, "\"')")
	return text != "" && strings.IndexByte(".!?", text[len(text)-1]) >= 0
}

// marksOf returns how many of the marks, which are in ascending order, belong to a sentence: the
// marks up to its end, and for the last sentence the rest.
func marksOf(s span, marks []mark, last bool) int {
	n := 0
	for n < len(marks) && (last || marks[n].at <= s.end) {
		n++
	}
	return n
}

func citeSentence(answer string, s span, marked []int, hits []search.Hit) []citation {
	sentence := answer[s.start:s.end]
	has := func(h search.Hit) bool { return strings.Contains(h.Text, sentence) }
	var list []citation
	quoted := false
	for _, i := range marked {
		quote := sentence
		if !has(hits[i]) {
			quote = bestSentence(hits[i].Text, sentence)
		} else {
			quoted = true
		}
		if quote != "" {
			list = append(list, citation{s, i, quote})
		}
	}
	if i := slices.IndexFunc(hits, has); i >= 0 && !quoted {
		list = append(list, citation{s, i, sentence})
	}
	if len(list) > 0 {
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

// bestSentence returns the first sentence of text that has the most distinct words in common with
// claim. If none has any, as when the claim is a count or in another language, it is the first
// sentence other than a heading.
func bestSentence(text, claim string) string {
	wanted := wordSet(claim)
	best, most := "", -1
	for _, s := range sentences(text) {
		sentence := text[s.start:s.end]
		shared := 0
		for w := range wordSet(sentence) {
			if wanted[w] {
				shared++
			}
		}
		if shared > most || most == 0 && shared == 0 && isHeading(best) {
			best, most = sentence, shared
		}
	}
	return best
}

func isHeading(line string) bool { return strings.HasPrefix(line, "#") }

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		set[w] = true
	}
	return set
}

// runeOffsets converts byte offsets of a text into offsets in code points. As long as the offsets
// ascend, it does not count from the start each time.
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
