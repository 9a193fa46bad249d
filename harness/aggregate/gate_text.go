package aggregate

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// sentence phrases the verdict g on res.
func sentence(g *result.Gate, res *result.Result) string {
	switch g.Reason {
	case result.ReasonFloor:
		if g.Stopped != "" {
			return unreachableSentence(res)
		}
	case result.ReasonStopped:
		return fmt.Sprintf("stopped after %d of %s, this is not a score",
			res.Counts.Finished(), questions(res.Planned))
	case result.ReasonNoQuestions:
		if n := res.Counts.Unjudged; n > 0 && n == res.Planned {
			return fmt.Sprintf("the files have no verdict on %s", figure.Count(n, "answer"))
		}
		return fmt.Sprintf("none of %s has gold, so that none counts",
			questions(res.Planned))
	case result.ReasonNoAnswers:
		return fmt.Sprintf("the daemon answered none of %s; the result file says why for each",
			questions(g.Total))
	case result.ReasonSuspect:
		return suspectSentence(res)
	case result.ReasonControls:
		c := res.Replay.Controls
		right, wrong := c.Judged()
		return fmt.Sprintf("the scorer misjudged %d of %s, so its verdicts are not to be trusted",
			len(c.Failed), figure.Count(right+wrong, "control item"))
	case result.ReasonLost:
		return lostSentence(g, res)
	}
	s := wording.Floor(g)
	if g.FloorFrom == result.FloorNone {
		s = fmt.Sprintf("%d/%d passed", g.Passed, g.Total)
	}
	if g.Reason == result.ReasonLeak {
		s = fmt.Sprintf("texts of something deleted, or of another brain, came back in %s, and none may (--floor-family); %s",
			questions(res.Leaks.Severe), s)
	}
	for _, t := range g.Tags {
		if !t.Met {
			s += fmt.Sprintf("; tag %.100q: %s", t.Tag, wording.TagFloor(t, g.Mode))
		}
	}
	if g.Baseline != nil {
		s += "; " + wording.Baseline(g.Baseline)
	}
	return s
}

// suspectSentence says why a low rate may not be a real score.
func suspectSentence(res *result.Result) string {
	var reasons []string
	for _, s := range res.Suspect {
		reasons = append(reasons, s.Message)
	}
	return fmt.Sprintf("the target is suspect, and its %d of %s are not a score: %s; does it index what it is given? "+
		"evalctl target check says what it does", res.Passed, questions(res.Total), strings.Join(reasons, "; "))
}

// lostSentence says which questions have no score. Failures of the answering model are not blamed
// on the daemon.
func lostSentence(g *result.Gate, res *result.Result) string {
	errors, unscored, unread := g.MaxErrors, g.MaxUnscored, readerErrors(res)
	var reader string
	if unread > 0 {
		reader = fmt.Sprintf("the model that answers, %.100q, failed on %d of",
			res.Replay.Actor.Model, unread)
	}
	if unread > 0 && errors.Count == g.Total {
		others := ""
		if unread < g.Total {
			others = ", and no other has an answer"
		}
		return fmt.Sprintf("%s %s%s; the result file says why for each", reader, questions(g.Total), others)
	}
	s := ""
	if exceeded(errors) {
		s = fmt.Sprintf("%s in %s, --max-errors %s allows %d",
			figure.Count(errors.Count, "error"), questions(g.Total), errors.Max, errors.Allowed)
		if unread > 0 {
			s += fmt.Sprintf("; %s them", reader)
		}
	}
	if exceeded(unscored) {
		if s != "" {
			s += "; "
		}
		s += fmt.Sprintf("no verdict of the scorer on %d of %s, --max-unscored %s allows %d",
			unscored.Count, questions(g.Total), unscored.Max, unscored.Allowed)
	}
	return s
}

func questions(n int) string { return figure.Count(n, "question") }
