package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// statementKey is the same for facts that differ only in case, punctuation, articles and day.
func statementKey(f fact) string {
	var words []string
	for word := range strings.FieldsSeq(strings.ToLower(f.Text)) {
		switch word = strings.Trim(word, `.,;:!?"'()[]*_“”‘’…`); word {
		case "", "a", "an", "the":
		default:
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// supersede finds statements that a newer one contradicts. It covers only relations with one value
// at a time: where somebody lives or works, and somebody's favourite, name, address and the like.
func supersede(statements []*statement) {
	byClaim := map[string][]*statement{}
	values := map[*statement]string{}
	var order []string
	for _, s := range statements {
		about, value, ok := claim(s.text)
		if !ok || s.when.IsZero() {
			continue
		}
		if byClaim[about] == nil {
			order = append(order, about)
		}
		byClaim[about] = append(byClaim[about], s)
		values[s] = value
	}
	for _, about := range order {
		list := byClaim[about]
		newest := slices.MaxFunc(list, func(a, b *statement) int { return a.when.Compare(b.when) })
		if slices.ContainsFunc(list, func(s *statement) bool {
			return s.when.Equal(newest.when) && values[s] != values[newest]
		}) {
			continue // two values on one day: it is not known which of them is true
		}
		for _, s := range list {
			if values[s] != values[newest] {
				s.by = newest
			}
		}
	}
}

const longestClaim = 16 // words

// claim returns what a sentence is about, such as where Ana lives, and the one value that it
// states.
func claim(text string) (about, value string, ok bool) {
	words := strings.Fields(text)
	if len(words) > longestClaim || strings.HasSuffix(text, "?") || slices.ContainsFunc(words, hedges) {
		return "", "", false
	}
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.Trim(strings.ToLower(w), `.,;:!?"()`)
	}
	for i := 1; i+1 < len(words); i++ {
		relation, size, proper := relationAt(lower, i)
		if size == 0 || i+size >= len(words) || i > 6 {
			continue
		}
		if proper && !strings.ContainsFunc(firstLetters(words[i+size:]), unicode.IsUpper) {
			return "", "", false
		}
		value = strings.Join(lower[i+size:], " ")
		return subjectOf(lower[:i]) + "|" + relation, value, value != ""
	}
	return "", "", false
}

// relationAt returns the relation that begins with word i, and its number of words. If proper is
// true, its value must be a proper name.
func relationAt(words []string, i int) (relation string, size int, proper bool) {
	next := words[i+1]
	switch words[i] {
	case "live", "lives":
		if next == "in" || next == "at" {
			return "live", 2, true
		}
	case "moved":
		if next == "to" {
			return "live", 2, true
		}
	case "work", "works":
		if next == "at" || next == "for" {
			return "work", 2, true
		}
	case "is":
		if slices.ContainsFunc(words[:i], func(w string) bool { return singular[w] }) {
			return "is", 1, false
		}
	}
	return "", 0, false
}

// subjectOf returns the subject of a claim. It leaves out the speaker's "I": "Ana: I live" and "Ana
// lives" have the same subject.
func subjectOf(words []string) string {
	var out []string
	for i, w := range words {
		if w != "" && w != "the" && (w != "i" || i == 0) {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// singular has the things that a person has one of.
var singular = set(`favourite favorite name surname nickname address birthday phone number email
	password deadline age salary employer boss manager title`)

// hedges reports whether a word makes a sentence more than a plain statement about the present.
func hedges(word string) bool {
	return hedging[strings.Trim(strings.ToLower(word), `.,;:!?"()`)]
}

var hedging = set(`not never no if when would might may could maybe perhaps used use was were want wants hope
	hopes plan plans think thinks said says asked almost or and but ago don't doesn't isn't`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// firstLetters returns the first character of each word.
func firstLetters(words []string) string {
	var b strings.Builder
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, `"'(`))
		b.WriteRune(r)
	}
	return b.String()
}
