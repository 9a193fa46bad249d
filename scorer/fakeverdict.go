package scorer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"evalctl/internal/llm"
)

// fakeVerdict is the offline judge's verdict by the type of the question.
func fakeVerdict(item Item) (score float64, reason string) {
	switch item.Type {
	case TypeAbstention:
		if Declines(item.Answer) {
			return 1, "it declines to answer"
		}
		return 0, "it does not decline to answer"
	case TypePreference:
		return fakePreference(item)
	case TypeTemporal:
		if counted, same := sameCount(item); counted && !Declines(item.Answer) {
			if same {
				return 1, "the count is that of the reference, or one off"
			}
			return 0, "the count is not that of the reference"
		}
	case TypeKnowledgeUpdate:
		if missing := missingNumber(item.Reference, item.Answer); missing != "" {
			return 0, fmt.Sprintf("the number %s is missing", missing)
		}
	}
	return overlap(item.Reference, item.Answer)
}

// Declines reports whether a text says, in one of the usual English phrases, that something is not
// known. It is a heuristic: a text that quotes such a phrase declines too.
func Declines(text string) bool {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	contained := func(phrase string) bool { return strings.Contains(text, phrase) }
	return slices.ContainsFunc(abstentions, contained) || slices.ContainsFunc(refusals, contained)
}

// refusals are phrases of answers that decline, besides abstentions.
var refusals = []string{
	"did not mention", "didn't mention", "not been mentioned", "never mentioned", "no mention of",
	"isn't mentioned", "is unknown", "not known", "not enough information", "information provided is not enough",
	"insufficient information", "no record of", "not provided", "does not contain", "doesn't contain",
	"do not contain", "don't contain", "do not have any information", "don't have any information",
	"unable to determine", "nothing about",
}

// fakePreference looks for words of the rubric that the question does not have: a reply that does
// not know the user cannot have them.
func fakePreference(item Item) (score float64, reason string) {
	wanted, have := llm.Terms(wishes(item.Reference)), llm.Terms(item.Answer)
	asked, common := llm.Terms(item.Question), llm.Terms(rubricWords)
	found, of := 0, 0
	for term := range wanted {
		if asked[term] || common[term] {
			continue
		}
		of++
		if have[term] {
			found++
		}
	}
	if of > 0 && found >= min(2, of) && !Declines(item.Answer) {
		score = 1
	}
	return score, fmt.Sprintf("%d of %d words of the rubric found", found, of)
}

// rubricWords are the words with which a rubric describes a reply, whatever it is about.
const rubricWords = `user users would might may prefer prefers preferred preference response responses
reply answer suggest suggests suggestion suggestions recommend recommendation recommendations
specific specifically tailored especially particularly general generic consider considers related
appreciate interest interested take account build upon use utilize previous previously mention
mentioned existing experience such like also new including include`

// wishes returns the sentences of a rubric that do not say what the user does not want.
func wishes(rubric string) string {
	var keep []string
	for sentence := range strings.SplitSeq(rubric, ". ") {
		if !strings.Contains(sentence, " not ") {
			keep = append(keep, sentence)
		}
	}
	return strings.Join(keep, ". ")
}

// span is a count of days, weeks or months. unit is empty for a bare number.
type span struct {
	n    int
	unit string
}

var spanPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`\b(\d{1,6}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[ -]+(day|week|month)s?\b`)
})

var smallNumbers = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
	"nine", "ten", "eleven", "twelve"}

// spans returns the counts in a text. A text that is a number alone is one of them.
func spans(text string) []span {
	text = strings.ToLower(text)
	var list []span
	for _, m := range spanPattern().FindAllStringSubmatch(text, -1) {
		list = append(list, span{parseCount(m[1]), m[2]})
	}
	if n := parseCount(strings.Trim(text, " .")); list == nil && n >= 0 {
		list = append(list, span{n, ""})
	}
	return list
}

// parseCount returns the number that a word stands for, -1 if it is none.
func parseCount(word string) int {
	if n, err := strconv.Atoi(word); err == nil && n >= 0 {
		return n
	}
	return slices.Index(smallNumbers, word)
}

// sameCount reports whether both the reference and the answer have counts, and whether one of the
// answer's is at most one off. The unit of a bare number is the one that the question asks for.
func sameCount(item Item) (counted, same bool) {
	asked := spanUnit().FindStringSubmatch(strings.ToLower(item.Question))
	unit := func(s span) string {
		if s.unit == "" && asked != nil {
			return asked[1]
		}
		return s.unit
	}
	for _, want := range spans(item.Reference) {
		for _, got := range spans(item.Answer) {
			if unit(want) == "" || unit(got) == "" {
				continue
			}
			counted = true
			off := got.n - want.n
			if unit(want) == unit(got) && -1 <= off && off <= 1 {
				return true, true
			}
		}
	}
	return counted, false
}

var spanUnit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(day|week|month)s\b`)
})

// missingNumber returns a number of the reference that the answer does not have, or "".
func missingNumber(reference, answer string) string {
	have := llm.Terms(answer)
	missing := ""
	for term := range llm.Terms(reference) {
		if unicode.IsDigit(rune(term[0])) && !have[term] && (missing == "" || term < missing) {
			missing = term
		}
	}
	return missing
}
