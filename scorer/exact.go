package scorer

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Exact scores 1 for an answer that contains any of the expected substrings and 0 for any other. It
// uses no network. Text is compared as plain writes it, and without upper and lower case.
type Exact struct {
	// Case makes upper and lower case matter.
	Case bool
}

// Name is "exact".
func (Exact) Name() string { return "exact" }

// Check rejects an item without expected substrings, and one with a substring that every answer
// contains.
func (Exact) Check(item Item) error {
	if len(item.Expected) == 0 {
		return fmt.Errorf("question %q has no expected_substrings: add at least one, or use the judge scorer",
			item.ID)
	}
	for i, want := range item.Expected {
		if strings.TrimSpace(want) == "" {
			return fmt.Errorf("question %q: expected_substrings[%d] is empty and would match every answer: "+
				"remove it", item.ID, i)
		}
	}
	return nil
}

// Score fails only for an item that Check rejects.
func (e Exact) Score(_ context.Context, item Item) (Verdict, error) {
	if err := e.Check(item); err != nil {
		return Verdict{}, err
	}
	answer := e.compared(item.Answer)
	for _, want := range item.Expected {
		if strings.Contains(answer, e.compared(want)) {
			return Verdict{Score: 1, Scored: true, Reason: fmt.Sprintf("the answer has %q", want)}, nil
		}
	}
	return Verdict{Scored: true, Reason: "the answer has no expected substring"}, nil
}

// compared returns s as it is compared. Doing so twice changes nothing more.
func (e Exact) compared(s string) string {
	switch {
	case e.Case:
		return plain(s)
	case isASCII(s):
		return strings.ToLower(s)
	}
	return plain(fold(s))
}

// Folded returns s as Exact compares texts without upper and lower case.
func Folded(s string) string { return Exact{}.compared(s) }

// fold returns s folded for comparisons that ignore case, decomposed (Unicode Standard, section
// 3.13, D145).
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		// cases exchanges the two cases of Cherokee.
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r)
		}
		return r
	}, cases.Fold().String(norm.NFD.String(s)))
}

// plain returns s in NFC, with the characters of typography as those of a keyboard, one for one:
// space separators (Zs), apostrophes and single quotation marks, double quotation marks, and dashes
// (Pd) with the minus sign.
func plain(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
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
	}, norm.NFC.String(s))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
