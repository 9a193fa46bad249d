package display

import (
	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

// Arms prints what became of the arms, and how several compare.
func Arms(t *terminal.Terminal, outcomes []replay.Outcome, compared *compare.Arms) {
	var arms []text.Arm
	for _, o := range outcomes {
		arms = append(arms, text.Arm{Name: o.Arm.Name, Result: o.Result, Path: o.Path, Err: o.Err})
	}
	text.Arms(t, arms, compared, func(c *compare.Comparison) { report.Text(t, report.Comparison{Comparison: c}) })
}
