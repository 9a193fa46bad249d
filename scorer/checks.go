package scorer

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"evalctl/internal/decimal"
)

// checksName is the name of the scorer Checks.
const checksName = "checks"

// maxFailing limits how many failed checks the reason of a verdict names.
const maxFailing = 5

// Checks scores an answer by its question's checks. If a check without a weight fails, the score is
// 0. Otherwise it is the weight of the passed checks divided by the total weight, or 1 if no check
// has a weight.
type Checks struct {
	// Case makes contains and not_contains case-sensitive.
	Case bool
	// Judge applies the criteria with CriterionPrompts. It is nil if there are none.
	Judge *Judge
}

// Name is "checks".
func (Checks) Name() string { return checksName }

// Check rejects an item without checks or with an invalid one.
func (Checks) Check(item Item) error {
	if len(item.Checks) == 0 {
		return fmt.Errorf("question %q has no checks: add at least one, or use another scorer", item.ID)
	}
	for i, c := range item.Checks {
		if err := c.Valid(); err != nil {
			return fmt.Errorf("question %q: checks[%d]: %w", item.ID, i, err)
		}
	}
	return nil
}

// Score applies all checks, including the judge's even if others failed, so that each check's rate
// covers all questions that have it. The answer is unscored if the judge gives no usable verdict on
// a criterion. Errors are as from Check and Judge.Score.
func (s Checks) Score(ctx context.Context, item Item) (Verdict, error) {
	if err := s.Check(item); err != nil {
		return Verdict{}, err
	}
	sum := checkSum{verdict: Verdict{Cached: true}}
	for _, c := range item.Checks {
		if !c.NeedsJudge() {
			sum.add(c, s.apply(c, item))
			continue
		}
		if s.Judge == nil {
			return Verdict{}, fmt.Errorf("question %q has a check for a judge, but the scorer has no judge", item.ID)
		}
		v, err := s.Judge.Score(ctx, criterion(item, c))
		sum.spend(v)
		if err != nil {
			return sum.verdict.unscored(), err
		}
		sum.add(c, CheckResult{Holds: v.Passed(), Scored: v.Scored, Reason: v.Reason})
	}
	return sum.outcome(), nil
}

// Recompute computes the verdict on an item that Check accepts without any request. Checks that
// need a judge keep their recorded outcomes; recorded has one for each check of the item.
func (s Checks) Recompute(item Item, recorded []CheckResult) Verdict {
	var sum checkSum
	for i, c := range item.Checks {
		if c.NeedsJudge() {
			sum.add(c, recorded[i])
		} else {
			sum.add(c, s.apply(c, item))
		}
	}
	return sum.outcome()
}

// checkSum adds up the checks of an answer.
type checkSum struct {
	verdict       Verdict
	judged        int
	failing       []string
	unscored      string // why the first check without a verdict has none
	broken        bool   // a check that must hold does not
	weight, holds big.Rat
}

// spend adds the judge's cost for a criterion.
func (s *checkSum) spend(v Verdict) {
	s.judged++
	sum := &s.verdict
	sum.spend(v)
	sum.Unanswered = sum.Unanswered || v.Unanswered
	if v.Model != "" {
		sum.Model = v.Model
	}
}

// add adds the outcome of a check.
func (s *checkSum) add(c Check, r CheckResult) {
	s.verdict.Checks = append(s.verdict.Checks, r)
	weight := decimal.Exact(c.Weight)
	s.weight.Add(&s.weight, weight)
	switch {
	case !r.Scored:
		if s.unscored == "" {
			s.unscored = fmt.Sprintf("%s: %s", c, r.Reason)
		}
	case r.Holds:
		s.holds.Add(&s.holds, weight)
	default:
		s.broken = s.broken || c.Weight == 0
		s.failing = append(s.failing, fmt.Sprintf("%s: %s", c, r.Reason))
	}
}

// outcome returns the verdict.
func (s *checkSum) outcome() Verdict {
	v := s.verdict
	v.Cached = v.Cached && s.judged > 0
	n := len(v.Checks)
	if s.unscored != "" {
		v.Reason = s.unscored
		return v
	}
	v.Scored, v.Score = true, 1
	switch {
	case s.broken:
		v.Score = 0
	case s.weight.Sign() > 0:
		v.Score, _ = new(big.Rat).Quo(&s.holds, &s.weight).Float64()
	}
	if len(s.failing) == 0 {
		v.Reason = fmt.Sprintf("all checks hold (%d)", n)
		return v
	}
	shown := s.failing[:min(maxFailing, len(s.failing))]
	v.Reason = fmt.Sprintf("%d of %d checks hold; %s", n-len(s.failing), n, strings.Join(shown, "; "))
	if more := len(s.failing) - len(shown); more > 0 {
		v.Reason += fmt.Sprintf("; and %d more", more)
	}
	return v
}

// apply applies a valid check that needs no judge.
func (s Checks) apply(c Check, item Item) CheckResult {
	if c.Kind() == kindLatency && item.LatencyMS == nil {
		if item.FromCache {
			return CheckResult{Reason: "the answer is from evalctl's cache and has no time; --cache off times all"}
		}
		return CheckResult{Reason: "the time of the answer was not recorded"}
	}
	holds, reason := s.holds(c, item)
	return CheckResult{Holds: holds, Scored: true, Reason: reason}
}

func (s Checks) holds(c Check, item Item) (holds bool, reason string) {
	switch kind := c.Kind(); kind {
	case kindContains, kindNotContains:
		exact := Exact{Case: s.Case}
		has := strings.Contains(exact.compared(item.Answer), exact.compared(c.Want()))
		return has == (kind == kindContains), hasText(has, "the answer has the text", "the answer does not have the text")
	case kindRegex:
		has := matches(c.Regex, item.Answer)
		return has, hasText(has, "it matches the answer", "it does not match the answer")
	case kindCites:
		return cites(item.Cited, c.Cites)
	case kindChoice:
		return choiceIs(item.Answer, c.Choice)
	case kindBefore:
		return before(item, c.Before)
	case kindLatency:
		return *item.LatencyMS <= c.MaxLatencyMS, fmt.Sprintf("the answer took %.0f ms", *item.LatencyMS)
	}
	return false, "this check is not known"
}

func hasText(has bool, yes, no string) string {
	if has {
		return yes
	}
	return no
}

// criterion returns the judge's item for a check.
func criterion(item Item, c Check) Item {
	item.Reference, item.Type = c.Judge, ""
	return item
}

// Criteria returns the judge's items for an item, one for each check that needs a judge.
func Criteria(item Item) []Item {
	var out []Item
	for _, c := range item.Checks {
		if c.NeedsJudge() {
			out = append(out, criterion(item, c))
		}
	}
	return out
}
