package reader

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

// mark is the content of a reader's markers at one place of the answer.
type mark struct {
	at   int   // byte offset in the shown answer
	hits []int // indexes, each once
}

// Limits on held text: white space in characters, brackets and the word before them in bytes.
const (
	maxGap    = 64
	maxMarker = 64
	maxWord   = 256
)

// take adds whole characters to the held text, and returns the part that can be shown. After the
// last call nothing is held.
func (a *Answer) take(text string, last bool) string {
	from := a.shown.Len()
	// Not strings.ToValidUTF8, which replaces adjacent bytes together: one piece or two would
	// differ.
	a.held += string([]rune(text))
	for a.held != "" || last && a.after {
		if a.after && !a.afterMarker(last) || !a.after && !a.step(last) {
			break
		}
	}
	return a.shown.String()[from:]
}

// step decides about the beginning of the held text. It returns false if more text is needed.
func (a *Answer) step(last bool) bool {
	plain := strings.IndexFunc(a.held, func(r rune) bool { return r == '[' || isGap(r) })
	if plain != 0 {
		a.show(plain)
		return true
	}
	gap := leadingRun(a.held, isGap)
	rest := a.held[gap:]
	switch {
	case rest == "" && !last:
		return false
	case !strings.HasPrefix(rest, "["):
		a.show(gap)
		return true
	}
	names, size, undecided := a.marker(rest, last)
	switch {
	case undecided:
		return false
	case size == 0 || a.inBrackets() || gap == 0 && a.quoted(rest[:size]):
		a.show(gap + 1)
	default:
		a.gap, a.held, a.after = a.held[:gap], rest[size:], true
		a.marks = append(a.marks, mark{a.shown.Len(), names})
	}
	return true
}

// afterMarker decides whether another marker follows, perhaps after commas.
func (a *Answer) afterMarker(last bool) bool {
	separator := func(r rune) bool { return isGap(r) || r == ',' || r == ';' }
	n := leadingRun(a.held, separator)
	rest := a.held[n:]
	if rest == "" && !last {
		return false
	}
	if strings.HasPrefix(rest, "[") {
		names, size, undecided := a.marker(rest, last)
		if undecided {
			return false
		}
		if size > 0 {
			m := &a.marks[len(a.marks)-1]
			m.hits = union(m.hits, names)
			a.held = rest[size:]
			return true
		}
	}
	a.after = false
	if !a.line {
		a.held = rest
		if rest == "" || rest[0] == '\n' || rest[0] == '\r' { // the markers have a line of their own
			end := len(strings.TrimRightFunc(a.shown.String(), unicode.IsSpace))
			for i := len(a.marks) - 1; i >= 0 && a.marks[i].at > end; i-- { // a wide gap separates marks
				a.marks[i].at = end
			}
		}
		return true
	}
	if next, _ := utf8.DecodeRuneInString(a.held); a.held != "" && !unicode.IsSpace(next) && !closes(next) {
		a.shown.WriteString(a.gap)
	}
	return true
}

// show moves n bytes of the held text to the answer, or all for -1.
func (a *Answer) show(n int) {
	if n < 0 {
		n = len(a.held)
	}
	text := a.held[:n]
	a.shown.WriteString(text)
	a.held = a.held[n:]
	end := strings.LastIndexAny(text, "\n\r") + 1
	a.line = a.line && end == 0 || strings.TrimSpace(text[end:]) != ""
}

// marker parses a marker at the start of text, which begins with a bracket. Its size is 0 if there
// is none. It is undecided while more text may change that.
func (a *Answer) marker(text string, last bool) (names []int, size int, undecided bool) {
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
		if n >= 1 && n <= len(a.hits) {
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

// inBrackets reports whether the answer so far ends inside brackets that have only numbers and other
// brackets. A marker taken out there would leave brackets that look like one.
func (a *Answer) inBrackets() bool {
	shown := a.shown.String()
	shown = shown[max(0, len(shown)-maxMarker):]
	shown = shown[strings.LastIndexFunc(shown, func(r rune) bool { return !strings.ContainsRune(markerChars+"[]", r) })+1:]
	open := 0
	for _, r := range shown {
		switch {
		case r == '[':
			open++
		case r == ']' && open > 0:
			open--
		}
	}
	return open > 0
}

// quoted reports whether a note has the last word of the answer with these brackets.
func (a *Answer) quoted(brackets string) bool {
	shown := a.shown.String()
	shown = shown[max(0, len(shown)-maxWord):]
	word := shown[strings.LastIndexFunc(shown, func(r rune) bool { return !isWord(r) })+1:]
	if word == "" || strings.HasSuffix(word, ".") {
		return false
	}
	for _, h := range a.hits {
		if strings.Contains(h.Text, word+brackets) {
			return true
		}
	}
	return false
}

// markerChars are the characters that a marker may contain between its brackets.
const markerChars = "0123456789 ,;-–"

// leadingMarker parses brackets with numbers at the start of text, such as [1], [1, 2] and [1-3].
// It returns the numbers and the length in bytes, 0 if there are none. With partial, the text ends
// before the brackets do.
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
