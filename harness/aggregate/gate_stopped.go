package aggregate

import (
	"fmt"

	"evalctl/harness/result"
	"evalctl/harness/wording"
)

// unreachable reports whether a run stopped by failures could no longer meet its floor even if all
// remaining questions passed.
func unreachable(res *result.Result) bool {
	set := res.Settings
	if res.Stopped != result.StopMaxFailures || set.FloorMode == result.FloorNotRefuted && res.Clustered != nil {
		return false
	}
	passed, total := atBest(res)
	return passed < required(set.FloorMode, total, set.Floor, res.Clustered)
}

// atBest returns the counts of a stopped run if all remaining questions pass.
func atBest(res *result.Result) (passed, total int) {
	left := res.Planned - res.Counts.Finished()
	return res.Counts.Passed + left, res.Counts.Total + left
}

func unreachableSentence(res *result.Result) string {
	passed, total := atBest(res)
	set := res.Settings
	return fmt.Sprintf("stopped after %d of %s, of which %d did not pass: even if all others passed, "+
		"%d/%d would miss the %s (needs %d)", res.Counts.Finished(), questions(res.Planned),
		res.Counts.Total-res.Counts.Passed, passed, total, wording.FloorName(set.FloorFrom, set.Floor),
		required(set.FloorMode, total, set.Floor, res.Clustered))
}
