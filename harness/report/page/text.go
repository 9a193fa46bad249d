package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/figure"
	"evalctl/internal/printable"
)

// clean replaces every invisible character by its number, such as [U+202E], except line breaks,
// tabs and the joiners of scripts and emoji.
func clean(text string) string {
	visible := func(r rune) bool {
		switch r {
		case '\n', '\t', '\u200c', '\u200d':
			return true
		case utf8.RuneError, ' ':
			return true
		}
		return unicode.IsGraphic(r)
	}
	if strings.IndexFunc(text, func(r rune) bool { return !visible(r) }) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if visible(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// text is a text of a dataset or a daemon. More is the number of omitted characters.
type text struct {
	Shown string
	More  int
}

// cut returns the first characters of a text, at most most bytes.
func cut(s string, most int) text {
	shown, more := prefix(s, most)
	return text{clean(shown), more}
}

// slack is by how many bytes a text may exceed its limit before it is cut.
const slack = 20

// prefix returns the first characters of a text, and the number of omitted ones.
func prefix(s string, most int) (shown string, more int) {
	if len(s) <= most+slack {
		return s, 0
	}
	shown = printable.Prefix(s, most)
	return shown, utf8.RuneCountInString(s[len(shown):])
}

// line returns the first characters of a text on one line, at most most bytes.
func line(s string, most int) string {
	t := cut(strings.Join(strings.Fields(s), " "), most)
	if t.More > 0 {
		return strings.TrimRight(t.Shown, " ") + "…"
	}
	return t.Shown
}

// nameLength limits a name, a path or a tag, in bytes.
const nameLength = 120

func name(s string) string { return line(s, nameLength) }

// milliseconds formats a time.
func milliseconds(ms float64) string {
	switch {
	case ms == 0:
		return "0 ms"
	case ms >= 100_000:
		return fmt.Sprintf("%.0f s", ms/1000)
	}
	return figure.Duration(ms)
}
