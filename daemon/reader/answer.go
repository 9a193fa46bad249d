package reader

import (
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// Answer removes the markers from an answer while it arrives, and keeps them for the citations. The
// shown text does not depend on how the answer is cut into deltas.
//
// A marker is one that the prompt asks for, [1] or [1, 2], and also [1-3] and [[1]], with the white
// space before it. Brackets are text of the answer in these cases:
//
//   - no number is the id of a note, or one is larger than any id can be: [2024]
//   - a parenthesis follows, as in a Markdown link: [1](https://…)
//   - they are inside other brackets that have only numbers so far: [[1]
//   - they follow a word without a space, and a note has the same: array[1]
//
// It is not safe for concurrent use and must not be copied.
type Answer struct {
	hits  []search.Hit
	shown strings.Builder
	line  bool // the last line of shown has text
	marks []mark

	bytes string // the beginning of a character
	held  string // text that may become part of a marker
	after bool   // held begins after a marker
	gap   string // white space before that marker
}

// NewAnswer returns an empty answer to a request that Prompt.Request has made from these passages.
func NewAnswer(passages []search.Hit) *Answer { return &Answer{hits: passages} }

// Write takes the next piece of the answer and returns the text that can be shown, which may be
// empty. Invalid UTF-8 is replaced by U+FFFD, as JSON needs it.
func (a *Answer) Write(delta string) string {
	a.bytes += delta
	n := len(a.bytes)
	for i := max(0, n-utf8.UTFMax+1); i < n; i++ {
		if utf8.RuneStart(a.bytes[i]) && !utf8.FullRuneInString(a.bytes[i:]) {
			n = i
			break
		}
	}
	whole := a.bytes[:n]
	a.bytes = a.bytes[n:]
	return a.take(whole, false)
}

// Close returns the rest of the text at the end of the answer.
func (a *Answer) Close() string {
	rest := a.bytes
	a.bytes = ""
	return a.take(rest, true)
}

// Text returns the shown text: all that Write and Close have returned.
func (a *Answer) Text() string { return a.shown.String() }

// Citations ties the sentences of Text to the passages that support them, in the order of the
// sentences. It is called after Close. A sentence is cited by the first of these rules that finds
// something:
//
//  1. The reader has marked the sentence: the sentence, with a quote of each passage that a
//     marker names. The quote is the sentence itself if the passage has it verbatim, else the
//     sentence of the passage that has the most words in common. If only another passage has it
//     verbatim, that one is cited too.
//  2. A passage contains the sentence verbatim: the sentence, with itself as the quote.
//  3. A passage contains parts of it, of 4 words or more, verbatim: those parts.
//
// Offsets count code points of Text. A quote always occurs in its passage.
func (a *Answer) Citations() []protocol.CitationEvent {
	return cite(a.Text(), a.marks, a.hits)
}
