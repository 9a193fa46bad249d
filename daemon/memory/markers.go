package memory

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// mark is what a reader's markers at one place of the answer say.
type mark struct {
	at   int   // byte offset in the shown answer
	hits []int // indexes, each once
}

// markerFilter removes the markers from an answer while it arrives, and keeps what they say. What
// it shows depends on the text only, not on how it is cut into deltas.
//
// A marker is what the prompt asks for, [1] or [1, 2], and also [1-3] and [[1]], with the white
// space before it. Brackets are text of the answer in these cases:
//
//   - no number is the id of a note, or one is larger than any id can be: [2024]
//   - a parenthesis follows, as in a Markdown link: [1](https://…)
//   - they are inside other brackets that have only numbers so far: [[1]
//   - they follow a word without a space, and a note has the same: array[1]
type markerFilter struct {
	hits  []search.Hit
	shown strings.Builder
	line  bool // the last line of shown has text
	marks []mark

	bytes string // the beginning of a character
	held  string // text that may become part of a marker
	after bool   // held begins after a marker
	gap   string // white space before that marker
}

// What is held is limited: white space in characters, brackets in bytes. So is the word before
// brackets, in bytes.
const (
	maxGap    = 64
	maxMarker = 64
	maxWord   = 256
)

// write takes the next piece of the answer and returns what can be shown. Invalid UTF-8 is replaced
// by U+FFFD, as JSON needs it.
func (f *markerFilter) write(delta string) string {
	f.bytes += delta
	n := len(f.bytes)
	for i := max(0, n-utf8.UTFMax+1); i < n; i++ {
		if utf8.RuneStart(f.bytes[i]) && !utf8.FullRuneInString(f.bytes[i:]) {
			n = i
			break
		}
	}
	whole := f.bytes[:n]
	f.bytes = f.bytes[n:]
	return f.take(whole, false)
}

// close returns what is left to show at the end of the answer.
func (f *markerFilter) close() string {
	rest := f.bytes
	f.bytes = ""
	return f.take(rest, true)
}

func (f *markerFilter) take(text string, last bool) string {
	from := f.shown.Len()
	// Not strings.ToValidUTF8, which replaces adjacent bytes together: one piece or two would
	// differ.
	f.held += string([]rune(text))
	for f.held != "" || last && f.after {
		if f.after && !f.afterMarker(last) || !f.after && !f.step(last) {
			break
		}
	}
	return f.shown.String()[from:]
}

// step decides about the beginning of what is held. It returns false if more text is needed.
func (f *markerFilter) step(last bool) bool {
	plain := strings.IndexFunc(f.held, func(r rune) bool { return r == '[' || isGap(r) })
	if plain != 0 {
		f.show(plain)
		return true
	}
	gap := leadingRun(f.held, isGap)
	rest := f.held[gap:]
	switch {
	case rest == "" && !last:
		return false
	case !strings.HasPrefix(rest, "["):
		f.show(gap)
		return true
	}
	names, size, undecided := f.marker(rest, last)
	switch {
	case undecided:
		return false
	case size == 0 || f.inBrackets() || gap == 0 && f.quoted(rest[:size]):
		f.show(gap + 1)
	default:
		f.gap, f.held, f.after = f.held[:gap], rest[size:], true
		f.marks = append(f.marks, mark{f.shown.Len(), names})
	}
	return true
}

// afterMarker decides whether another marker follows, perhaps after commas.
func (f *markerFilter) afterMarker(last bool) bool {
	separator := func(r rune) bool { return isGap(r) || r == ',' || r == ';' }
	n := leadingRun(f.held, separator)
	rest := f.held[n:]
	if rest == "" && !last {
		return false
	}
	if strings.HasPrefix(rest, "[") {
		names, size, undecided := f.marker(rest, last)
		if undecided {
			return false
		}
		if size > 0 {
			m := &f.marks[len(f.marks)-1]
			m.hits = union(m.hits, names)
			f.held = rest[size:]
			return true
		}
	}
	f.after = false
	if !f.line {
		f.held = rest
		if rest == "" || rest[0] == '\n' || rest[0] == '\r' { // the markers have a line of their own
			f.marks[len(f.marks)-1].at = len(strings.TrimRightFunc(f.shown.String(), unicode.IsSpace))
		}
		return true
	}
	if next, _ := utf8.DecodeRuneInString(f.held); f.held != "" && !unicode.IsSpace(next) && !closes(next) {
		f.shown.WriteString(f.gap)
	}
	return true
}

