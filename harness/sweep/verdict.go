package sweep

import (
	"errors"
	"fmt"

	"evalctl/harness/result"
)

// ErrNoAnswers means that the daemon answered no question in any cell.
var ErrNoAnswers = errors.New("the daemon answered no question in any cell")

// ErrLost means that cells of a finished sweep have too many questions without a score.
var ErrLost = errors.New("cells have more questions without a score")

// Verdict returns ErrNoAnswers, or ErrLost if a cell has more errors, or more answers without a
// verdict, than allowed.
func Verdict(s result.Sweep, errs, unscored result.Allowance) error {
	quiet, lost := 0, 0
	for _, cell := range s.Cells {
		if cell.Unanswered() {
			quiet++
		}
		if n := cell.Result.Counts; n.Errors > errs.Of(n.Total) || n.Unscored > unscored.Of(n.Total) {
			lost++
		}
	}
	switch {
	case quiet == len(s.Cells):
		return ErrNoAnswers
	case lost > 0:
		return fmt.Errorf("%d of %d %w than --max-errors %s or --max-unscored %s allows", lost, len(s.Cells), ErrLost, errs, unscored)
	}
	return nil
}
