package replay

import (
	"slices"

	"evalctl/harness"
	"evalctl/harness/compare"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Observer sees a replay proceed. Calls are concurrent.
type Observer interface {
	// Controls is called when the scorer has been checked.
	Controls(c result.Controls)
	// Opened is called when the daemon of an arm is healthy.
	Opened(arm string, s *harness.Session)
	// Ingested is called with the number of sessions that an arm's brains have got, or had already,
	// since its last call.
	Ingested(arm string, sessions int)
	// Cached is called at the end with what the cache of replies has done.
	Cached(s llm.CacheStats)
	// Queued is called when the questions of an arm are on the queue.
	Queued(arm string)
	// Asking is called when a question begins to be asked and when its answer or failure is there.
	Asking(arm, id string, begin bool)
	// Recorded is called with each finished question of an arm, those of a resumed replay first.
	Recorded(arm string, rec result.Record)
}

// Outcome is how an arm ended.
type Outcome struct {
	Arm Arm
	// Result is nil if no question was asked. Path is its file, empty then.
	Result *result.Result
	Path   string
	// Journal is the arm's journal, from which it can be resumed if Err is set.
	Journal string
	// Err is why the arm did not finish, nil if it did.
	Err error
}

// Compare compares several arms, also if some did not finish. It returns nil for one arm. Targets
// that were given modes of their own are compared in these.
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

// finished reports whether every arm has.
func finished(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Err != nil || o.Result == nil || o.Result.Stopped != ""
	})
}

// begun reports whether there is anything to resume: an arm with a journal or a result, or money
// that was spent.
func begun(outcomes []Outcome, l ledger.Books) bool {
	return l.Spent() > 0 || slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Journal != "" || o.Result != nil
	})
}
