package display

import (
	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

// Arms prints the outcomes of the arms, and their comparison. It returns them for their closing.
func Arms(t *terminal.Terminal, outcomes []replay.Outcome, compared *compare.Arms) report.Replay {
	var arms report.Arms
	for _, o := range outcomes {
		a := report.Arm{Name: o.Arm.Name}
		if o.Err != nil {
			a.Problem = o.Err.Error()
		}
		if o.Result != nil {
			a.Run = &report.Run{Path: o.Path, Result: *o.Result, Failures: report.ReadFailures(t, o.Path, max(3, report.ListedFailures/2/len(outcomes)))}
		}
		arms = append(arms, a)
	}
	all := report.Replay{Arms: arms, Compared: compared}
	report.Text(t, all)
	return all
}
