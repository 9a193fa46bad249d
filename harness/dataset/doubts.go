package dataset

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// doubt is a kind of value that is valid but probably does not score what its author meant.
type doubt struct {
	kind string
	// in reports whether a required text is doubtful. others are all such texts of the question.
	in func(text string, others []string) bool
	// message has verbs for the number of questions and the first value.
	message string
}

// doubts are the kinds of texts that match too much or probably nothing.
var doubts = []doubt{
	{"short_text", isShort, "in %s an expected text is a bare number, or one or two letters, such as %q, which longer numbers and words " +
		"contain as well: write more of the answer, or check it with a regex such as \\b5\\b"},
	{"one_notation", isDateAlone, "in %s a date is expected in one notation only, such as %q, and an answer with another one does not " +
		"match: add the usual ones"},
	{"spaces", hasOddSpaces, "in %s an expected text has spaces around it, several in a row, tabs or line ends, such as %q, which an " +
		"answer must have too: remove them"},
	{"compatibility_form", isCompatibility, "in %s an expected text has characters that stand for usual ones, such as %q, and an answer " +
		"with these does not match: write the usual ones"},
}

// Doubts reads the selected questions of d again and returns warnings about values that probably do
// not score what their author meant: texts that match too much, and texts, expressions and paths
// that will never match. need is the scorer's need, empty for any scorer.
func Doubts(d Dataset, brains []Brain, need scorer.Need) ([]result.Warning, error) {
	found := newDoubtList()
	known := map[string]*Paths{}
	for _, b := range brains {
		known[b.Name] = PathsOf(d.Versions(b.Name, b.Docs))
	}
	undated := undatedBrains(brains)
	for q, err := range d.Questions() {
		if err != nil {
			return nil, err
		}
		texts := wantedTexts(q, need)
		for _, kind := range doubts {
			for _, text := range texts {
				if kind.in(text, texts) {
					found.add(kind.kind, kind.message, q.ID, text)
				}
			}
		}
		if need == "" || need == scorer.NeedChecks {
			for _, c := range q.Checks {
				if why := scorer.Unmatchable(c.Regex); why != "" {
					found.add("regex", "in %s a regex sees no boundary where one is meant, such as %q: "+why, q.ID, c.Regex)
				}
				if c.Before != "" && undated[q.Brain] {
					found.add("undated", "in %s a check wants documents before a day, such as %q, and no document of the brain has "+
						"a date that a check can read: it holds only if the service dates them", q.ID, c.Before)
				}
				found.addPath(known[q.Brain], q.ID, c.Cites)
			}
		}
		for _, p := range q.MustCite {
			found.addPath(known[q.Brain], q.ID, p)
		}
	}
	return found.warnings(), nil
}

// wantedTexts returns the texts that an answer must or must not contain.
func wantedTexts(q Question, need scorer.Need) (texts []string) {
	if need == "" || need == scorer.NeedExpected {
		texts = append(texts, q.ExpectedSubstrings...)
	}
	if need == "" || need == scorer.NeedChecks {
		for _, c := range q.Checks {
			if text := c.Contains + c.NotContains; text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// doubtList collects warnings in order of first occurrence.
type doubtList struct {
	list     []*result.Warning
	formats  map[*result.Warning]string
	examples map[*result.Warning]string
	seen     map[string]map[string]bool // ids by kind
}

func newDoubtList() *doubtList {
	return &doubtList{
		formats: map[*result.Warning]string{}, examples: map[*result.Warning]string{}, seen: map[string]map[string]bool{},
	}
}

// add counts a question once for a warning.
func (d *doubtList) add(kind, format, id, example string) {
	i := slices.IndexFunc(d.list, func(w *result.Warning) bool { return w.Kind == kind })
	if i < 0 {
		i = len(d.list)
		w := &result.Warning{Kind: kind, IDs: []string{}}
		d.list = append(d.list, w)
		d.formats[w], d.examples[w], d.seen[kind] = format, example, map[string]bool{}
	}
	if !d.seen[kind][id] {
		d.seen[kind][id] = true
		d.list[i].AddID(id)
	}
}

// addPath warns about an unknown path.
func (d *doubtList) addPath(known *Paths, id, path string) {
	if path == "" || known == nil || known.Has(known.Gold(path)) {
		return
	}
	d.add("unknown_document", "in %s a document must be cited that the brain does not have, such as %q"+known.meant(path), id, path)
}

func (d *doubtList) warnings() (out []result.Warning) {
	for _, w := range d.list {
		w.Message = fmt.Sprintf(d.formats[w], figure.Count(w.Count, "question"), printable.Short(d.examples[w], longestExample))
		out = append(out, *w)
	}
	return out
}

// longestExample limits an example, in characters.
const longestExample = 60

// bareNumber matches a number alone.
var bareNumber = regexp.MustCompile(`^[-+]?\p{Nd}[\p{Nd}.,' ]*%?$`)

// isShort reports whether a text is a bare number, or one or two letters of a script with spaces
// between words.
func isShort(text string, _ []string) bool {
	text = strings.TrimSpace(visible.Text(text))
	if bareNumber.MatchString(text) {
		return true
	}
	return utf8.RuneCountInString(text) <= 2 && strings.ContainsFunc(text, unicode.IsLetter) &&
		!strings.ContainsFunc(text, func(r rune) bool {
			return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer)
		})
}

// dates matches a day: 2025-03-14, also with a time, 14.3.2025, 3/14/2025, 14 March 2025 and March
// 14, 2025.
var dates = regexp.MustCompile(`(?i)^(?:\d{4}([-/.])\d{1,2}([-/.])\d{1,2}(?:[T ]\d{2}:\d{2}.*)?|\d{1,2}[-/. ]{1,2}\d{1,2}[-/. ]{1,2}\d{4}|` +
	`\d{1,2}(?:st|nd|rd|th|\.)? \pL{3,}\.?,? \d{4}|\pL{3,}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})$`)

// isDateAlone reports whether a text is a day and all of the question's texts have the same
// notation.
func isDateAlone(text string, others []string) bool {
	text = strings.TrimSpace(visible.Text(text))
	if !dates.MatchString(text) {
		return false
	}
	form := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case unicode.IsDigit(r):
				return '0'
			case unicode.IsLetter(r):
				return 'a'
			}
			return r
		}, strings.TrimSpace(visible.Text(s)))
	}
	return !slices.ContainsFunc(others, func(s string) bool { return form(s) != form(text) })
}

// hasOddSpaces reports whether a text contains spaces that are easily overlooked.
func hasOddSpaces(text string, _ []string) bool {
	text = visible.Text(text)
	return strings.TrimSpace(text) != text || strings.Contains(text, "  ") || strings.ContainsAny(text, "\t\n\v\f")
}

// isCompatibility reports whether a text contains compatibility characters, such as ligatures and
// full-width letters.
func isCompatibility(text string, _ []string) bool {
	text = visible.Text(text)
	return norm.NFKC.String(text) != text
}

// undatedBrains returns the brains whose documents are all known and have no date for a check.
func undatedBrains(brains []Brain) map[string]bool {
	out := map[string]bool{}
	for _, b := range brains {
		out[b.Name] = b.Docs != nil && !b.Changes && !slices.ContainsFunc(b.Docs, func(d Doc) bool {
			_, ok := scorer.Day(d.Date())
			return ok
		})
	}
	return out
}
