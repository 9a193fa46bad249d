package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"evalctl/scorer"
)

// Guard is a reason to doubt the measures of retrieval: something makes them
// trivial, or meaningless.
type Guard struct {
	// Kind is a stable name.
	Kind string `json:"kind"`
	// Message says what is the matter and what to do. It may quote the dataset.
	Message string `json:"message"`
	// Count is how many questions are concerned, and IDs has the first of them.
	Count int      `json:"count"`
	IDs   []string `json:"ids"`
}

// TopKCoversBrain is the Kind of the guard that recall cannot fail: top-k is as
// large as the brain.
const TopKCoversBrain = "top_k_covers_brain"

// guardIDs is how many questions a guard names.
const guardIDs = 5

func (g *Guard) note(id string) {
	if g.Count++; g.Count <= guardIDs {
		g.IDs = append(g.IDs, id)
	}
}

// GoldSurvey is what the expected paths of a dataset's selected questions are
// good for.
type GoldSurvey struct {
	// WithGold and NoGold count the questions.
	WithGold, NoGold int
	// Guards are those that are known before anything is asked.
	Guards []Guard
}

// SurveyGold reads the selected questions of d and refuses, with file:line, an
// expected path that is empty or not among the documents of the question's brain.
// Where those are not known any path is taken.
func SurveyGold(d Dataset, brains []Brain, topK int) (GoldSurvey, error) {
	s := GoldSurvey{}
	catalogues := cataloguesOf(brains)
	inQuestion := Guard{Kind: "answer_in_question"}
	covered := Guard{Kind: TopKCoversBrain, IDs: []string{}}
	uses := map[goldUse]int{}
	var bad []error
	for q, err := range d.Questions() {
		if err != nil {
			return s, err
		}
		item, known := q.Item(), catalogues[q.Brain]
		err := scorer.Retrieval{TopK: topK}.Check(item)
		if errors.Is(err, scorer.ErrNoGold) {
			s.NoGold++
			continue
		}
		for _, g := range item.Gold {
			if err == nil && known != nil && !known.has(known.gold(g.Path)) {
				err = fmt.Errorf("question %q: expected path %q is not among the documents of brain %s; correct it, or add the document", q.ID, g.Path, q.Brain)
			}
			uses[goldUse{q.Brain, known.gold(g.Path)}]++
		}
		if err != nil {
			bad = append(bad, &LineError{File: d.Path, Line: q.Line, Err: err})
		}
		s.WithGold++
		if known != nil && topK >= len(known) {
			covered.Count++
		}
		if answeredByItself(q) {
			inQuestion.note(q.ID)
		}
	}
	if len(bad) > 0 {
		return s, joinLines(bad)
	}
	if covered.Count > 0 {
		covered.Message = coverage(brains, covered.Count, topK)
		s.Guards = append(s.Guards, covered)
	}
	s.guard(uses, inQuestion)
	return s, nil
}

// goldUse is a gold document of one brain.
type goldUse struct{ brain, path string }

// coverage words the guard of brains that are no larger than topK.
func coverage(brains []Brain, questions, topK int) string {
	const rest = "recall at top-k says nothing about a ranking that may hold all there is; lower --top-k, or give a larger corpus"
	if len(brains) == 1 {
		return fmt.Sprintf("top-k %d is not smaller than the %d documents of the brain: %s", topK, len(brains[0].Docs), rest)
	}
	return fmt.Sprintf("top-k %d is not smaller than the brains of %d questions: %s", topK, questions, rest)
}

func (s *GoldSurvey) guard(uses map[goldUse]int, inQuestion Guard) {
	if path, n := mostUsed(uses); n > 1 && 2*n > s.WithGold {
		s.Guards = append(s.Guards, Guard{
			Kind: "gold_shared", Count: n, IDs: []string{},
			Message: fmt.Sprintf("%s is gold for %d of the %d questions with gold: a daemon that always returns it does well; ask about more documents", path, n, s.WithGold),
		})
	}
	if inQuestion.Count > 0 {
		inQuestion.Message = fmt.Sprintf("%d of the %d questions with gold hold their own answer, which leads a search to the gold: reword them", inQuestion.Count, s.WithGold)
		s.Guards = append(s.Guards, inQuestion)
	}
}

// mostUsed is the path with the highest count, of several the first by name.
func mostUsed(uses map[goldUse]int) (path string, n int) {
	for g, u := range uses {
		if u > n || u == n && g.path < path {
			path, n = g.path, u
		}
	}
	return path, n
}

// answeredByItself tells whether an expected substring, or the reference
// answer as whole words, stands in the question's text.
func answeredByItself(q Question) bool {
	fold := cases.Fold()
	question := fold.String(q.Question)
	inside := func(s string) bool { return strings.TrimSpace(s) != "" && strings.Contains(question, fold.String(s)) }
	answer := fold.String(strings.TrimSpace(q.ReferenceAnswer))
	return slices.ContainsFunc(q.ExpectedSubstrings, inside) || answer != "" && hasWords(question, answer)
}

// hasWords tells whether words stand in text and no letter or digit beside them.
func hasWords(text, words string) bool {
	_, step := utf8.DecodeRuneInString(words)
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	for at := 0; ; {
		i := strings.Index(text[at:], words)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(words):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		at += i + step
	}
}

// guards are those that only the answers show.
func (m *means) guards() []Guard {
	answered := m.all.n - m.errors
	deepest := m.all.pools[len(m.all.pools)-1]
	switch {
	case answered > 0 && deepest.documents == 0:
		return []Guard{{
			Kind: "nothing_retrieved", Count: answered, IDs: []string{},
			Message: "no answer tells what was retrieved, so that every figure is 0: fill the brain, or use --scenario search-retrieve-only if the daemon's ask sends no chunks in its retrieve event",
		}}
	case answered > 0 && deepest.found == 0:
		return []Guard{{
			Kind: "gold_never_found", Count: answered, IDs: []string{},
			Message: "no gold document was retrieved for any question: compare expected_paths with the paths under retrieved in the result file; without a corpus they must be the daemon's own",
		}}
	}
	return []Guard{}
}
