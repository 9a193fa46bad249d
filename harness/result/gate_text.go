package result

import (
	"fmt"
	"strconv"
	"strings"

	"evalctl/internal/figure"
)

// ProofText says how certain it is that the floor is reached, and what would settle it. It is empty
// without a Proof.
func (g *Gate) ProofText() string {
	if g.Proof == nil {
		return ""
	}
	return g.Proof.text(g.Floor, g.Total, g.Passed >= g.Required)
}

// FloorName formats the floor: "floor 0.9, the default", or "no floor".
func (g *Gate) FloorName() string { return g.FloorFrom.Text(g.Floor) }

// Word returns the verdict to display. Versions that did not record the origin of the floor called
// a run without a floor a pass.
func (g *Gate) Word() Verdict {
	if g.Verdict == Pass && g.Floor == 0 && g.FloorFrom == "" && g.Baseline == nil && len(g.Tags) == 0 {
		return Measured
	}
	return g.Verdict
}

// FloorText compares the pass rate with the floor, such as "46/50 passes the floor 0.9 (needs 45)",
// and says how certain the result is. It is empty without a Proof.
func (g *Gate) FloorText() string {
	return floorText(g.Mode, g.FloorFrom, g.Floor, g.Required, g.Passed, g.Total, g.Proof)
}

// Text is like Gate.FloorText, for a tag. mode is the mode of the gate.
func (t TagGate) Text(mode FloorMode) string {
	if t.Total == 0 {
		return fmt.Sprintf("no question counts, the floor is %v", t.Floor)
	}
	return floorText(mode, FloorGiven, t.Floor, t.Required, t.Passed, t.Total, t.Proof)
}

// Met reports whether a pass rate with this proof meets a floor. FloorPoint requires that passed is
// at least required; the other modes compare the bound.
func (m FloorMode) Met(passed, required int, p *Proof) bool {
	switch m {
	case FloorProven:
		return p.Proven
	case FloorNotRefuted:
		return !p.Refuted
	}
	return passed >= required
}

func floorText(mode FloorMode, from FloorFrom, floor float64, required, passed, total int, p *Proof) string {
	if p == nil {
		return ""
	}
	score, met := fmt.Sprintf("%d/%d", passed, total), mode.Met(passed, required, p)
	name := "the " + from.Text(floor)
	needs := fmt.Sprintf(" (needs %d)", required)
	switch {
	case p.Method == MethodClustered:
		needs = ""
	case required > total:
		needs = " (no result on so few questions would)"
	}
	bound := p.over()
	switch {
	case mode == FloorProven && met:
		return fmt.Sprintf("%s proves %s: the one-sided 95%% lower bound%s, %s, reaches it",
			score, name, bound, decimals(p.Lower, floor))
	case mode == FloorProven:
		return fmt.Sprintf("%s does not prove %s%s: the one-sided 95%% lower bound%s, %s, is below it%s",
			score, name, needs, bound, decimals(p.Lower, floor), p.settle())
	case mode == FloorNotRefuted && met:
		return fmt.Sprintf("%s does not refute %s%s: the one-sided 95%% upper bound%s, %s, still reaches it",
			score, name, needs, bound, decimals(p.Upper, floor))
	case mode == FloorNotRefuted:
		return fmt.Sprintf("%s refutes %s%s: the one-sided 95%% upper bound%s, %s, is below it",
			score, name, needs, bound, decimals(p.Upper, floor))
	}
	word := "misses"
	if met {
		word = "passes"
	}
	return fmt.Sprintf("%s %s %s (needs %d), %s", score, word, name, required, p.text(floor, total, met))
}

// text says whether it is proven that a pass rate meets the floor, or that it does not.
func (p *Proof) text(floor float64, total int, met bool) string {
	if !met {
		return p.failure(floor)
	}
	switch {
	case p.Proven:
		return fmt.Sprintf("proven: even the one-sided 95%% lower bound%s reaches it", p.over())
	case floor == 1:
		return "not proven: no number of questions can prove that none would fail"
	case p.Method == MethodClustered:
		return fmt.Sprintf("not proven: the one-sided 95%% lower bound%s, %s, is below it", p.over(), decimals(p.Lower, floor))
	}
	s := fmt.Sprintf("not proven at this size: a true rate of %.2f passes %.0f%% of the time", p.WorseRate, 100*p.WorsePasses)
	if p.Needed == nil {
		return s + "; no result on so few questions would prove it"
	}
	return s + fmt.Sprintf("; %d/%d would prove it", *p.Needed, total)
}

func (p *Proof) failure(floor float64) string {
	bound := decimals(p.Upper, floor)
	if p.Refuted {
		return fmt.Sprintf("proven: even the one-sided 95%% upper bound%s, %s, is below it", p.over(), bound)
	}
	return fmt.Sprintf("not proven: the one-sided 95%% upper bound%s, %s, still reaches it%s",
		p.over(), bound, p.settle())
}

// settle says how many questions would settle the verdict, "" if unknown.
func (p *Proof) settle() string {
	if p.Questions == nil {
		return ""
	}
	return fmt.Sprintf("; about %s would settle it, if this is the true rate", questions(*p.Questions))
}

// over names the clusters of the bounds, preceded by a blank, "" for independent questions.
func (p *Proof) over() string {
	switch {
	case p.Method != MethodClustered:
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

// Text compares the run with its baseline, in one line.
func (b *BaselineGate) Text() string {
	if b.Accepted != "" {
		return b.text() + ". " + b.Accepted
	}
	return b.text()
}

func (b *BaselineGate) text() string {
	if b.Difference == nil {
		return fmt.Sprintf("not shown to be not worse than the baseline: no question has a verdict in both (%d unpaired)", b.Unpaired)
	}
	margin := points(b.Margin)
	over := figure.Count(b.Pairs(), "pair")
	if b.Clusters != nil {
		over += " in " + figure.Count(b.Clusters.Clusters, "cluster") + " by " + b.Clusters.Tag
	}
	if b.Interval == nil {
		return fmt.Sprintf("not shown to be not worse than the baseline: %s points over %s, which are too few clusters to tell", figure.Points(*b.Difference), over)
	}
	method, _ := MethodName(b.Interval.Method)
	figures := fmt.Sprintf("%s points, 95%% CI %s to %s (%s), over %s", figure.Points(*b.Difference), figure.Points(b.Interval.Low), figure.Points(b.Interval.High),
		method, over)
	switch b.Verdict {
	case NotWorse:
		return fmt.Sprintf("not worse than the baseline by %s points: %s", margin, figures)
	case Worse:
		return fmt.Sprintf("worse than the baseline by more than %s points: %s", margin, figures)
	}
	s := fmt.Sprintf("not shown to be not worse than the baseline by %s points: %s", margin, figures)
	switch {
	case b.Settles != nil:
		return s + fmt.Sprintf("; with %s of the same shares it could be", questions(*b.Settles))
	case b.Clusters != nil && *b.Difference > -b.Margin:
		return s + "; questions about more of them would be needed"
	case *b.Difference <= -b.Margin:
		return s + "; more questions of the same shares would not show it"
	}
	return s
}

// points formats a share in percentage points.
func points(share float64) string { return fmt.Sprintf("%.4g", 100*share) }
