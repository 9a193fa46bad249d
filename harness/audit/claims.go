package audit

import (
	"fmt"

	"evalctl/internal/figure"
)

// claims answers whether the files show published tokens and latencies.
func (a *Audit) claims() Finding {
	f := Finding{
		Header:  []string{"file", "answers with a latency", "p50", "p95", "answers with tokens", "input tokens, mean"},
		Command: "evalctl show FILE",
		Cannot:  "What a latency includes: files rarely say whether the search, the network or the reader counts. Tokens are as the harness counted them.",
	}
	for _, s := range a.Subjects {
		l, u := s.Result.Latency, s.Result.ReaderUsage
		answers := 0
		for _, r := range s.Records {
			if r.Outcome.Answered() {
				answers++
			}
		}
		p50, p95, tokens := "too few", "too few", "none"
		if l.P50 != nil {
			p50 = figure.Duration(*l.P50)
		}
		if l.P95 != nil {
			p95 = figure.Duration(*l.P95)
		}
		if u.Reported > 0 {
			tokens = fmt.Sprintf("%.0f", float64(u.InputTokens)/float64(u.Reported))
		}
		f.Rows = append(f.Rows, []string{s.Name, fmt.Sprintf("%d/%d", l.N, answers), p50, p95, fmt.Sprintf("%d/%d", u.Reported, answers), tokens})
		switch {
		case l.N == 0 && u.Reported == 0:
			f.found(Shown, "%s has neither latencies nor tokens, so neither can be checked.", s.Name)
		case l.N == 0:
			f.found(Shown, "%s has no latencies.", s.Name)
		case u.Reported == 0:
			f.found(Shown, "%s has no tokens.", s.Name)
		default:
			f.found(NotShown, "%s has both.", s.Name)
		}
	}
	return f
}
