package conformance

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding is one cause of broken checks, with the evidence of one of them. The texts may contain
// text from the daemon. The run's tokens are removed from them.
type Finding struct {
	// Cause is one line, such as "PUT /documents returned 500".
	Cause string `json:"cause"`
	// Level is the highest level of the checks.
	Level Level `json:"level"`
	// Checks are the ids of the broken checks: MUST first, then in catalog order. The first one is the
	// evidence. The finding of a daemon's death names the check that caused it.
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
func findings(results []Result) []Finding {
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

// add adds a broken check. The first one is the evidence.
func (f *Finding) add(res Result) {
	f.Checks = append(f.Checks, res.ID)
	if len(f.Checks) == 1 {
		f.Level, f.Section, f.Sentence = res.Level, res.Section, res.Sentence
		f.Request, f.Response, f.Detail = res.Request, res.Response, res.Detail
	}
}

// causeTexts returns the text of each cause that was seen on several routes.
func causeTexts(results []Result) map[string]string {
	routes := map[string][]string{}
	for _, res := range results {
		if c := res.cause; c.wide && c.route != "" && !slices.Contains(routes[c.key()], c.route) {
			routes[c.key()] = append(routes[c.key()], c.route)
		}
	}
	texts := map[string]string{}
	for key, on := range routes {
		if len(on) > 1 {
			texts[key] = fmt.Sprintf("%d endpoints: each %s", len(on), key)
		}
	}
	return texts
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
