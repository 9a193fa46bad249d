package result

import "fmt"

// sentence words the verdict on res.
func (g *Gate) sentence(res Result) string {
	switch g.Reason {
	case ReasonStopped:
		return fmt.Sprintf("stopped after %d of %s, this is not a score", res.Counts.Finished(), questions(res.Planned))
	case ReasonNoQuestions:
		return fmt.Sprintf("none of %s has expected_paths, so that none counts", questions(res.Planned))
	case ReasonNoAnswers:
		return fmt.Sprintf("the daemon answered none of %s; the result file says why for each", questions(g.Total))
	case ReasonLost:
		a := g.Allowance
		return fmt.Sprintf("no score for %d of %s (%s, %d unscored), --max-unscored %s allows %d",
			a.Lost, questions(g.Total), number(a.Errors, "error"), a.Unscored, a.Max, a.Allowed)
	}
	s := fmt.Sprintf("%d of %s passed, the floor %v needs %d", g.Passed, questions(g.Total), g.Floor, g.Required)
	if g.Verdict == Fail {
		return s
	}
	return s + "; " + g.ProofText()
}

// ProofText says how certain it is that the floor is reached. It is empty without a Proof.
func (g *Gate) ProofText() string {
	p := g.Proof
	switch {
	case p == nil:
		return ""
	case p.Proven:
		return "proven: even the one-sided 95% lower bound reaches it"
	case g.Floor == 1:
		return "not proven: no number of questions can prove that none would fail"
	}
	s := fmt.Sprintf("not proven at this size: a true rate of %.2f passes %.0f%% of the time", p.WorseRate, 100*p.WorsePasses)
	if p.Needed == nil {
		return s + "; no result on so few questions would prove it"
	}
	return s + fmt.Sprintf("; %d/%d would prove it", *p.Needed, g.Total)
}

func questions(n int) string { return number(n, "question") }

// number returns a count of things, such as "2 errors".
func number(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
