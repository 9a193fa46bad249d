package harness

import (
	"fmt"
	"regexp"
	"sync"

	"evalctl/harness/result"
)

// maxSame is how many consecutive questions may end with the same failure before the run stops.
const maxSame = 8

// SystematicError means that consecutively finished questions ended with the same failure, so that
// the rest would most likely fail too.
type SystematicError struct {
	Failure string // the text of the failure
	Judge   bool   // the judge failed, not the daemon
}

func (e *SystematicError) Error() string {
	what := "questions in a row failed in the same way"
	if e.Judge {
		what = "answers in a row have no verdict for the same reason"
	}
	return fmt.Sprintf("%d %s: %s", maxSame, what, e.Failure)
}

// streak detects a failure that is independent of the questions. It is safe for concurrent use.
type streak struct {
	stored    bool // the answers come from an earlier run
	mu        sync.Mutex
	last      string // identifies the failure
	questions []int  // in a row that ended with it
	err       *SystematicError
}

// Finished implements pipeline.Brake.
func (s *streak) Finished(question int, r *result.Record) error {
	if s.stored && r.Outcome == result.Errored {
		return nil // it failed when it was asked
	}
	if err := s.add(question, r); err != nil {
		return err
	}
	return nil
}

// add counts a finished question and returns the error when a streak is complete. Questions in
// progress that end with the same failure are added to the streak.
func (s *streak) add(question int, r *result.Record) *SystematicError {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, text := failureOf(r)
	switch {
	case s.err != nil:
		if key == s.last {
			s.questions = append(s.questions, question)
		}
		return nil
	case key == "":
		s.last, s.questions = "", nil
		return nil
	case key != s.last:
		s.last, s.questions = key, nil
	}
	if s.questions = append(s.questions, question); len(s.questions) < maxSame {
		return nil
	}
	s.err = &SystematicError{Failure: text, Judge: r.Outcome == result.Unscored}
	return s.err
}

// Systematic returns the questions whose failure is shared by so many that it does not depend on
// them. records has a run's records by question.
func Systematic(records map[int]result.Record) map[int]bool {
	count := map[string]int{}
	for _, r := range records {
		key, _ := failureOf(&r)
		count[key]++
	}
	found := map[int]bool{}
	for i, r := range records {
		if key, _ := failureOf(&r); key != "" && count[key] >= maxSame {
			found[i] = true
		}
	}
	return found
}

// number matches the varying parts of a failure's message: ports, times, counts.
var number = regexp.MustCompile(`[0-9]+`)

// failureOf returns a key for the failure of a question, and its text. Both are empty for failures
// that cannot be systematic; timeouts are excluded because they have the same text whatever the
// cause.
func failureOf(r *result.Record) (key, text string) {
	switch {
	case r.Outcome == result.Unscored && r.JudgeUnanswered:
		return "judge " + number.ReplaceAllString(r.Reason, "#"), r.Reason
	case r.Outcome != result.Errored || r.Error == nil || r.Error.Kind == result.KindTimeout:
		return "", ""
	}
	f := r.Error
	message := f.Message
	if f.Kind == result.KindTransport || f.Kind == result.KindIncomplete {
		message = number.ReplaceAllString(message, "#")
	}
	return fmt.Sprintf("%s %d %s", f.Kind, f.Status, message), f.Message
}
