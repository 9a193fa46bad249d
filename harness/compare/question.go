package compare

import (
	"crypto/sha256"
	"encoding/json"
	"math"
	"strings"

	"evalctl/harness/result"
)

// question is one question of a run with all attempts to answer it.
type question struct {
	id, text, date string
	tags           []string
	brain          string // or the haystack that it is about
	// gold identifies the expected answer and documents the expected retrieval. Each is zero if
	// unrecorded.
	gold, documents [sha256.Size]byte
	attempts        []attempt
	// runs has the question in each run of a side, nil for a single run. attempts then has the
	// attempts of all runs.
	runs []*question
}

// attempt is the outcome of asking a question once.
type attempt struct {
	outcome result.Outcome
	passed  bool
	cached  bool                  // the answer is from evalctl's cache, and has no time
	leaked  bool                  // a forbidden text came back
	values  [measureCount]float64 // NaN for what it does not have
	// recipes says whether the answer passed by each judging recipe, keyed by digest; nil without a
	// panel.
	recipes map[string]bool
}

// The measures of an attempt.
const (
	measureScore    = iota
	measureEvidence // recall of it
	measureRecall
	measureNDCG
	measureRR
	measureAP
	measureTotal // milliseconds of the answering attempt, like the next
	measureFirst
	measureFelt // milliseconds, with waits and failed attempts
	measureCount
)

var measureNames = [measureCount]string{
	"score", "evidence_recall", "recall", "ndcg", "reciprocal_rank", "average_precision", "total", "first_token", "felt",
}

// questionOf returns the question of a record, without its attempts.
func questionOf(r *result.Record) question {
	q := question{id: r.ID, text: strings.TrimSpace(r.Question), date: r.QuestionDate, tags: r.Tags, brain: r.Shared()}
	switch {
	case len(r.Checks) > 0:
		q.gold = digestOf(r.Reference, r.Expected, r.CheckDefinitions())
	case r.Reference != "" || len(r.Expected) > 0:
		q.gold = digestOf(r.Reference, r.Expected)
	}
	switch {
	case len(r.ExpectedGrades) > 0:
		q.documents = digestOf(r.ExpectedPaths, r.ExpectedEvidence, r.ExpectedGrades)
	case len(r.ExpectedEvidence) > 0:
		q.documents = digestOf(r.ExpectedPaths, r.ExpectedEvidence)
	case len(r.ExpectedPaths) > 0:
		q.documents = digestOf(r.ExpectedPaths)
	}
	return q
}

// digestOf returns the hash of texts and lists of texts.
func digestOf(texts ...any) [sha256.Size]byte {
	data, err := json.Marshal(texts)
	if err != nil {
		panic(err) // strings and finite numbers only
	}
	return sha256.Sum256(data)
}

// attemptOf returns the attempt of a record. If the daemon returned no usable answer, it retrieved
// nothing, so measures of questions with gold are 0.
func attemptOf(r *result.Record) attempt {
	a := attempt{outcome: r.Outcome, passed: r.Passed, leaked: len(r.Leaks) > 0}
	for i := range a.values {
		a.values[i] = math.NaN()
	}
	if r.Score != nil {
		a.values[measureScore] = *r.Score
	}
	switch {
	case r.Evidence != nil:
		a.values[measureEvidence] = r.Evidence.Recall
	case len(r.ExpectedEvidence) > 0 && r.Outcome == result.Errored:
		a.values[measureEvidence] = 0
	}
	switch g := r.Retrieval; {
	case g != nil:
		a.values[measureRecall], a.values[measureNDCG] = g.Recall, g.NDCG
		a.values[measureRR], a.values[measureAP] = g.ReciprocalRank, g.AveragePrecision
	case len(r.ExpectedPaths) > 0 && r.Outcome == result.Errored:
		for i := measureRecall; i <= measureAP; i++ {
			a.values[i] = 0
		}
	}
	if r.Outcome.Answered() {
		if took := r.Took(); took != nil && *took > 0 {
			a.values[measureTotal], a.values[measureFelt] = *took, *r.Felt()
		}
		if first := r.FirstToken(); first != nil && *first > 0 {
			a.values[measureFirst] = *first
		}
		a.cached = r.FromCache()
	}
	return a
}

// without clears measures that cannot be measured.
func (a *attempt) without(measures ...int) {
	for _, i := range measures {
		a.values[i] = math.NaN()
	}
}

// counts reports whether the question counts: it was asked, and imported answers have a verdict.
func (q *question) counts() bool { return q.attempts[0].outcome.Counts() }

// leaks counts the answers, and those with which a forbidden text came back.
func (q *question) leaks() (leaked, answers int) {
	for _, a := range q.attempts {
		if a.leaked {
			leaked++
		}
		if a.leaked || a.outcome.Answered() {
			answers++
		}
	}
	return leaked, answers
}

// passes counts the attempts with a verdict, and the passed ones. An error is a verdict.
func (q *question) passes() (passed, judged int) {
	for _, a := range q.attempts {
		if a.outcome == result.Unscored {
			continue
		}
		judged++
		if a.passed {
			passed++
		}
	}
	return passed, judged
}

// passRate returns the share of judged attempts that passed, NaN without any.
func (q *question) passRate() float64 { return rate(q.passes()) }

func rate(passed, judged int) float64 { return float64(passed) / float64(judged) }

// each calls value for the question in each run of a side.
func (q *question) each(value func(*question) float64) []float64 {
	if q.runs == nil {
		return []float64{value(q)}
	}
	values := make([]float64, len(q.runs))
	for i, r := range q.runs {
		values[i] = value(r)
	}
	return values
}

// mean returns the mean of a measure over the attempts that have it, NaN if none do. Times use the
// geometric mean because they are compared as ratios.
func (q *question) mean(measure int) float64 {
	if len(q.attempts) == 1 {
		return q.attempts[0].values[measure]
	}
	sum, n := 0.0, 0
	for _, a := range q.attempts {
		v := a.values[measure]
		if measure >= measureTotal {
			v = math.Log(v)
		}
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	switch {
	case n == 0:
		return math.NaN()
	case measure >= measureTotal:
		return math.Exp(sum / float64(n))
	}
	return sum / float64(n)
}
