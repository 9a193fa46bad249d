package aggregate

import (
	"maps"
	"math"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// attempts counts the questions asked and passed, by question, by cluster or by repeat.
type attempts struct{ asked, passed int }

// questionAttempts has the attempts and tags of a question.
type questionAttempts struct {
	attempts
	tags []string
}

func (a *attempts) add(passed bool) {
	a.asked++
	if passed {
		a.passed++
	}
}

// repeatSum adds up the records of repeated questions.
type repeatSum struct {
	questions map[string]*questionAttempts // by id
	passes    []attempts                   // by repeat, from 1
	// byTag has the attempts by tag and id, with all questions under the empty tag. It is built on
	// demand.
	byTag map[string]map[string]attempts
}

func (s *repeatSum) add(r result.Record) {
	if r.Repeat == 0 || !r.Outcome.Counts() {
		return
	}
	if s.questions == nil {
		s.questions = map[string]*questionAttempts{}
	}
	if s.questions[r.ID] == nil {
		s.questions[r.ID] = &questionAttempts{tags: r.Tags}
	}
	s.questions[r.ID].add(r.Passed)
	s.byTag = nil
	for len(s.passes) < r.Repeat {
		s.passes = append(s.passes, attempts{})
	}
	s.passes[r.Repeat-1].add(r.Passed)
}

// figures returns the figures of a run that asks each question k times, nil if k is 1.
func (s *repeatSum) figures(k int) *result.Repeats {
	if k <= 1 {
		return nil
	}
	out := &result.Repeats{K: k, At: []result.RepeatsAt{}, Flaky: []result.FlakyQuestion{}, Rates: []float64{}}
	var whole []attempts // of the questions that have all their repeats
	for _, id := range slices.Sorted(maps.Keys(s.questions)) {
		q := s.questions[id].attempts
		if q.asked != k {
			continue
		}
		whole = append(whole, q)
		switch q.passed {
		case k:
			out.Stable++
		case 0:
			out.Never++
		default:
			out.Flaky = append(out.Flaky, result.FlakyQuestion{ID: id, Passed: q.passed, Asked: q.asked})
		}
	}
	out.Questions = len(whole)
	for _, p := range s.passes {
		if p.asked > 0 {
			out.Rates = append(out.Rates, float64(p.passed)/float64(p.asked))
		}
	}
	if len(whole) == 0 {
		return out
	}
	for n := 1; n <= k; n++ {
		out.At = append(out.At, repeatsAt(whole, k, n))
	}
	out.QuestionVariance, out.RunVariance = variances(whole)
	return out
}

// clustersOf returns the attempts by id of questions with a tag, or of all questions for an empty
// tag.
func (s *repeatSum) clustersOf(tag string) map[string]attempts {
	if s.byTag == nil {
		s.byTag = map[string]map[string]attempts{"": {}}
		for id, q := range s.questions {
			s.byTag[""][id] = q.attempts
			for _, tag := range q.tags {
				if s.byTag[tag] == nil {
					s.byTag[tag] = map[string]attempts{}
				}
				s.byTag[tag][id] = q.attempts
			}
		}
	}
	return s.byTag[tag]
}

// repeatsAt returns the figures for n of k attempts.
func repeatsAt(questions []attempts, k, n int) result.RepeatsAt {
	at := result.RepeatsAt{K: n}
	for _, q := range questions {
		at.PassAt += stats.PassAtK(k, q.passed, n)
		at.PassHat += stats.PassHatK(k, q.passed, n)
	}
	at.PassAt /= float64(len(questions))
	at.PassHat /= float64(len(questions))
	return at
}

// variances returns the variance between questions and the variance between repeats, nil for fewer
// than two questions.
func variances(questions []attempts) (question, run *float64) {
	outcomes := make([][]float64, len(questions))
	for i, q := range questions {
		outcomes[i] = q.outcomes()
	}
	v, w := stats.VarianceSplit(outcomes)
	if math.IsNaN(v) {
		return nil, nil
	}
	return &v, &w
}

// outcomes returns 1 for each passed attempt, then 0 for each failed one.
func (a attempts) outcomes() []float64 {
	out := make([]float64, a.asked)
	for i := range a.passed {
		out[i] = 1
	}
	return out
}
