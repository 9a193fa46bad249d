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
	case result.ReasonControls:
		c := res.Replay.Controls
		return fmt.Sprintf("the scorer misjudged %d of %s, so its verdicts are not to be trusted",
			len(c.Failed), number(c.Right+c.Wrong, "control item"))
	case result.ReasonLost:
		return lostSentence(g, res)
	}
	s := fmt.Sprintf("%d of %s passed, the floor %v needs %d",
		g.Passed, questions(g.Total), g.Floor, g.Required)
	if g.Verdict == result.Fail {
		return s
	}
	return s + "; " + g.ProofText()
}

// lostSentence says which questions have no score. A failure of the model that answers is not the
// daemon's.
func lostSentence(g *result.Gate, res *result.Result) string {
	a, unread := g.Allowance, readerErrors(res)
	var reader string
	if unread > 0 {
		reader = fmt.Sprintf("the model that answers, %.100q, failed on %d of",
			res.Replay.Actor.Model, unread)
	}
	if unread > 0 && a.Errors == g.Total {
		others := ""
		if unread < g.Total {
			others = ", and no other has an answer"
		}
		return fmt.Sprintf("%s %s%s; the result file says why for each", reader, questions(g.Total), others)
	}
	s := fmt.Sprintf("no score for %d of %s (%s, %d unscored), --max-unscored %s allows %d",
		a.Lost, questions(g.Total), number(a.Errors, "error"), a.Unscored, a.Max, a.Allowed)
	if unread > 0 {
		s += fmt.Sprintf("; %s them", reader)
	}
	return s
}

func questions(n int) string { return number(n, "question") }

// number returns a count of things, such as "2 errors".
func number(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
