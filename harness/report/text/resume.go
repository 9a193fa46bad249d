package text

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// Resumption is a run that stopped, or that finished with failures which another try may repair.
type Resumption struct {
	Command string // that resumes the run
	Judge   string // the model or program that gives the verdicts
	Stopped result.Stop
	Storage bool // a file could not be written
	// Unasked are the questions without an answer. Unjudged are the questions with an answer but
	// without a verdict.
	Unasked, Unjudged int
	// Failed is the number of questions that failed for an external reason.
	Failed int
	Cost   result.Cost
	Limit  *llm.USD
	Free   bool // the scorer costs nothing
}

// retryErrors is the flag that repeats questions that failed for an external reason.
const retryErrors = " --retry-errors"

// Resume prints how to resume a run, and which questions a resume asks. It returns the command,
// empty if there is nothing left to do.
func Resume(t *terminal.Terminal, r Resumption) string {
	if r.Stopped == "" {
		them := "these"
		if r.Failed == 1 {
			them = "it"
		}
		if r.Failed == 0 {
			return ""
		}
		t.Field("resume", "%s failed because the daemon or the judge did not answer; once fixed, retry just %s with: %s%s",
			figure.Count(r.Failed, "question"), them, r.Command, retryErrors)
		return r.Command + retryErrors
	}
	how, more := Continuing(r.Stopped, r.Storage, r.Judge)
	t.Field("resume", "no results are lost; %s: %s%s", how, r.Command, more)
	t.Field("", "%s", r.rest(more == retryErrors))
	if spent, unknown := r.Cost.Total(); !r.Free || spent != 0 || unknown {
		t.Field("", "%s", r.moneyLeft())
	}
	return r.Command + more
}

// Continuing returns how to continue a stopped run: a phrase before the command, and additional
// flags. judge names the model or program that gives the verdicts.
func Continuing(stopped result.Stop, storage bool, judge string) (how, more string) {
	if storage {
		return "once the files can be written, continue with", ""
	}
	switch stopped {
	case result.StopBudget:
		return "continue with", " --max-cost-usd <more>"
	case result.StopMaxFailures:
		return "continue with", " --max-failures <more>"
	case result.StopMode:
		return "once the daemon runs that mode, continue with", ""
	case result.StopNoWorkers:
		return "once a worker can take the questions, continue with", ""
	case result.StopSystematic:
		return "once the cause is repaired, continue with", retryErrors
	case result.StopControls, result.StopUnusable:
		return "once the " + judge + " is in order, continue with", ""
	}
	return "continue with", ""
}

// rest says which questions a resume asks, and which it leaves.
func (r Resumption) rest(retried bool) string {
	again := "the " + figure.Count(r.Failed, "question") + " again that failed without an answer of the daemon or the judge"
	var does []string
	if r.Unasked > 0 {
		does = append(does, "asks the "+figure.Count(r.Unasked, "question")+" without an answer")
	}
	if r.Unjudged > 0 {
		does = append(does, "judges the "+figure.Count(r.Unjudged, "answer")+" without a verdict")
	}
	if r.Failed > 0 && retried {
		does = append(does, "tries "+again)
	}
	if len(does) == 0 {
		does = []string{"asks nothing"}
	}
	text := "it " + strings.Join(does, " and ")
	if r.Failed > 0 && !retried {
		text += "; it does not try " + again + ": add" + retryErrors
	}
	return text
}

// moneyLeft describes the amount spent and the rest of the cap.
func (r Resumption) moneyLeft() string {
	text := "spent " + wording.CostAmount(&r.Cost) + ", which still counts"
	spent, unknown := r.Cost.Total()
	if spent == 0 && !unknown {
		text = "nothing is spent yet"
	}
	if r.Limit != nil {
		text += fmt.Sprintf("; %s of the cap of %s is left", max(0, *r.Limit-spent), *r.Limit)
	}
	return text
}
