package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// turn is a turn of phrase that English has seldom, and German often.
type turn struct {
	name   string
	match  *regexp.Regexp
	counts func(words []string) bool // of the groups of a match; nil: every match counts
}

var turns = []turn{
	{"that of, those of", regexp.MustCompile(`(?i)\b(?:that|those) of\b`), nil},
	{"what is, was, has, are", regexp.MustCompile(`(?i)\bwhat (?:is|was|has|are)\b`), nil},
	{"of which", regexp.MustCompile(`(?i)\bof which\b`), nil},
	{"X is no Y", regexp.MustCompile(`(?i)(\w+) (?:is|are) no (\w+)`), func(words []string) bool {
		// "There is no server" and "it is no longer used" are good English.
		return !strings.EqualFold(words[0], "there") && !usual[strings.ToLower(words[1])]
	}},
}

// usual are the words after "is no" that are not a noun.
var usual = map[string]bool{"better": true, "fewer": true, "less": true, "longer": true, "more": true, "worse": true}

// number returns how often the turn is in a text.
func (t turn) number(text string) int {
	n := 0
	for _, groups := range t.match.FindAllStringSubmatch(text, -1) {
		if t.counts == nil || t.counts(groups[1:]) {
			n++
		}
	}
	return n
}

// participle matches a name that is a participle and nothing else, such as kept or opened.
var participle = regexp.MustCompile(`^[A-Za-z]?[a-z]*(?:[^e]ed|[a-z]en)$|^(?i:bound|built|done|drawn|found|held|kept|known|left|lost|made|meant|met|sent|shown|sought|spent|told|worn)$`)

// nouns are names that end as participles do.
var nouns = map[string]bool{"children": true, "garden": true, "open": true, "screen": true, "token": true}

func isParticiple(name string) bool {
	return participle.MatchString(name) && !nouns[strings.ToLower(name)]
}

// writeEnglish writes how the product's comments read, and which types are named by a participle.
func writeEnglish(w io.Writer, src *source) {
	text := strings.Join(src.comments, " ")
	words := len(strings.Fields(text))
	rows := [][]string{{"comments of the product", "number", "in 10,000 words"}}
	for _, t := range turns {
		n := t.number(text)
		rows = append(rows, []string{t.name, fmt.Sprint(n), ratio(n*10_000, words)})
	}
	rows = append(rows,
		[]string{"words", fmt.Sprint(words), ""},
		[]string{"lines", fmt.Sprint(len(src.comments)), ""},
		[]string{"words in a line", ratio(words, len(src.comments)), ""})
	writeTable(w, rows)

	var named []string
	for _, name := range src.types {
		if isParticiple(name) {
			named = append(named, name)
		}
	}
	writeTable(w, [][]string{{"types", "number"}, {"all", fmt.Sprint(len(src.types))}, {"named by a participle", fmt.Sprint(len(named))}})
	if named != nil {
		_, _ = fmt.Fprintln(w, strings.Join(named, " "))
	}
}

func ratio(n, of int) string {
	if of == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f", float64(n)/float64(of))
}
