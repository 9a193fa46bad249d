package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/conformance/requirements"
)

// Finding is one cause of broken checks, with the evidence of one of them. The texts may contain
// text from the daemon, without the run's tokens.
type Finding struct {
	// Cause is one line, such as "PUT /documents returned 500".
	Cause string `json:"cause"`
	// Level is the highest level of the checks.
	Level Level `json:"level"`
	// Checks are the ids of the broken checks: MUST first, then in catalog order. The first one
	// provides the evidence. For a daemon's death it is the check that caused it, and for
	// occasionally failing requests the checks that sent them; these findings have no sentence.
	Checks []string `json:"checks"`
	// NotJudged is the number of checks left not judged by the same cause.
	NotJudged int `json:"not_judged,omitempty"`

	Section  string `json:"section"`
	Sentence string `json:"sentence"`
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// findings groups the broken checks by cause, and gives all results of a cause the same text.
// statuses counts the statuses returned by a route.
func findings(results []Result, statuses func(route string) map[int]int) []Finding {
	for i := range results {
		c := settled(results[i].found.Cause, statuses)
		if results[i].found.Cause = c; c.What != "" {
			results[i].Cause = c.String()
		}
	}
	texts := causeTexts(results)
	index, list := map[string]int{}, []Finding{}
	for _, level := range []Level{Must, Should} {
		for i := range results {
			res := &results[i]
			key := res.found.Cause.Key()
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
		if i, ok := index[res.found.Cause.Key()]; ok && res.Verdict == NotJudged {
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

// add adds a broken check. The first one provides the evidence.
func (f *Finding) add(res Result) {
	f.Checks = append(f.Checks, res.ID)
	if len(f.Checks) == 1 {
		f.Level, f.Section, f.Sentence = res.Level, res.Section, res.Sentence
		f.Request, f.Response, f.Detail = res.Request, res.Response, res.Detail
	}
}

// causeTexts returns the text of each cause seen on several endpoints or tools.
func causeTexts(results []Result) map[string]string {
	routes := map[string][]string{}
	for _, res := range results {
		if c := res.found.Cause; c.Wide && !c.Whole && c.Route != "" && !slices.Contains(routes[c.Key()], c.Route) {
			routes[c.Key()] = append(routes[c.Key()], c.Route)
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

// several is how often a route must return the same error before it is said to return it always.
const several = 3

// settled simplifies the cause on a route that returned the same error to all of several requests:
// the expected answer then does not matter.
func settled(c requirements.Cause, statuses func(route string) map[int]int) requirements.Cause {
	if c.Status >= 400 && isConstant(c.Status, statuses(c.Route)) {
		return requirements.Cause{Route: c.Route, What: fmt.Sprintf("returned %d", c.Status), Status: c.Status}
	}
	return c
}

// isConstant reports whether a route returned only this status, several times.
func isConstant(status int, seen map[int]int) bool { return len(seen) == 1 && seen[status] >= several }
