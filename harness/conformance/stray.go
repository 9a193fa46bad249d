package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"evalctl/harness/conformance/requirements"
)

// maxRuns is how many times a check runs at most if its requests fail with a status of 5xx. A
// request that fails each time fails for good, and the check's verdict holds. Any other failure is
// stray: it contradicts no requirement, because the repeated request succeeds, and is reported as
// its own finding.
const maxRuns = 4

// strays are the stray failures of a run.
type strays struct {
	target *requirements.Target
	kinds  []strayKind
}

// strayKind has the stray failures of a route with a status. The first one is the evidence.
type strayKind struct {
	requirements.FailedRequest
	checks []string
	count  int
}

// isFailing reports whether a check may have had stray failures: not all of its failed routes
// always fail.
func (s *strays) isFailing(res Result) bool {
	return slices.ContainsFunc(res.found.Failed, func(x requirements.FailedRequest) bool {
		return !isConstant(x.Status, s.target.Statuses(x.Route))
	})
}

// steady reruns a check until no request fails, or only those that always fail.
func (s *strays) steady(ctx context.Context, first Result, run func() Result) Result {
	res, always := first, first.found.Failed
	var seen []requirements.FailedRequest
	for n := 1; n < maxRuns && s.isFailing(res) && ctx.Err() == nil; n++ {
		seen = append(seen, res.found.Failed...)
		res = run()
		res.Alone = true
		always = slices.DeleteFunc(slices.Clone(always), func(x requirements.FailedRequest) bool { return !isAmong(x, res.found.Failed) })
	}
	if ctx.Err() != nil || len(seen) == 0 {
		return res
	}
	if len(res.found.Failed) > 0 && res.Verdict != Kept && len(always) == 0 {
		res.Verdict, res.Reason = NotJudged, ReasonServerError
	}
	for _, x := range append(seen, res.found.Failed...) {
		if !isAmong(x, always) {
			s.add(res.ID, x)
		}
	}
	return res
}

// isAmong reports whether the same request is among the failed ones.
func isAmong(x requirements.FailedRequest, failed []requirements.FailedRequest) bool {
	return slices.ContainsFunc(failed, func(y requirements.FailedRequest) bool { return x.Same == y.Same })
}

// add counts a stray failure during a check, or outside of checks if check is empty.
func (s *strays) add(check string, x requirements.FailedRequest) {
	i := slices.IndexFunc(s.kinds, func(k strayKind) bool { return k.Route == x.Route && k.Status == x.Status })
	if i < 0 {
		i = len(s.kinds)
		s.kinds = append(s.kinds, strayKind{FailedRequest: x})
	}
	k := &s.kinds[i]
	k.count++
	if check != "" && !slices.Contains(k.checks, check) {
		k.checks = append(k.checks, check)
	}
}

// findings returns a finding for each route that failed occasionally, at the end of the run. The
// level is SHOULD, because no requirement says how often a daemon may fail.
func (s *strays) findings() []Finding {
	for _, x := range s.target.Strays() {
		s.add("", x)
	}
	slices.SortStableFunc(s.kinds, func(a, b strayKind) int { return cmp.Compare(b.count, a.count) })
	var found []Finding
	for _, k := range s.kinds {
		all := 0
		for _, n := range s.target.Statuses(k.Route) {
			all += n
		}
		often := fmt.Sprintf("%d times", k.count)
		if k.count == 1 {
			often = "once"
		}
		found = append(found, Finding{
			Cause: fmt.Sprintf("answered %d to %s, %s in %d requests", k.Status, k.Route, often, all), Level: Should, Checks: k.checks,
			Request: k.Request, Response: k.Response, Detail: "the same request did not fail when it was sent again",
		})
	}
	return found
}
