package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/harness/result"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// GoldReport says how many selected questions have gold, and which of them make retrieval metrics
// doubtful.
type GoldReport struct {
	// WithGold is the number of questions with expected paths or evidence, and WithEvidence the
	// number with evidence.
	WithGold, WithEvidence int
	// Warnings are the warnings that do not depend on answers.
	Warnings []result.Warning
}

// CheckGold reads the selected questions of d. It returns an error with file:line for an expected
// path that is empty or not a document of the question's brain, and for evidence missing from the
// documents. If the documents are unknown, everything is accepted.
func CheckGold(d Dataset, brains []Brain, topK int) (GoldReport, error) {
	s := GoldReport{}
	paths := PathsByBrain(brains)
	for _, b := range brains {
		if b.Changes {
			paths[b.Name] = PathsOf(d.Versions(b.Name, b.Docs))
		}
	}
	quotes := newQuotations(d, brains)
	lacking := result.Warning{Kind: "without_evidence", IDs: []string{}}
	inQuestion := result.Warning{Kind: "answer_in_question"}
	covered := result.Warning{Kind: result.TopKCoversBrain, IDs: []string{}}
	uses := map[goldUse]int{}
	var bad []error
	for q, err := range d.Questions() {
		if err != nil {
			return s, err
		}
		item, known := q.Item(), paths[q.Brain]
		err := scorer.Retrieval{TopK: topK, Evidence: len(item.Evidence) > 0}.Check(item)
		if errors.Is(err, scorer.ErrNoGold) {
			continue
		}
		for _, g := range item.Gold {
			if err == nil && known != nil && !known.Has(known.Gold(g.Path)) {
				fix := cmp.Or(known.meant(g.Path), "; correct it, or add the document")
				err = fmt.Errorf("question %q: expected path %q is not among the documents of brain %s%s", q.ID, g.Path, q.Brain, fix)
			}
			uses[goldUse{q.Brain, known.Gold(g.Path)}]++
		}
		if err == nil {
			err = quotes.check(q, known)
		}
		if err != nil {
			bad = append(bad, &LineError{File: d.Path, Line: q.Line, Err: err})
		}
		s.WithGold++
		if len(q.ExpectedEvidence) > 0 {
			s.WithEvidence++
		} else {
			lacking.AddID(q.ID)
		}
		if known != nil && topK >= known.Len() {
			covered.Count++
		}
		if answeredByItself(q) {
			inQuestion.AddID(q.ID)
		}
	}
	if len(bad) > 0 {
		return s, JoinLines(bad)
	}
	if lacking.Count > 0 && s.WithEvidence > 0 {
		lacking.Message = fmt.Sprintf("%d of the %d questions with gold have no expected_evidence: "+
			"as others have it, --scorer retrieval leaves them out; add it to all, or to none", lacking.Count, s.WithGold)
		s.Warnings = append(s.Warnings, lacking)
	}
	if covered.Count > 0 {
		covered.Message = coverage(brains, covered.Count, topK)
		s.Warnings = append(s.Warnings, covered)
	}
	s.addWarnings(uses, inQuestion)
	return s, nil
}

// goldUse is a gold document in one brain.
type goldUse struct{ brain, path string }

// coverage returns the warning for brains with at most topK documents.
func coverage(brains []Brain, questions, topK int) string {
	what := fmt.Sprintf("brains of %d questions", questions)
	if len(brains) == 1 {
		what = fmt.Sprintf("%d documents of the brain", len(brains[0].Docs))
	}
	return fmt.Sprintf("top-k %d is not smaller than the %s: a ranking of all documents always has full "+
		"recall at top-k; lower --top-k, or use a larger corpus", topK, what)
}

// addWarnings adds the warnings about the whole dataset.
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

// mostUsed returns the path with the highest count, the first in order for ties.
func mostUsed(uses map[goldUse]int) (path string, n int) {
	for g, u := range uses {
		if u > n || u == n && g.path < path {
			path, n = g.path, u
		}
	}
	return path, n
}

// answeredByItself reports whether the question contains an expected substring, or the reference
// answer as whole words.
func answeredByItself(q Question) bool {
	question := visible.Folded(q.Question)
	inside := func(s string) bool {
		return strings.TrimSpace(s) != "" && strings.Contains(question, visible.Folded(s))
	}
	answer := visible.Folded(strings.TrimSpace(q.ReferenceAnswer))
	return slices.ContainsFunc(q.ExpectedSubstrings, inside) ||
		answer != "" && hasWords(question, answer)
}

// hasWords reports whether text contains words without an adjacent letter or digit.
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
