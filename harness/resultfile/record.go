package resultfile

import (
	"fmt"
	"slices"

	"evalctl/harness/result"
)

// checkRecord rejects a record that no run writes.
func checkRecord(r *result.Record) error {
	switch {
	case !slices.Contains([]result.Outcome{result.Scored, result.Errored, result.Unscored, result.NoGold, result.NotMeasurable, result.Unjudged}, r.Outcome):
		return fmt.Errorf("unknown outcome %q", r.Outcome)
	case (r.Outcome == result.Scored) != (r.Score != nil):
		return fmt.Errorf("outcome %s and score %s", r.Outcome, score(r.Score))
	case r.Score != nil && !(*r.Score >= 0 && *r.Score <= 1):
		return fmt.Errorf("score %v is not between 0 and 1", *r.Score)
	case r.Passed && r.Outcome != result.Scored:
		return fmt.Errorf("outcome %s has passed", r.Outcome)
	}
	return nil
}

// checkRepeat rejects a repeat that does not occur in a run with so many repeats.
func checkRepeat(r *result.Record, repeats int) error {
	switch {
	case repeats <= 1 && r.Repeat != 0:
		return fmt.Errorf("id %q has repeat %d in a run without repeats", r.ID, r.Repeat)
	case repeats > 1 && (r.Repeat < 1 || r.Repeat > repeats):
		return fmt.Errorf("id %q has repeat %d in a run of %d repeats", r.ID, r.Repeat, repeats)
	}
	return nil
}

func score(f *float64) string {
	if f == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *f)
}
