package imports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/decimal"
	"evalctl/scorer"
)

// verdict is what another harness decided on an answer.
type verdict struct {
	known bool
	score float64 // from 0 to 1
	// votes are the judgements of which the verdict is the majority, 0 for one. A tie is not known.
	passed, votes int
}

// The words of verdicts that need no mapping.
var (
	rightWords = []string{"true", "yes", "correct", "right", "pass", "passed"}
	wrongWords = []string{"false", "no", "incorrect", "wrong", "fail", "failed"}
)

// judged returns the verdict that the values of a field are.
func (l layout) judged(values []any) (verdict, error) {
	var v verdict
	for _, value := range values {
		score, known, err := l.score(value)
		if err != nil {
			return v, err
		}
		if !known {
			continue
		}
		v.votes++
		if v.score = score; score >= scorer.PassMark {
			v.passed++
		}
	}
	switch {
	case v.votes == 0:
		return verdict{}, nil
	case v.votes == 1:
		return verdict{known: true, score: v.score}, nil
	case 2*v.passed == v.votes:
		v.score = 0
		return v, nil
	}
	v.known, v.score = true, 0
	if 2*v.passed > v.votes {
		v.score = 1
	}
	return v, nil
}

// score returns one judgement as a score from 0 to 1. It is not known if the value is empty.
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

// why says in words what the verdict is of.
func (v verdict) why(reason string) string {
	if v.votes > 1 {
		votes := fmt.Sprintf("passed by %d of %d judgements", v.passed, v.votes)
		if reason != "" {
			votes += ": " + reason
		}
		return votes
	}
	return reason
}
