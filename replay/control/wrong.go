package control

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// vague are answers without a statement.
var vague = []string{
	"It went about as one would expect.",
	"There was something like that at some point.",
	"That came up here and there, in one way or another.",
	"It depends; a number of things played a part in it.",
}

// unknown is a refusal.
const unknown = "I don't know."

// maxOther limits answers of other questions, in characters. A longer one may contain anything.
const maxOther = 200

// othersEach is how many answers of other questions are used for one question.
const othersEach = 3

// wrong returns the wrong answers to the question at index i of the pool.
func (q question) wrong(pool []question, i int) []Item {
	var items []Item
	add := func(kind, answer string) {
		if !q.contains(answer, scorer.Exact{}) && !shareWords(answer, q.item.Reference) {
			items = append(items, q.with(kind, answer, false))
		}
	}
	for _, answer := range q.others(pool, i) {
		add(KindOther, answer)
	}
	add(KindEmpty, "")
	if q.item.Type == scorer.TypeAbstention {
		return items
	}
	for n := range vague {
		add(KindVague, vague[(i+n)%len(vague)])
	}
	if !scorer.Declines(q.item.Reference) {
		add(KindUnknown, unknown)
	}
	return items
}

// others returns answers to other questions of the pool that are wrong for q. Questions that differ
// in both haystack and type come first, then those that differ in one of them.
func (q question) others(pool []question, i int) []string {
	var best, rest []string
	for n := range pool {
		other := pool[(i+1+n)%len(pool)]
		haystack, kind := other.Haystack != q.Haystack, other.Type != q.Type
		answer := other.answer()
		if answer == "" || !haystack && !kind || mayAgree(answer, q.item) ||
			slices.Contains(best, answer) || slices.Contains(rest, answer) {
			continue
		}
		if haystack && kind {
			best = append(best, answer)
		} else {
			rest = append(rest, answer)
		}
		if len(best) == othersEach {
			break
		}
	}
	all := append(best, rest...)
	return all[:min(len(all), othersEach)]
}

// answer returns the answer to the question if it can serve as a wrong answer to another one: a
// short statement, not a rubric, a refusal or an opinion, which could fit many questions.
func (q question) answer() string {
	answer := strings.TrimSpace(q.item.Reference)
	if answer == "" && len(q.item.Expected) > 0 {
		answer = strings.TrimSpace(q.item.Expected[0])
	}
	if q.item.Type == scorer.TypePreference || q.item.Type == scorer.TypeAbstention ||
		utf8.RuneCountInString(answer) > maxOther || len(llm.Terms(answer)) == 0 ||
		scorer.Declines(answer) || opinion().MatchString(answer) {
		return ""
	}
	return answer
}

var opinion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(yes|no|not|none|never|nothing|likely|probably|maybe|perhaps|both|all)\b`)
})

// mayAgree reports whether an answer might agree with the reference of an item, in words or in
// numbers. Numbers that differ by one count as agreeing: a judge tolerates this in counts of days.
func mayAgree(answer string, item scorer.Item) bool {
	for _, text := range append([]string{item.Reference}, item.Expected...) {
		if shareWords(answer, text) {
			return true
		}
		for _, a := range numbers(answer) {
			for _, b := range numbers(text) {
				if a-b <= 1 && b-a <= 1 {
					return true
				}
			}
		}
	}
	return false
}

// shareWords reports whether two texts have a word in common other than stop words. If either has
// only stop words, all words count.
func shareWords(a, b string) bool {
	have := llm.Terms(b)
	for term := range llm.Terms(a) {
		if have[term] {
			return true
		}
	}
	return false
}

var digits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d+`)
})

var numberWords = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
	"nine", "ten", "eleven", "twelve", "once", "twice"}

// numbers returns the numbers in a text, including small numbers in words, once and twice.
func numbers(text string) []int {
	var list []int
	for _, s := range digits().FindAllString(text, -1) {
		if n, err := strconv.Atoi(s); err == nil {
			list = append(list, n)
		}
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if n := slices.Index(numberWords, word); n > 12 {
			list = append(list, n-12)
		} else if n >= 0 {
			list = append(list, n)
		}
	}
	return list
}
