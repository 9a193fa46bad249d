package sweep

import (
	"errors"
	"fmt"

	"evalctl/harness/result"
)

// ErrNoAnswers means that the daemon answered no question in any cell.
var ErrNoAnswers = errors.New("the daemon answered no question in any cell")

// ErrLost means that cells of a finished sweep have too many questions without an answer.
var ErrLost = errors.New("cells have more errors")

// Verdict returns ErrNoAnswers, or ErrLost if a cell has more errors than allowed.
func Verdict(s result.Sweep, allowed result.Allowance) error {
	quiet, lost := 0, 0
	for _, cell := range s.Cells {
		if cell.Unanswered() {
			quiet++
		}
		if n := cell.Result.Counts; n.Errors > allowed.Of(n.Total) {
			lost++
		}
	}
	switch {
	case quiet == len(s.Cells):
		return ErrNoAnswers
	case lost > 0:
		return fmt.Errorf("%d of %d %w than --max-errors %s allows", lost, len(s.Cells), ErrLost, allowed)
	}
	return nil
}
