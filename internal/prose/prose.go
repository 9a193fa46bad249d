// Package prose divides text that people wrote into sentences, with and without Markdown.
package prose

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// marks end a sentence if a space follows, wideMarks without one too.
	marks     = ".!?…\u037e．؟۔।॥።፧"
	wideMarks = "。！？｡"
	// emphasis belongs to the sentence before it if a space follows.
	emphasis = "*_`"
	// openers may come before the first word of a sentence.
	openers = "\"'“‘„«([「『（*_-–—"
)

// Closers are closing quotation marks and brackets. They belong to the sentence before them.
const Closers = "\"'”’»)]}」』】》〉〕）］｝｣"

// Span is a half-open range of bytes of a text.
type Span struct{ Start, End int }

// Of returns the bytes of text in the span.
func (s Span) Of(text string) string { return text[s.Start:s.End] }

// Trimmed returns the span without the white space at both ends.
func (s Span) Trimmed(text string) Span {
	start := s.End - len(strings.TrimLeftFunc(s.Of(text), unicode.IsSpace))
	return Span{start, start + len(strings.TrimSpace(text[start:s.End]))}
}

// Split yields the sentences of a text, as Spans does.
func Split(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := range Spans(text) {
			if !yield(s.Of(text)) {
				return
			}
		}
	}
}

// Spans yields the sentences of a text, without white space around them. A sentence ends at a line
// break. It ends at a full stop, question mark, exclamation mark or ellipsis that a space follows;
// in Chinese and Japanese, none need follow. Closing quotation marks and brackets belong to it, and
// so do references such as [1]. It does not end before a small letter or after an abbreviation.
func Spans(text string) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		start := 0
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			end, ended := i+size, r == '\n' || r == '\r'
			if strings.ContainsRune(marks+wideMarks, r) {
				end, ended = ending(text, start, i)
			}
			if i = end; !ended {
				continue
			}
			if s := (Span{start, end}).Trimmed(text); s.Start < s.End && !yield(s) {
				return
			}
			start = end
		}
		if s := (Span{start, len(text)}).Trimmed(text); s.Start < s.End {
			yield(s)
		}
	}
}

// Ends reports whether a text ends like a sentence.
func Ends(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, Closers))
	return strings.ContainsRune(marks+wideMarks, last)
}

// ending returns the end of the marks at position at, with what belongs to them, and whether they
// end the sentence that begins at start.
func ending(text string, start, at int) (end int, ended bool) {
	rest := strings.TrimLeft(text[at:], marks+wideMarks)
	run := text[at : len(text)-len(rest)]
	rest = strings.TrimLeft(rest, marks+wideMarks+Closers)
	wide := strings.ContainsAny(run, wideMarks)
	if after := strings.TrimLeft(rest, Closers+emphasis); beginsWithSpace(after) {
		rest = after
	}
	if after := afterReferences(rest); len(after) < len(rest) {
		return len(text) - len(after), true
	}
	ended = wide || beginsWithSpace(rest) && !continues(rest) &&
		(run != "." || !abbreviated(text[start:at], rest))
	return len(text) - len(rest), ended
}

// beginsWithSpace reports whether a text begins with white space or is empty.
func beginsWithSpace(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text == "" || unicode.IsSpace(first)
}

// afterReferences returns a text without numbers in brackets at its start, such as [1] and [2, 3].
func afterReferences(text string) string {
	for {
		inner, opened := strings.CutPrefix(strings.TrimLeft(text, " "), "[")
		rest, closed := strings.CutPrefix(strings.TrimLeft(inner, "0123456789 ,;-–"), "]")
		if !opened || !closed || !strings.ContainsAny(inner[:len(inner)-len(rest)], "0123456789") {
			return text
		}
		text = rest
	}
}

// continues reports whether a text begins with a small letter, after white space.
func continues(text string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(text, unicode.IsSpace))
	return unicode.IsLower(first)
}

// Words whose full stop does not end a sentence, in small letters: abbreviations, and others that
// are abbreviations only before a number.
var (
	abbreviations = wordSet("mr mrs ms messrs dr prof rev st sr sra dra vs approx cf ca bzw")
	numbering     = wordSet("no nos nr vol fig pp")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// abbreviated reports whether the last word before a full stop is an abbreviation: a known one, an
// initial, or letters with full stops between them, such as "e.g" and "z. B".
func abbreviated(before, after string) bool {
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	word = strings.TrimLeft(word, openers)
	if first, size := utf8.DecodeRuneInString(word); size == len(word) {
		return unicode.IsUpper(first) || unicode.IsLower(first) && beginsWithInitial(after)
	}
	small := strings.ToLower(word)
	if numbering[small] {
		next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, unicode.IsSpace))
		return unicode.IsDigit(next)
	}
	return abbreviations[small] || dotted(word)
}

// beginsWithInitial reports whether a text begins with an initial, after white space.
func beginsWithInitial(text string) bool {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	first, size := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(first) && strings.HasPrefix(text[size:], ".")
}

// dotted reports whether a word is single letters with full stops between them.
func dotted(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		letter, size := utf8.DecodeRuneInString(part)
		if size != len(part) || !unicode.IsLetter(letter) {
			return false
		}
	}
	return true
}
