package judging

import (
	"fmt"
	"os"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// perfect is a number of labels that leaves no doubt about the sensitivity.
const perfect = 1 << 40

// CheckGiven measures another harness's judge by its verdicts on intentionally wrong answers, and
// corrects the pass rate of a result by the same judge. Its verdicts on right answers are unknown,
// so the corrected rate assumes that every right answer passed and is a lower bound. note names
// information missing from the files, empty for none.
func CheckGiven(wrongPath, resultPath string) (c *Check, note string, err error) {
	wrong, err := openGiven("--wrong", wrongPath)
	if err != nil {
		return nil, "", err
	}
	of, err := openGiven("--result", resultPath)
	if err != nil {
		return nil, "", err
	}
	if sameFile(wrongPath, resultPath) {
		return nil, "", fmt.Errorf("--wrong %s and --result %s are the same file: answers that are wrong on purpose are another system's", wrongPath, resultPath)
	}
	var notes []string
	a, b := givenJudge(wrong), givenJudge(of)
	switch {
	case a != "" && b != "" && a != b:
		return nil, "", fmt.Errorf("--wrong %s was judged by %s, and --result %s by %s: the errors of one judge say nothing about another",
			wrongPath, a, resultPath, b)
	case a == "" || b == "":
		notes = append(notes, "the files do not say that one judge, with one prompt, gave both verdicts: import them with --judge-id")
	}
	c = &Check{Judge: result.JudgeModel{Model: a}, Result: resultPath}
	n := wrong.Counts
	unscored := n.Unscored + n.Unjudged
	c.Accuracy = Accuracy{
		Labels: n.Scored + unscored, WrongPassed: n.Passed, WrongFailed: n.Scored - n.Passed, Unscored: unscored, Wrong: []Misjudgement{},
	}
	if unscored > 0 {
		notes = append(notes, fmt.Sprintf("answers in --wrong without a verdict, which are in no rate: %d of %d", unscored, c.Labels))
	}
	c.rate()
	if k := wrong.Clustered; k != nil && c.Specificity != nil {
		c.Specificity.Interval = result.Interval{}
		if i := k.Interval; i != nil {
			c.Specificity.Interval = interval(i.Method, 1-i.High, 1-i.Low)
		}
	}
	c.Correction = new(c.least(of, wrong.Clustered))
	return c, strings.Join(notes, "; "), nil
}

// least corrects a pass rate like Correct, with a sensitivity of 1. It also allows for the
// clusters of the wrong answers, nil if these are independent.
func (a *Accuracy) least(of *result.Result, wrong *result.ClusteredRate) Correction {
	c := newCorrection(of)
	c.Least = true
	switch {
	case c.Impossible != "":
	case a.Specificity == nil:
		c.Impossible = "no answer that is wrong on purpose has a verdict"
	case wrong != nil && wrong.Interval == nil:
		c.Impossible = "the clusters of the answers that are wrong on purpose do not show how uncertain the specificity is"
	default:
		c.correct(of.Clustered, stats.JudgeAccuracy{
			Sensitivity: 1, Right: perfect, Specificity: a.Specificity.Rate, Wrong: independent(a.WrongPassed+a.WrongFailed, wrong),
		}, "the judge passes every answer that is wrong on purpose")
	}
	return c
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// openGiven reads the result for a flag, whose verdicts must come from another harness.
func openGiven(flag, path string) (*result.Result, error) {
	res, err := openResult(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if !res.GivenVerdicts() {
		return nil, fmt.Errorf("%s %s: its verdicts are by the scorer %s, and not imported; leave out --wrong, and give --labels and --judge",
			flag, path, res.Identity.Scorer)
	}
	return res, nil
}

// givenJudge names the judge of imported verdicts, empty if unknown.
func givenJudge(res *result.Result) string {
	id := res.Identity.Imported
	if id == nil {
		return ""
	}
	if id.JudgeID != "" {
		return id.JudgeID
	}
	if len(id.JudgeModels) == 0 || id.JudgePrompt == "" {
		return ""
	}
	return strings.Join(id.JudgeModels, ", ") + ", prompt " + id.JudgePrompt
}