// show moves n bytes of what is held to the answer, or all for -1.
func (f *markerFilter) show(n int) {
	if n < 0 {
		n = len(f.held)
	}
	text := f.held[:n]
	f.shown.WriteString(text)
	f.held = f.held[n:]
	end := strings.LastIndexAny(text, "\n\r") + 1
	f.line = f.line && end == 0 || strings.TrimSpace(text[end:]) != ""
}

// marker parses a marker at the start of text, which begins with a bracket. Its size is 0 if there
// is none. It is undecided while more text may change that.
func (f *markerFilter) marker(text string, last bool) (names []int, size int, undecided bool) {
	single, double := text, strings.HasPrefix(text, "[[")
	if double {
		single = text[1:]
	}
	numbers, size, partial := leadingMarker(single)
	if double && size > 0 {
		partial = size == len(single)
		if !strings.HasPrefix(single[size:], "]") {
			numbers = nil
		}
		size += len("[]")
	}
	if partial && !last {
		return nil, 0, true
	}
	for _, n := range numbers {
		if n > protocol.MaxAskTopK {
			return nil, 0, false
		}
		if n >= 1 && n <= len(f.hits) {
			names = union(names, []int{n - 1})
		}
	}
	switch {
	case len(names) == 0:
		return nil, 0, false
	case size == len(text) && !last:
		return nil, 0, true // a parenthesis may follow
	case strings.HasPrefix(text[size:], "("):
		return nil, 0, false
	}
	return names, size, false
}

// inBrackets reports whether the answer so far ends with an open bracket and numbers only.
func (f *markerFilter) inBrackets() bool {
	shown := f.shown.String()
	shown = shown[max(0, len(shown)-maxMarker):]
	i := strings.LastIndexByte(shown, '[')
	return i >= 0 && strings.Trim(shown[i+1:], markerChars) == ""
}

// quoted reports whether a note has the last word of the answer with these brackets.
func (f *markerFilter) quoted(brackets string) bool {
	shown := f.shown.String()
	shown = shown[max(0, len(shown)-maxWord):]
	word := shown[strings.LastIndexFunc(shown, func(r rune) bool { return !isWord(r) })+1:]
	if word == "" || strings.HasSuffix(word, ".") {
		return false
	}
	for _, h := range f.hits {
		if strings.Contains(h.Text, word+brackets) {
			return true
		}
	}
	return false
}

// markerChars are what a marker may contain between its brackets.
const markerChars = "0123456789 ,;-–"

// leadingMarker parses brackets with numbers at the start of text, such as [1], [1, 2] and [1-3].
// It returns the numbers and the length in bytes, 0 when there are none. With partial, the text
// ends before the brackets do.
func leadingMarker(text string) (numbers []int, size int, partial bool) {
	if !strings.HasPrefix(text, "[") {
		return nil, 0, false
	}
	inner := text[1:]
	end := strings.IndexFunc(inner, func(r rune) bool { return !strings.ContainsRune(markerChars, r) })
	switch {
	case end < 0:
		return nil, 0, len(inner) < maxMarker
	case inner[end] != ']' || end >= maxMarker:
		return nil, 0, false
	}
	list := strings.NewReplacer(";", ",", "–", "-").Replace(inner[:end])
	for field := range strings.SplitSeq(list, ",") {
		first, to, isRange := strings.Cut(field, "-")
		if !isRange {
			to = first
		}
		from, err := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
		until, untilErr := strconv.ParseUint(strings.TrimSpace(to), 10, 16)
		if err != nil || untilErr != nil || until < from || until-from > protocol.MaxAskTopK {
			return nil, 0, false
		}
		for n := from; n <= until; n++ {
			numbers = append(numbers, int(n))
		}
	}
	return numbers, end + len("[]"), false
}

// union appends the members of b that a lacks.
func union(a, b []int) []int {
	for _, n := range b {
		known := false
		for _, m := range a {
			known = known || m == n
		}
		if !known {
			a = append(a, n)
		}
	}
	return a
}

// leadingRun returns the length of the longest prefix of characters in the set, at most maxGap of
// them.
func leadingRun(text string, in func(rune) bool) int {
	n := 0
	for i, r := range text {
		if n == maxGap || !in(r) {
			return i
		}
		n++
	}
	return len(text)
}

// isGap reports whether r is white space within a line.
func isGap(r rune) bool { return r == ' ' || r == '\t' || r == '\u00a0' || r == '\u202f' }

// closes reports whether no space belongs before r.
func closes(r rune) bool { return strings.ContainsRune(".,;:!?…)]}\"'”’»|*_。，", r) }

// isWord reports whether r is part of a word such as a.b[0].
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.[]", r)
}
