package distill

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/llm"
)

// minStatement is the score from which the offline replies take a sentence for a statement that is
// worth remembering.
const minStatement = 2

const (
	longestStatement = 600 // bytes
	fewestWords      = 3
)

// scoreStatement scores how much a sentence states. Statements about the speaker, names, numbers
// and dates count most; pleasantries and talk about the listener count against it. A question is 0.
// speakers are the words of the speakers' names: addressing somebody states nothing.
func scoreStatement(sentence string, dated bool, speakers map[string]bool) float64 {
	words := lowerWords(sentence)
	if strings.HasSuffix(strings.TrimRight(sentence, `"')]*_”’ `), "?") || len(words) < fewestWords {
		return 0
	}
	score := 0.2 * float64(min(contentTerms(words, speakers), 10))
	var first, second bool
	for _, w := range words {
		first = first || firstPerson[w]
		second = second || w == "you" || w == "your"
	}
	switch {
	case first && second: // thanks, offers, agreement
		score += 0.5
	case first:
		score += 1.5
	case second:
		score--
	default:
		score += 0.5
	}
	if dated {
		score++
	}
	if strings.ContainsFunc(sentence, unicode.IsDigit) {
		score += 0.5
	}
	if named(sentence, speakers) {
		score += 0.5
	}
	if pleasantries[words[0]] {
		score--
	}
	return score
}

// contentTerms counts the terms other than stop words, pleasantries and names of speakers.
func contentTerms(words []string, speakers map[string]bool) int {
	var out []string
	for _, w := range words {
		if !pleasantries[w] && !speakers[w] {
			out = append(out, w)
		}
	}
	const term = "zzz" // without any term, Terms returns the stop words
	return len(llm.Terms(term+" "+strings.Join(out, " "))) - 1
}

// named reports whether a word after the first one is capitalized, other than a speaker's name.
func named(sentence string, speakers map[string]bool) bool {
	for i, w := range strings.Fields(sentence) {
		if speakers[plainWords(w)] {
			continue
		}
		r, size := utf8.DecodeRuneInString(strings.TrimLeft(w, `"'(*_“‘`))
		if i > 0 && unicode.IsUpper(r) && !strings.HasPrefix(w, "I'") && len(w) > size {
			return true
		}
	}
	return false
}

func lowerWords(s string) []string { return strings.Fields(plainWords(s)) }

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

var firstPerson = wordSet("i my me mine we our us ours myself")

// pleasantries are words with which sentences begin that state little.
var pleasantries = wordSet(`hi hey hello bye goodbye thanks thank thx wow cool great awesome amazing nice
	congrats congratulations ok okay sure yes yeah yep no nope oh ah haha lol sorry please welcome glad
	sounds let absolutely definitely totally exactly agreed wonderful fantastic good`)
