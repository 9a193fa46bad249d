package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// GoldReport says how many of a dataset's selected questions have expected paths, and which of them
// make metrics of retrieval doubtful.
type GoldReport struct {
	// WithGold is the number of questions with expected paths.
	WithGold int
	// Warnings are those that do not depend on answers.
	Warnings []result.Warning
}

// CheckGold reads the selected questions of d. It returns an error with file:line for an expected
// path that is empty or not among the documents of the question's brain. If those are not known,
// every path is accepted.
func CheckGold(d Dataset, brains []Brain, topK int) (GoldReport, error) {
	s := GoldReport{}
	paths := PathsByBrain(brains)
	for _, b := range brains {
		if b.Changes {
			paths[b.Name] = PathsOf(d.Versions(b.Name, b.Docs))
		}
	}
	inQuestion := result.Warning{Kind: "answer_in_question"}
	covered := result.Warning{Kind: result.TopKCoversBrain, IDs: []string{}}
	uses := map[goldUse]int{}
	var bad []error
	for q, err := range d.Questions() {
		if err != nil {
			return s, err
		}
		item, known := q.Item(), paths[q.Brain]
		err := scorer.Retrieval{TopK: topK}.Check(item)
		if errors.Is(err, scorer.ErrNoGold) {
			continue
		}
		for _, g := range item.Gold {
			if err == nil && known != nil && !known.Has(known.Gold(g.Path)) {
				err = fmt.Errorf("question %q: expected path %q is not among the documents of brain %s; "+
					"correct it, or add the document", q.ID, g.Path, q.Brain)
			}
			uses[goldUse{q.Brain, known.Gold(g.Path)}]++
		}
		if err != nil {
			bad = append(bad, &LineError{File: d.Path, Line: q.Line, Err: err})
		}
		s.WithGold++
		if known != nil && topK >= len(known) {
			covered.Count++
		}
		if answeredByItself(q) {
			inQuestion.AddID(q.ID)
		}
	}
	if len(bad) > 0 {
		return s, JoinLines(bad)
	}
	if covered.Count > 0 {
		covered.Message = coverage(brains, covered.Count, topK)
		s.Warnings = append(s.Warnings, covered)
	}
	s.addWarnings(uses, inQuestion)
	return s, nil
}

// goldUse is a gold document of one brain.
type goldUse struct{ brain, path string }

// coverage returns the message of the warning about brains that are not larger than topK.
func coverage(brains []Brain, questions, topK int) string {
	what := fmt.Sprintf("brains of %d questions", questions)
	if len(brains) == 1 {
		what = fmt.Sprintf("%d documents of the brain", len(brains[0].Docs))
	}
	return fmt.Sprintf("top-k %d is not smaller than the %s: a ranking of all documents always has full "+
		"recall at top-k; lower --top-k, or use a larger corpus", topK, what)
}

// addWarnings adds the warnings about the whole
func (s *GoldReport) addWarnings(uses map[goldUse]int, inQuestion result.Warning) {
	if path, n := mostUsed(uses); n > 1 && 2*n > s.WithGold {
		s.Warnings = append(s.Warnings, result.Warning{
			Kind: "gold_shared", Count: n, IDs: []string{},
			Message: fmt.Sprintf("%s is gold for %d of the %d questions with gold: "+
				"a daemon that always returns it does well; ask about more documents", path, n, s.WithGold),
		})
	}
	if inQuestion.Count > 0 {
		inQuestion.Message = fmt.Sprintf("%d of the %d questions with gold contain their own answer, "+
			"which leads a search to the gold: reword them", inQuestion.Count, s.WithGold)
		s.Warnings = append(s.Warnings, inQuestion)
	}
}

// mostUsed returns the path with the highest count; of several, the first in order.
func mostUsed(uses map[goldUse]int) (path string, n int) {
	for g, u := range uses {
		if u > n || u == n && g.path < path {
			path, n = g.path, u
		}
	}
	return path, n
}

// answeredByItself reports whether the question's text contains an expected substring, or the
// reference answer as whole words.
func answeredByItself(q Question) bool {
	fold := cases.Fold()
	question := fold.String(q.Question)
	inside := func(s string) bool {
		return strings.TrimSpace(s) != "" && strings.Contains(question, fold.String(s))
	}
	answer := fold.String(strings.TrimSpace(q.ReferenceAnswer))
	return slices.ContainsFunc(q.ExpectedSubstrings, inside) ||
		answer != "" && hasWords(question, answer)
}

// hasWords reports whether text contains words with no letter or digit next to them.
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
