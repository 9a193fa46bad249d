package convert

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// script writes the text of sub or sup with a sign before it if the meaning would change without:
// 10 to the power of 6 is not 106. In H2O, 1st and Mme, nothing is lost.
func (w *htmlWriter) script(n *html.Node, sign string) {
	text := strings.TrimSpace(textOf(n))
	first, size := utf8.DecodeRuneInString(text)
	before, _ := utf8.DecodeLastRune(w.inline.b)
	afterDigit := len(w.inline.b) > 0 && !w.inline.space && unicode.IsDigit(before)
	switch {
	case len(w.inline.b) == 0 || w.inline.space || !isLetter(before) && before != ')':
	case sign == "^" && hasNote(n):
		w.inline.raw("\\[")
		w.children(n)
		w.inline.raw("]")
		return
	case unicode.IsDigit(first) && sign == "_" && !afterDigit:
	case unicode.IsLetter(first) && (len(text) > size || afterDigit && strings.ContainsRune("aeoAEO", first)):
	case beginsScript(first):
		w.inline.raw(sign)
	}
	w.children(n)
}

// beginsScript reports whether a raised or lowered text that begins with r would be taken for a
// part of the text before it. A prime, a degree or an accent would not.
func beginsScript(r rune) bool { return isLetter(r) || strings.ContainsRune("+-−–(*†", r) }

// hasNote reports whether an element is the sign of a note: a link to a place on the page.
func hasNote(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.DataAtom == atom.A && strings.Contains(attribute(c, "href"), "#") {
			return !strings.HasPrefix(strings.TrimSpace(textOf(c)), "[")
		}
	}
	return false
}

// explain writes the meaning of an abbreviation behind its first occurrence.
func (w *htmlWriter) explain(n *html.Node, title string) {
	short, title := strings.TrimSpace(textOf(n)), oneLine(title, maxTitle)
	if title == "" || short == "" || strings.EqualFold(short, title) || w.known[short] {
		return
	}
	if w.known == nil {
		w.known = map[string]bool{}
	}
	w.known[short] = true
	w.inline.space = true
	w.inline.raw("(")
	w.inline.text(title)
	w.inline.raw(")")
}

var day = regexp.MustCompile(`^\s*(\d{4}-\d\d-\d\d)`)

// dateOf writes the date of a time element whose text does not have its year, such as yesterday.
func (w *htmlWriter) dateOf(n *html.Node) {
	if date := day.FindStringSubmatch(attribute(n, "datetime")); date != nil && !strings.Contains(textOf(n), date[1][:4]) {
		w.inline.space = w.inline.space || len(w.inline.b) > 0
		w.inline.raw("(" + date[1] + ")")
	}
}

// checkbox writes a box of a list of tasks.
func (w *htmlWriter) checkbox(n *html.Node) {
	if attribute(n, "type") != "checkbox" {
		return
	}
	box := "[ ]"
	if hasAttribute(n, "checked") {
		box = "[x]"
	}
	w.inline.raw(box)
	w.inline.space = true
}

// letterMark returns the mark of an item of a list whose marks are letters or Roman numerals, "" if
// it has numbers.
func letterMark(list *html.Node, n int) string {
	switch kind := attribute(list, "type"); {
	case n < 1 || n > 3999:
		return ""
	case kind == "i":
		return strings.ToLower(roman(n)) + ". "
	case kind == "I":
		return roman(n) + ". "
	case (kind == "a" || kind == "A") && n <= 26:
		return string(rune(kind[0])+rune(n)-1) + ". "
	}
	return ""
}

func roman(n int) string {
	var b strings.Builder
	for _, r := range []struct {
		value int
		sign  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.sign)
		}
	}
	return b.String()
}
