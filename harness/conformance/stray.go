package conformance

import (
	"cmp"
	"fmt"
	"slices"
)

// maxRuns is how often a check runs at most if requests of it fail with a status of 5xx. A request
// that fails each time fails for good, and the verdict on the check holds. Any other failure is
// stray: it contradicts no requirement, because the request succeeds when it is sent again, and is
// a finding of its own.
const maxRuns = 4

// isFailing reports whether there may have been stray failures.
func (r *runner) isFailing(o outcome) bool { return !r.target.routes.alwaysFail(o.failed) }

// steady runs a check again until no request fails, or only those that always do.
func (r *runner) steady(l *life, first outcome, run func() outcome) outcome {
	o, always := first, first.failed
	var seen []*exchange
	for n := 1; n < maxRuns && r.isFailing(o) && l.ctx.Err() == nil; n++ {
		seen = append(seen, o.failed...)
		o = run()
		o.Alone = true
		always = slices.DeleteFunc(slices.Clone(always), func(x *exchange) bool { return !isAmong(x, o.failed) })
	}
	if l.ctx.Err() != nil || len(seen) == 0 {
		return o
	}
	if len(o.failed) > 0 && o.Verdict != Kept && len(always) == 0 {
		o.Verdict, o.Reason = NotJudged, ReasonServerError
	}
	for _, x := range append(seen, o.failed...) {
		if !isAmong(x, always) {
			r.target.routes.stray(o.ID, x)
		}
	}
	return o
}

// isAmong reports whether the same request is among those that failed.
func isAmong(x *exchange, failed []*exchange) bool {
	return slices.ContainsFunc(failed, func(y *exchange) bool { return x.same == y.same })
}

// strays are the stray failures of a route with a status.
type strays struct {
	route  string
	status int
	first  *exchange
	checks []string
	count  int
}

// stray counts a stray failure during a check, or outside of checks if it is empty.
func (r *routes) stray(check string, x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.strays, func(s strays) bool { return s.route == x.route && s.status == x.answer.status })
	if i < 0 {
		i = len(r.strays)
		r.strays = append(r.strays, strays{route: x.route, status: x.answer.status, first: x})
	}
	s := &r.strays[i]
	s.count++
	if check != "" && !slices.Contains(s.checks, check) {
		s.checks = append(s.checks, check)
	}
}

// strayed counts failures outside of checks after which the same request succeeded.
func (d *target) strayed(failed []*exchange) {
	for _, x := range failed {
		if x.answer.status >= 500 { // else it was the rate limit
			d.routes.stray("", x)
		}
	}
}

// alwaysFail reports whether the routes of exchanges failed each of several times.
func (r *routes) alwaysFail(failed []*exchange) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(failed, func(x *exchange) bool {
		seen := r.statuses[x.route]
		return len(seen) != 1 || seen[x.answer.status] < several
	})
}

// strayFindings returns a finding for each route that failed now and then. The level is SHOULD: no
// requirement says how often a daemon may fail.
func (d *target) strayFindings() []Finding {
	d.routes.mu.Lock()
	defer d.routes.mu.Unlock()
	slices.SortStableFunc(d.routes.strays, func(a, b strays) int { return cmp.Compare(b.count, a.count) })
	var found []Finding
	for _, s := range d.routes.strays {
		all := 0
		for _, n := range d.routes.statuses[s.route] {
			all += n
		}
		often := fmt.Sprintf("%d times", s.count)
		if s.count == 1 {
			often = "once"
		}
		found = append(found, Finding{
			Cause: fmt.Sprintf("answered %d to %s, %s in %d requests", s.status, s.route, often, all), Level: Should, Checks: s.checks,
			Request: s.first.requestText(d.redactor.Text), Response: s.first.responseText(d.redactor.Text),
			Detail: "the same request did not fail when it was sent again",
		})
	}
	return found
}
