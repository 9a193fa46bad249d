package reader

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/internal/prose"
)

// minQuotedWords is the length of the shortest part of a sentence that counts as a quote. Fewer
// words may agree by chance.
const minQuotedWords = 4

// citation is a byte span of the answer and the quote from a hit that supports it.
type citation struct {
	prose.Span
	hit   int
	quote string
}

// cite returns the citations of an answer without its markers, by the rules of Answer.Citations.
func cite(answer string, marks []mark, hits []search.Hit) []protocol.CitationEvent {
	var events []protocol.CitationEvent
	offset := runeOffsets{text: answer}
	list := splitAfterMarks(answer, marks)
	for i, s := range list {
		n := marksOf(s, marks, i == len(list)-1)
		var marked []int
		for _, m := range marks[:n] {
			marked = union(marked, m.hits)
		}
		marks = marks[n:]
		for _, c := range citeSentence(answer, s, marked, hits) {
			hit := hits[c.hit]
			start := offset.at(c.Start)
			events = append(events, protocol.CitationEvent{
				Type: protocol.EventCitation, ChunkID: hit.ChunkID, DocumentID: hit.Path,
				AnswerStart: start, AnswerEnd: start + utf8.RuneCountInString(c.Of(answer)), Quote: c.quote,
			})
		}
	}
	return events
}

// splitAfterMarks returns the sentences of an answer. One also ends where markers followed its final
// punctuation, even if the next one does not begin like a sentence.
func splitAfterMarks(answer string, marks []mark) []prose.Span {
	var out []prose.Span
	for s := range prose.Spans(answer) {
		for ; len(marks) > 0 && marks[0].at < s.End; marks = marks[1:] {
			at := marks[0].at
			if s.Start < at && prose.Ends(answer[s.Start:at]) {
				out = append(out, prose.Span{Start: s.Start, End: at}.Trimmed(answer))
				s = prose.Span{Start: at, End: s.End}.Trimmed(answer)
			}
		}
		out = append(out, s)
	}
	return out
}

// marksOf returns how many of the marks, which are in ascending order, belong to a sentence: the
// marks up to its end, and for the last sentence the rest.
func marksOf(s prose.Span, marks []mark, last bool) int {
	n := 0
	for n < len(marks) && (last || marks[n].at <= s.End) {
		n++
	}
	return n
}

func citeSentence(answer string, s prose.Span, marked []int, hits []search.Hit) []citation {
	sentence := s.Of(answer)
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
func citeParts(answer string, s prose.Span, hits []search.Hit) []citation {
	var list []citation
	ws := words(s.Of(answer))
	for i := 0; i+minQuotedWords <= len(ws); {
		best, hit := 0, 0
		from := s.Start + ws[i].Start
		for j, h := range hits {
			n := max(best+1, minQuotedWords)
			for i+n <= len(ws) && strings.Contains(h.Text, answer[from:s.Start+ws[i+n-1].End]) {
				best, hit = n, j
				n++
			}
		}
		if best == 0 {
			i++
			continue
		}
		part := prose.Span{Start: from, End: s.Start + ws[i+best-1].End}
		list = append(list, citation{part, hit, part.Of(answer)})
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
	for sentence := range prose.Split(text) {
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

// words returns the parts of a text that are separated by white space.
func words(text string) []prose.Span {
	var list []prose.Span
	start := -1
	for i, r := range text {
		switch space := unicode.IsSpace(r); {
		case space && start >= 0:
			list = append(list, prose.Span{Start: start, End: i})
			start = -1
		case !space && start < 0:
			start = i
		}
	}
	if start >= 0 {
		list = append(list, prose.Span{Start: start, End: len(text)})
	}
	return list
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
