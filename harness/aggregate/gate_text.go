package aggregate

import (
	"fmt"

	"evalctl/harness/result"
)

// sentence returns the text of the verdict g on res.
func sentence(g *result.Gate, res *result.Result) string {
	switch g.Reason {
	case result.ReasonStopped:
		return fmt.Sprintf("stopped after %d of %s, this is not a score",
			res.Counts.Finished(), questions(res.Planned))
	case result.ReasonNoQuestions:
		return fmt.Sprintf("none of %s has expected_paths, so that none counts",
			questions(res.Planned))
	case result.ReasonNoAnswers:
		return fmt.Sprintf("the daemon answered none of %s; the result file says why for each",
			questions(g.Total))
	case result.ReasonLost:
		a := g.Allowance
		return fmt.Sprintf("no score for %d of %s (%s, %d unscored), --max-unscored %s allows %d",
			a.Lost, questions(g.Total), number(a.Errors, "error"), a.Unscored, a.Max, a.Allowed)
	}
	s := fmt.Sprintf("%d of %s passed, the floor %v needs %d",
		g.Passed, questions(g.Total), g.Floor, g.Required)
	if g.Verdict == result.Fail {
		return s
	}
	return s + "; " + g.ProofText()
}

func questions(n int) string { return number(n, "question") }

// number returns a count of things, such as "2 errors".
func number(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
