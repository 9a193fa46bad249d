package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Finding is one cause of broken checks, with the evidence of one of them. The texts may contain
// text from the daemon. The run's tokens are removed from them.
type Finding struct {
	// Cause is one line, such as "PUT /documents returned 500".
	Cause string `json:"cause"`
	// Level is the highest level of the checks.
	Level Level `json:"level"`
	// Checks are the ids of the broken checks: MUST first, then in catalog order. The first one is
	// the evidence. The finding of a daemon's death names the check that caused it, and that of
	// requests that failed now and then those that sent them. Neither has a sentence.
	Checks []string `json:"checks"`
	// NotJudged is the number of checks that have no verdict because of the same cause.
	NotJudged int `json:"not_judged,omitempty"`

	Section  string `json:"section"`
	Sentence string `json:"sentence"`
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// findings groups the broken checks by cause. It gives all results of a cause the same text.
func findings(results []Result, routes *routes) []Finding {
	for i := range results {
		results[i].cause = routes.settle(results[i].cause)
		if c := results[i].cause; c.what != "" {
			results[i].Cause = c.String()
		}
	}
	texts := causeTexts(results)
	index, list := map[string]int{}, []Finding{}
	for _, level := range []Level{Must, Should} {
		for i := range results {
			res := &results[i]
			key := res.cause.key()
			if text, ok := texts[key]; ok {
				res.Cause = text
			}
			if res.Verdict != Broken || res.Level != level {
				continue
			}
			if _, ok := index[key]; !ok {
				index[key] = len(list)
				list = append(list, Finding{Cause: res.Cause})
			}
			list[index[key]].add(*res)
		}
	}
	for _, res := range results {
		if i, ok := index[res.cause.key()]; ok && res.Verdict == NotJudged {
			list[i].NotJudged++
		}
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(len(b.Checks), len(a.Checks)))
	})
	return list
}

// Summary says what a finding is based on, such as "5 checks: a, b, c and 2 more; 12 more not
// judged". It names at most most checks.
func (f Finding) Summary(most int) string {
	named := f.Checks[:min(most, len(f.Checks))]
	text := "1 check: "
	switch len(f.Checks) {
	case 0:
		text = "outside the checks"
	case 1:
	default:
		text = fmt.Sprintf("%d checks: ", len(f.Checks))
	}
	text += strings.Join(named, ", ")
	if more := len(f.Checks) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if f.NotJudged > 0 {
		text += fmt.Sprintf("; %d not judged because of it", f.NotJudged)
	}
	return text
}

// WithFindings returns the report with a finding for each broken check if it has none: it was
// written before there were findings.
func (r Report) WithFindings() Report {
	if r.Findings != nil {
		return r
	}
	for _, level := range []Level{Must, Should} {
		for _, res := range r.Results {
			if res.Level == level && res.Verdict == Broken {
				f := Finding{Cause: cmp.Or(res.Cause, res.Detail)}
				f.add(res)
				r.Findings = append(r.Findings, f)
			}
		}
	}
	return r
}

// add adds a broken check. The first one is the evidence.
func (f *Finding) add(res Result) {
	f.Checks = append(f.Checks, res.ID)
	if len(f.Checks) == 1 {
		f.Level, f.Section, f.Sentence = res.Level, res.Section, res.Sentence
		f.Request, f.Response, f.Detail = res.Request, res.Response, res.Detail
	}
}

// causeTexts returns the text of each cause that was seen on several endpoints or tools.
func causeTexts(results []Result) map[string]string {
	routes := map[string][]string{}
	for _, res := range results {
		if c := res.cause; c.wide && !c.whole && c.route != "" && !slices.Contains(routes[c.key()], c.route) {
			routes[c.key()] = append(routes[c.key()], c.route)
		}
	}
	texts := map[string]string{}
	for key, on := range routes {
		if len(on) > 1 {
			texts[key] = fmt.Sprintf("each of %d endpoints %s", len(on), key)
		}
	}
	return texts
}

// String describes the reason and the cause of a group.
func (g Group) String() string {
	if g.Reason == ReasonNeed || g.Reason == ReasonOptional {
		return g.Cause // one of a few texts
	}
	return g.Reason.String() + ": " + g.Cause
}

// Group is a number of checks that are not judged for the same cause.
type Group struct {
	Reason  Reason
	Cause   string
	Results []Result
}

// Unjudged groups the checks without a verdict by reason and cause, the largest group first.
func (r Report) Unjudged() []Group {
	index := map[[2]string]int{}
	var list []Group
	for _, res := range r.Results {
		if res.Verdict != NotJudged {
			continue
		}
		text := cmp.Or(res.Cause, res.Detail)
		key := [2]string{string(res.Reason), text}
		if _, ok := index[key]; !ok {
			index[key] = len(list)
			list = append(list, Group{Reason: res.Reason, Cause: text})
		}
		g := &list[index[key]]
		g.Results = append(g.Results, res)
	}
	slices.SortStableFunc(list, func(a, b Group) int { return cmp.Compare(len(b.Results), len(a.Results)) })
	return list
}

// several is how often a route must return the same error to be said to return it always.
const several = 3

// routes counts the statuses that each route returned. It is safe for concurrent use.
type routes struct {
	mu       sync.Mutex
	statuses map[string]map[int]int
	strays   []strays
}

func (r *routes) count(x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.statuses[x.route] == nil {
		r.statuses[x.route] = map[int]int{}
	}
	r.statuses[x.route][x.answer.status]++
}

// settle returns the cause of a route that returned the same error to all of several requests: then
// it does not matter what was wanted.
func (r *routes) settle(c cause) cause {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen := r.statuses[c.route]; c.status >= 400 && len(seen) == 1 && seen[c.status] >= several {
		return cause{route: c.route, what: fmt.Sprintf("returned %d", c.status), status: c.status}
	}
	return c
}
