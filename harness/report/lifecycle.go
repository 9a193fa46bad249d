package report

import (
	"fmt"

	"evalctl/harness/result"
)

// notMeasurable is the part of the counts that only a run with operations has.
func notMeasurable(n result.Counts) string {
	if n.NotMeasurable == 0 {
		return ""
	}
	return fmt.Sprintf(" not_measurable=%d", n.NotMeasurable)
}
