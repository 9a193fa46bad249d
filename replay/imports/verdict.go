package imports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/decimal"
	"evalctl/scorer"
)

// The words for verdicts that need no mapping.
var (
	rightWords = []string{"true", "yes", "correct", "right", "pass", "passed"}
	wrongWords = []string{"false", "no", "incorrect", "wrong", "fail", "failed"}
)

// judged converts a field's values to judgements from 0 to 1, without empty values.
func (l layout) judged(values []any) (votes []float64, err error) {
	for _, value := range values {
		score, known, err := l.score(value)
		if err != nil {
			return nil, err
		}
		if known {
			votes = append(votes, score)
		}
	}
	return votes, nil
}

// score converts one judgement to a score from 0 to 1. known is false for an empty value.
func (l layout) score(value any) (score float64, known bool, err error) {
	text := strings.ToLower(strings.TrimSpace(textOf(value)))
	is := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, text) })
	}
	switch {
	case text == "":
		return 0, false, nil
	case is(l.right):
		return 1, true, nil
	case is(l.wrong):
		return 0, true, nil
	case is(l.half):
		return 0.5, true, nil
	case is(l.unjudged):
		return 0, false, nil
	case is(rightWords):
		return 1, true, nil
	case is(wrongWords):
		return 0, true, nil
	}
	if _, list := value.([]any); !list {
		n, err := decimal.Parse(text)
		if err == nil && n >= 0 && n <= 1 {
			return n, true, nil
		}
	}
	kind := "text"
	if _, number := value.(json.Number); number {
		kind = "number"
	}
	return 0, false, fmt.Errorf("its verdict is the %s %.60q, and neither a score from 0 to 1 nor a word such as correct or "+
		"wrong; say with --mapping FILE which values are right and which are wrong", kind, textOf(value))
}

// verdict returns the verdict on an answer under a voting rule.
func (a *answer) verdict(rule result.VoteRule) scorer.Verdict {
	score, known := rule.Score(a.votes)
	v := scorer.Verdict{Scored: known, Score: score, Reason: a.reason}
	if n := len(a.votes); n > 1 {
		v.Reason = fmt.Sprintf("passed by %d of %d judgements", a.passed(), n)
		if !known {
			v.Reason = "a tie: " + v.Reason
		}
		if a.reason != "" {
			v.Reason += ": " + a.reason
		}
	}
	if len(a.votes) == 0 {
		v.Reason = "the files have no verdict on it"
		if a.failure != "" {
			v.Reason += "; the system failed: " + a.failure
		}
		if a.reason != "" {
			v.Reason += ": " + a.reason
		}
	}
	return v
}

// passed counts the judgements that passed the answer.
func (a *answer) passed() (n int) {
	for _, v := range a.votes {
		if v >= scorer.PassMark {
			n++
		}
	}
	return n
}
