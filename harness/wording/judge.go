package wording

import (
	"fmt"
	"math"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// lenient is the specificity of a scorer that passes one wrong answer in five.
const lenient = 0.8

// Controls describes misjudged and unjudged controls, if the controls are valid. It is empty if
// there are none.
func Controls(c *result.Controls) string {
	if c == nil || !c.Valid() || !c.Enough() {
		return ""
	}
	right, wrong := c.Judged()
	var s string
	if n := len(c.Failed); n > 0 {
		s = fmt.Sprintf("the scorer misjudged %d of %s, too few to show that it errs on more than one in 20; "+
			"expect such errors in the scores", n, figure.Count(right+wrong, "judged control item"))
	}
	if c.Unscored > 0 {
		if s != "" {
			s += "; "
		}
		s += fmt.Sprintf("%s got no verdict and %s in no rate", figure.Count(c.Unscored, "control item"), are(c.Unscored))
		if wrong > 0 && wrong < c.Wrong {
			s += fmt.Sprintf(": a scorer that passes one wrong answer in five fails all %d judged wrong ones with a probability of %.2f",
				wrong, math.Pow(lenient, float64(wrong)))
		}
	}
	return s
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// RecipeVerdicts lists the decisions of the recipes on the answer, empty without a panel.
func RecipeVerdicts(r *result.Record) string {
	var out []string
	for _, v := range r.Panel {
		word := "failed"
		switch {
		case v.Score == nil:
			word = "no verdict"
		case v.Passed:
			word = "passed"
		}
		out = append(out, v.Recipe+" "+word)
	}
	return strings.Join(out, ", ")
}

// Temperature formats the temperature of a judge, "default" if it is nil.
func Temperature(j *result.JudgeModel) string {
	if j.Temperature == nil {
		return "default"
	}
	return fmt.Sprint(*j.Temperature)
}
