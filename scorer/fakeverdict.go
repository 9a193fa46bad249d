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
	"evalctl/internal/prose"
)

// fakeVerdict returns the offline judge's verdict by question type.
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
				return 1, "the count matches the reference, or is off by one"
			}
			return 0, "the count differs from the reference"
		}
	case TypeKnowledgeUpdate:
		if missing := missingNumber(item.Reference, item.Answer); missing != "" {
			return 0, fmt.Sprintf("the number %s is missing", missing)
		}
	}
	return overlap(item.Reference, item.Answer)
}

// Declines reports whether a text says in a usual English phrase that something is not known. It is
// a heuristic: a text that quotes such a phrase also declines.
func Declines(text string) bool {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	contained := func(phrase string) bool { return strings.Contains(text, phrase) }
	return slices.ContainsFunc(abstentions, contained) || slices.ContainsFunc(refusals, contained)
}

// refusals are declining phrases besides abstentions.
var refusals = []string{
	"did not mention", "didn't mention", "not been mentioned", "never mentioned", "no mention of",
	"isn't mentioned", "is unknown", "not known", "not enough information", "information provided is not enough",
	"insufficient information", "no record of", "not provided", "does not contain", "doesn't contain",
	"do not contain", "don't contain", "do not have any information", "don't have any information",
	"unable to determine", "nothing about",
}

// fakePreference looks for words of the rubric that are not in the question. Only a reply that
// knows the user can contain them.
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

// rubricWords are common words of rubrics on any subject.
const rubricWords = `user users would might may prefer prefers preferred preference response responses
reply answer suggest suggests suggestion suggestions recommend recommendation recommendations
specific specifically tailored especially particularly general generic consider considers related
appreciate interest interested take account build upon use utilize previous previously mention
mentioned existing experience such like also new including include`

// wishes returns the sentences of a rubric without "not", which say what the user wants.
func wishes(rubric string) string {
	var keep []string
	for sentence := range prose.Split(rubric) {
		if !strings.Contains(sentence, " not ") {
			keep = append(keep, sentence)
		}
	}
	return strings.Join(keep, " ")
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

// spans returns the counts in a text. A bare number counts if it is the whole text.
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

// parseCount returns the number that a word means, or -1.
func parseCount(word string) int {
	if n, err := strconv.Atoi(word); err == nil && n >= 0 {
		return n
	}
	return slices.Index(smallNumbers, word)
}

// sameCount compares the counts of the reference and the answer. counted is set if both have
// counts, and same if one of the answer's is at most one off. A bare number takes the unit that the
// question asks for.
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

// missingNumber returns a number of the reference that the answer lacks, or "".
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
