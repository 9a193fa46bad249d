package page

import (
	"fmt"

	"evalctl/harness/result"
)

// notMeasurable says how many questions the target could not be asked.
func notMeasurable(n result.Counts) string {
	return fmt.Sprintf("%s not measurable, because the target lacks an operation, and not counted",
		count(n.NotMeasurable, "question"))
}
