package wording

import (
	"fmt"
	"strconv"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// proof says whether it is proven that a pass rate meets the floor, or that it does not.
func proof(p *result.Proof, floor float64, total int, met bool) string {
	if !met {
		return unproven(p, floor)
	}
	switch {
	case p.Proven:
		return fmt.Sprintf("proven: even the one-sided 95%% lower bound%s reaches it", over(p))
	case floor == 1:
		return "not proven: no number of questions can prove that none would fail"
	case p.Method == result.MethodClustered:
		return fmt.Sprintf("not proven: the one-sided 95%% lower bound%s, %s, is below it", over(p), decimals(p.Lower, floor))
	}
	s := fmt.Sprintf("not proven at this size: a true rate of %.2f passes %.0f%% of the time", p.WorseRate, 100*p.WorsePasses)
	if p.Needed == nil {
		return s + "; no result on so few questions would prove it"
	}
	return s + fmt.Sprintf("; %d/%d would prove it", *p.Needed, total)
}

func unproven(p *result.Proof, floor float64) string {
	bound := decimals(p.Upper, floor)
	if p.Refuted {
		return fmt.Sprintf("proven: even the one-sided 95%% upper bound%s, %s, is below it", over(p), bound)
	}
	return fmt.Sprintf("not proven: the one-sided 95%% upper bound%s, %s, still reaches it%s",
		over(p), bound, settling(p))
}

// settling says how many questions would settle the verdict, "" if unknown.
func settling(p *result.Proof) string {
	if p.Questions == nil {
		return ""
	}
	return fmt.Sprintf("; about %s would settle it, if this is the true rate", figure.Count(*p.Questions, "question"))
}

// over names the clusters of the bounds, preceded by a blank, "" for independent questions.
func over(p *result.Proof) string {
	switch {
	case p.Method != result.MethodClustered:
		return ""
	case p.Clusters == 1:
		return " over 1 cluster"
	}
	return fmt.Sprintf(" over %d clusters", p.Clusters)
}

// decimals formats a bound for comparison with a floor, with as many decimals as show that they
// differ, at least 3.
func decimals(bound, floor float64) string {
	for digits := 3; digits < 9; digits++ {
		s := strconv.FormatFloat(bound, 'f', digits, 64)
		if f, err := strconv.ParseFloat(s, 64); err == nil && (f >= floor) == (bound >= floor) {
			return s
		}
	}
	return strings.TrimRight(strconv.FormatFloat(bound, 'f', 17, 64), "0")
}
