// Package visible normalizes texts so that only visible differences count. All comparisons of
// answers with expected or forbidden texts of a dataset use it.
package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Text returns s in NFC without invisible characters, with LF as every line end and no space before
// it. Typographic characters are replaced by keyboard characters, one for one: space separators
// (Zs), apostrophes and single quotation marks, double quotation marks, and dashes (Pd) with the
// minus sign. A second call changes nothing.
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	return typed(lines(shown(s)))
}

// Folded is Text without upper and lower case (Unicode Standard, section 3.13, D145).
func Folded(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	return typed(lines(foldCase(shown(s))))
}

// Words is Folded with every run of white space as one space, and none around it.
func Words(s string) string { return strings.Join(strings.Fields(Folded(s)), " ") }

// Path returns a path in the form in which paths are compared.
func Path(s string) string { return norm.NFC.String(s) }

// isPlain reports whether s is ASCII that Text returns as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x7f, c < ' ' && !strings.ContainsRune("\t\n\v\f", rune(c)):
			return false
		case c == '\n' && i > 0 && (s[i-1] == ' ' || s[i-1] == '\t'):
			return false
		}
	}
	return true
}

// shown returns s without the characters that show nothing.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if IsHidden(r) {
			return -1
		}
		return r
	}, s)
}

// IsHidden reports whether a character shows nothing and takes no room: a default ignorable code
// point (Unicode, DerivedCoreProperties: Default_Ignorable_Code_Point), or a control character that
// is not white space.
func IsHidden(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return !unicode.IsSpace(r)
	case r < 0xa0, unicode.Is(unicode.White_Space, r), unicode.Is(unicode.Prepended_Concatenation_Mark, r),
		r >= 0xfff9 && r <= 0xfffb, r >= 0x13430 && r <= 0x13440: // these have a form of their own
		return false
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf)
}

// lineEnds are all line ends as LF. CR LF comes first.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// lines returns s with LF as every line end and without the spaces before it.
func lines(s string) string {
	s = lineEnds.Replace(s)
	if !strings.Contains(s, "\n") {
		return s
	}
	all := strings.Split(s, "\n")
	for i := range len(all) - 1 {
		all[i] = strings.TrimRightFunc(all[i], func(r rune) bool { return r == '\t' || unicode.Is(unicode.Zs, r) })
	}
	return strings.Join(all, "\n")
}

// foldCase returns s folded for comparisons that ignore case, decomposed.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		// cases exchanges the two cases of Cherokee.
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r)
		}
		return r
	}, cases.Fold().String(norm.NFD.String(s)))
}

// typed returns s in NFC with the characters of a keyboard.
func typed(s string) string { return strings.Map(Typed, norm.NFC.String(s)) }

// Typed returns the keyboard's character for a typographic one, and others unchanged.
func Typed(r rune) rune {
	switch r {
	case '‘', '’', '‛', 'ʼ', '＇':
		return '\''
	case '“', '”', '„', '‟', '＂':
		return '"'
	case '−':
		return '-'
	}
	switch {
	case r < utf8.RuneSelf:
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Pd, r):
		return '-'
	}
	return r
}
