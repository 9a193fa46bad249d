package resultfile

import (
	"errors"
	"fmt"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// checkCounts compares the number of questions with the figures. A run that a failing disk stopped
// may have written more questions than it counted.
func (r *Reader) checkCounts() error {
	finished, planned := r.res.Counts.Finished(), r.res.Planned
	if err := consistent(&r.res); err != nil {
		return fmt.Errorf("%w: it has been changed, or is damaged", err)
	}
	switch {
	case r.res.Stopped == "" && (r.count != finished || r.count != planned):
		return fmt.Errorf("it has %s; its counts say %d and the run planned %d: it has been changed, or is damaged",
			figure.Count(r.count, "question"), finished, planned)
	case r.count < finished || r.count > planned:
		return fmt.Errorf("it has %s; its counts say %d, and the run planned %d before it stopped: it has been changed, or is damaged",
			figure.Count(r.count, "question"), finished, planned)
	}
	return nil
}

// consistent compares the figures that must agree with each other.
func consistent(r *result.Result) error {
	n, g := r.Counts, r.Gate
	stopped := r.Stopped
	if g.Reason == result.ReasonControls {
		stopped = "" // it is not what decided
	}
	switch {
	case min(n.Total, n.Passed, n.Scored, n.Errors, n.Unscored, n.NoGold, n.NotMeasurable, n.Unjudged) < 0:
		return errors.New("its counts are below 0")
	case n.Scored+n.Errors+n.Unscored != n.Total:
		return fmt.Errorf("counts: %d scored, %d errors and %d unscored are not %d in total",
			n.Scored, n.Errors, n.Unscored, n.Total)
	case n.Passed > n.Scored:
		return fmt.Errorf("counts: %d passed of %d scored", n.Passed, n.Scored)
	case r.Total != n.Total || r.Passed != n.Passed:
		return fmt.Errorf("it has %d of %d passed, its counts %d of %d", r.Passed, r.Total, n.Passed, n.Total)
	case g.Total != n.Total || g.Passed != n.Passed || g.Stopped != stopped:
		return fmt.Errorf("its gate is about another run: %d of %d passed, stopped %q",
			g.Passed, g.Total, g.Stopped)
	}
	switch g.Verdict {
	case result.Pass, result.Fail, result.Measured, result.Inconclusive, result.Invalid:
		return nil
	}
	return fmt.Errorf("its gate has the unknown verdict %q", g.Verdict)
}
