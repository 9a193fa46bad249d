package imports

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"evalctl/harness/result"
	"evalctl/internal/visible"
	"evalctl/replay/source"
)

// How an answer's question was found.
const (
	byID       = "id"
	byPosition = "position" // by number in the conversation, among questions with the same text
	byText     = "text"
	byOrder    = "order" // of as many answers with the text as there are questions
)

// matcher matches answers with questions.
type matcher struct {
	questions []source.Question
	ids       map[string]int   // of a question
	texts     map[string][]int // the questions that have a text, folded
	position  []int            // of a question in its conversation, from 0
	// conversations maps each conversation in the files to its haystack, empty if none has its
	// questions.
	conversations map[string]string
}

func newMatcher(questions []source.Question) *matcher {
	m := &matcher{
		questions: questions, ids: map[string]int{}, texts: map[string][]int{}, conversations: map[string]string{},
	}
	next := map[string]int{}
	for i, q := range questions {
		m.ids[q.ID] = i
		m.texts[fold(q.Text)] = append(m.texts[fold(q.Text)], i)
		if bare := q.Bare(); bare != q.Text {
			m.texts[fold(bare)] = append(m.texts[fold(bare)], i)
		}
		m.position = append(m.position, next[q.Haystack])
		next[q.Haystack]++
	}
	return m
}

// fold normalizes what harnesses change in texts: case, space, and forms of characters.
func fold(text string) string {
	return visible.Words(norm.NFKC.String(text))
}

// conversationsOf matches conversations with haystacks: by name, else by the largest number of
// common questions, at least half. Ties are not matched.
func (m *matcher) conversationsOf(answers []answer) {
	asked := map[string]map[string]bool{} // the texts of a conversation
	for _, a := range answers {
		if a.conversation != "" && a.question != "" {
			if asked[a.conversation] == nil {
				asked[a.conversation] = map[string]bool{}
			}
			asked[a.conversation][fold(a.question)] = true
		}
	}
	haystacks := map[string]bool{}
	for _, q := range m.questions {
		haystacks[q.Haystack] = true
	}
	for name, texts := range asked {
		if _, done := m.conversations[name]; done {
			continue
		}
		if haystacks[name] {
			m.conversations[name] = name
			continue
		}
		found := map[string]int{}
		for text := range texts {
			in := map[string]bool{}
			for _, i := range m.texts[text] {
				in[m.questions[i].Haystack] = true
			}
			for h := range in {
				found[h]++
			}
		}
		m.conversations[name] = mostOf(found, len(texts))
	}
}

// mostOf returns the key with the highest count if it is unique and at least half of n.
func mostOf(found map[string]int, n int) string {
	best, tied := "", false
	for _, key := range slices.Sorted(maps.Keys(found)) {
		switch {
		case best == "" || found[key] > found[best]:
			best, tied = key, false
		case found[key] == found[best]:
			tied = true
		}
	}
	if tied || 2*found[best] < n {
		return ""
	}
	return best
}

// asks reports whether a question has this text, with or without its options.
func (m *matcher) asks(i int, text string) bool {
	q := m.questions[i]
	return fold(text) == fold(q.Text) || fold(text) == fold(q.Bare())
}

// find returns an answer's question and how it was found. taken reports whether a question already
// has an answer from the same file. If no question is found, why says why.
func (m *matcher) find(a answer, taken func(int) bool) (question int, how, why string) {
	other := ""
	if i, ok := m.ids[a.id]; ok && a.id != "" {
		switch {
		case a.question != "" && !m.asks(i, a.question):
			other = fmt.Sprintf("; the question with the id %q has another text", a.id)
		case taken(i):
			return -1, "", fmt.Sprintf("the question %q has an answer earlier in the file", a.id)
		default:
			return i, byID, ""
		}
	}
	if a.question == "" {
		return -1, "", fmt.Sprintf("no question has the id %q", a.id)
	}
	candidates := m.texts[fold(a.question)]
	if _, last, ok := cutLast(a.question, "Question:"); ok && len(candidates) == 0 {
		candidates = m.texts[fold(last)] // some harnesses store their prompt before the question
	}
	haystack, where := m.conversations[a.conversation], "the dataset"
	if haystack != "" {
		where = "the conversation " + haystack
		candidates = keep(candidates, func(i int) bool { return m.questions[i].Haystack == haystack })
	}
	if len(candidates) == 0 {
		return -1, "", "no question of " + where + " has this text" + other
	}
	how = byText
	if len(candidates) > 1 {
		if candidates, how = m.narrow(candidates, a); len(candidates) > 1 && a.id == "" && a.twins == len(candidates) {
			candidates, how = keep(candidates, func(i int) bool { return !taken(i) }), byOrder
			candidates = candidates[:min(1, len(candidates))]
		}
		if len(candidates) == 0 {
			return -1, "", "every question with this text has an answer earlier in the file"
		}
		if len(candidates) > 1 {
			return -1, "", fmt.Sprintf("%d questions have this text, and neither a conversation, a number nor the gold tells "+
				"them apart: %s", len(candidates), m.idsOf(candidates))
		}
	}
	if taken(candidates[0]) {
		return -1, "", fmt.Sprintf("the question %q has an answer earlier in the file", m.questions[candidates[0]].ID)
	}
	return candidates[0], how, ""
}

// alikeIn counts, for each answer of a file, the answers with the same conversation, text and gold.
func (m *matcher) alikeIn(answers []answer) {
	key := func(a *answer) string {
		return strings.Join([]string{a.conversation, fold(a.question), fold(a.gold)}, "\x00")
	}
	counts := map[string]int{}
	for i := range answers {
		if answers[i].occurrence == 1 || answers[i].id == "" {
			counts[key(&answers[i])]++
		}
	}
	for i := range answers {
		answers[i].twins = counts[key(&answers[i])]
	}
}

func (m *matcher) idsOf(questions []int) string {
	var ids []string
	for _, i := range questions {
		ids = append(ids, m.questions[i].ID)
	}
	return strings.Join(ids, ", ")
}

var trailingNumber = regexp.MustCompile(`(\d{1,9})$`)

// narrow selects among questions with the same text: by the conversation in the answer's id, by the
// number at its end, by gold, or by place in the list. A criterion is skipped if no question fits
// it.
func (m *matcher) narrow(candidates []int, a answer) ([]int, string) {
	number := -1
	if n, err := strconv.Atoi(a.position); err == nil {
		number = n
	} else if digits := trailingNumber.FindString(a.id); digits != "" {
		number, _ = strconv.Atoi(digits) // of at most nine digits
	}
	for _, step := range []struct {
		how string
		is  func(int) bool
	}{
		{byText, func(i int) bool { h := m.questions[i].Haystack; return h != "" && strings.Contains(a.id, h) }},
		{byPosition, func(i int) bool { return m.position[i] == number }},
		{byText, func(i int) bool { return a.gold != "" && fold(m.questions[i].Answer) == fold(a.gold) }},
		{byPosition, func(i int) bool { return m.position[i] == a.index }},
	} {
		some := keep(candidates, step.is)
		if len(some) == 1 {
			return some, step.how
		}
		if len(some) > 1 {
			candidates = some
		}
	}
	return candidates, byText
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

func keep(list []int, is func(int) bool) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return !is(i) })
}

// unmatched returns an answer's entry in the list of unmatched answers.
func (a answer) unmatched(reason string) result.UnmatchedAnswer {
	return result.UnmatchedAnswer{Path: a.path, Place: a.place, ID: a.id, Question: a.question, Reason: reason}
}
