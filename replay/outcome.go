package replay

import (
	"slices"

	"evalctl/harness"
	"evalctl/harness/compare"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Observer follows the progress of a replay. Calls are concurrent.
type Observer interface {
	// Controls is called when the scorer has been checked.
	Controls(c result.Controls)
	// Opened is called when the daemon of an arm is healthy.
	Opened(arm string, s *harness.Session)
	// Ingested is called with the number of sessions stored since its last call, including those
	// already present.
	Ingested(arm string, sessions int)
	// Cached is called at the end with the statistics of the reply cache.
	Cached(s llm.CacheStats)
	// Queued is called when the questions of an arm are on the queue.
	Queued(arm string)
	// Asking is called when a question starts and when it has been answered or has failed.
	Asking(arm, id string, begin bool)
	// Recorded is called for each finished question of an arm, starting with those from before a
	// resume.
	Recorded(arm string, rec result.Record)
}

// Outcome is how an arm ended.
type Outcome struct {
	Arm Arm
	// Result is nil if no question was asked. Path is its file, empty without a result.
	Result *result.Result
	Path   string
	// Journal is the arm's journal, from which it can be resumed if Err is set.
	Journal string
	// Err is the reason that the arm did not finish, nil if it did.
	Err error
}

// Compare compares several arms, even if some did not finish. It returns nil for one arm. Targets
// with modes of their own are compared in those modes.
func Compare(outcomes []Outcome, o compare.Options) *compare.Arms {
	if len(outcomes) < 2 {
		return nil
	}
	var arms []compare.Arm
	modes := map[string]bool{}
	for _, out := range outcomes {
		if out.Arm.Baseline == "" {
			modes[out.Arm.Mode] = true
		}
		arms = append(arms, compare.Arm{Name: out.Arm.Name, Path: out.Path})
	}
	if len(modes) > 1 {
		o.Accept = slices.Concat(o.Accept, []string{"mode", "effective_modes", "fusions"})
	}
	return compare.OfArms(arms, o)
}

// finished reports whether every arm has finished.
func finished(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Err != nil || o.Result == nil || o.Result.Stopped != ""
	})
}

// begun reports whether there is anything to resume: a journal, a result, or spent money.
func begun(outcomes []Outcome, l ledger.Books) bool {
	return l.Spent() > 0 || slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Journal != "" || o.Result != nil
	})
}
