package harness_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/awaittest"
	"evalctl/scorer"
)

// elsewhere is a pipeline.Stopper.
type elsewhere struct {
	fails int // the first question without a record, -1 for none
	wrong bool

	mu      sync.Mutex
	asked   []string
	first   chan struct{} // closed once question 0 is asked
	stopped chan struct{}
	reason  error
}

var errElsewhere = errors.New("nobody asks it")

func (e *elsewhere) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	i, q := j.Index, j.Question
	e.mu.Lock()
	e.asked = append(e.asked, fmt.Sprintf("%d %s", i, q.ID))
	e.mu.Unlock()
	if i == 0 {
		close(e.first)
	}
	if i == e.fails {
		<-e.first
		return result.Record{}, pipeline.Soft(errElsewhere)
	}
	if e.fails >= 0 && i > e.fails {
		select { // as long as somebody may still ask it
		case <-e.stopped:
			return result.Record{}, pipeline.Soft(errElsewhere)
		case <-ctx.Done():
			return result.Record{}, ctx.Err()
		}
	}
	rec := result.Record{ID: q.ID, Question: q.Question, Outcome: result.Scored, Score: new(1.0), Passed: true}
	if e.wrong {
		rec.ID = "other"
	}
	return rec, nil
}

func (e *elsewhere) Stop(reason error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reason = reason
	close(e.stopped)
}

func driveElsewhere(t *testing.T, e *elsewhere) (result.Result, error) {
	t.Helper()
	e.first, e.stopped = make(chan struct{}), make(chan struct{})
	d, err := dataset.FromQuestions("q.jsonl", "", []dataset.Question{{ID: "a", Question: "A?"}, {ID: "b", Question: "B?"}, {ID: "c", Question: "C?"}})
	if err != nil {
		t.Fatal(err)
	}
	return harness.Drive(t.Context(), harness.Config{Dataset: d, Subject: harness.Subject{Records: e}, Concurrency: 3, TopK: 1}, result.Identity{})
}

// TestRemote: records of somebody else are counted, and neither an asker nor a scorer is needed.
func TestRemote(t *testing.T) {
	e := &elsewhere{fails: -1}
	res, err := driveElsewhere(t, e)
	slices.Sort(e.asked)
	if err != nil || res.Passed != 3 || !slices.Equal(e.asked, []string{"0 a", "1 b", "2 c"}) || e.reason != nil {
		t.Errorf("%d passed, %v, asked %v, stopped %v", res.Passed, err, e.asked, e.reason)
	}
}

// TestRemoteStops: without a record of one question, the others that were begun are waited for.
func TestRemoteStops(t *testing.T) {
	e := &elsewhere{fails: 1}
	res, err := driveElsewhere(t, e)
	awaittest.Receive(t, "e.stopped", e.stopped) // Stop may run a moment longer than the questions
	if !errors.Is(err, errElsewhere) || res.Passed != 1 || !errors.Is(e.reason, errElsewhere) || res.Stopped != result.StopFailed {
		t.Errorf("%d passed, %v, stopped %v", res.Passed, err, e.reason)
	}
}

// TestRemoteWrongRecord: a record of another question is not counted.
func TestRemoteWrongRecord(t *testing.T) {
	if res, err := driveElsewhere(t, &elsewhere{fails: -1, wrong: true}); err == nil || res.Passed != 0 {
		t.Errorf("%d passed, %v", res.Passed, err)
	}
}

// TestEarlierTries: a question that failed is asked again, an answer without a verdict is only
// judged again, and both records name the earlier try.
func TestEarlierTries(t *testing.T) {
	d, err := dataset.FromQuestions("q.jsonl", "", []dataset.Question{
		{ID: "a", Question: "A?", ExpectedSubstrings: []string{"yes"}}, {ID: "b", Question: "B?", ExpectedSubstrings: []string{"yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var seen collector
	asker := &counter{}
	cfg := harness.Config{
		Subject: harness.Subject{Answerer: asker, Timeout: time.Minute},
		Dataset: d, Scorer: pipeline.Grader{Scorer: scorer.Exact{}}, Concurrency: 1, TopK: 1, Observer: &seen,
		Earlier: map[int]result.Record{
			0: {ID: "a", Question: "A?", Outcome: result.Errored, Error: &result.Failure{Kind: result.KindTransport}},
			1: {ID: "b", Question: "B?", Expected: []string{"yes"},
				Reply: result.Reply{Answer: "yes, earlier"}, Outcome: result.Unscored, JudgeUnanswered: true},
		},
	}
	res, err := harness.Drive(t.Context(), cfg, result.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Passed != 2 || res.Total != 2 || asker.n != 1 || len(seen.records) != 2 {
		t.Fatalf("passed %d of %d, asked %d, records %+v", res.Passed, res.Total, asker.n, seen.records)
	}
	for _, r := range seen.records {
		if want := map[string]string{"a": "yes, now", "b": "yes, earlier"}[r.ID]; r.Answer != want || r.Tries != 2 || r.FirstTry == nil {
			t.Errorf("%+v", r)
		}
	}
}

// TestEarlierVerdict: an answer that is judged again keeps its verdict if no judge answers again.
func TestEarlierVerdict(t *testing.T) {
	d, err := dataset.FromQuestions("q.jsonl", "", []dataset.Question{{ID: "a", Question: "A?", ExpectedSubstrings: []string{"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	var seen collector
	asker := &counter{}
	_, err = harness.Drive(t.Context(), harness.Config{
		Subject: harness.Subject{Answerer: asker, Timeout: time.Minute},
		Dataset: d, Scorer: pipeline.Grader{Scorer: silentJudge{}}, Concurrency: 1, TopK: 1, Observer: &seen,
		Earlier: map[int]result.Record{0: {
			ID: "a", Question: "A?", Expected: []string{"yes"}, Reply: result.Reply{Answer: "yes"}, Outcome: result.Scored,
			Score: new(1.0), Passed: true, Reason: "right", JudgeUnanswered: true,
		}},
	}, result.Identity{})
	if err != nil || len(seen.records) != 1 || asker.n != 0 {
		t.Fatalf("%v, asked %d, records %+v", err, asker.n, seen.records)
	}
	if r := seen.records[0]; r.Outcome != result.Scored || !r.Passed || r.Reason != "right" || r.Tries != 2 || !r.JudgeUnanswered {
		t.Errorf("%+v", r)
	}
}

// silentJudge is a judge that never answers.
type silentJudge struct{ scorer.Exact }

func (silentJudge) Score(context.Context, scorer.Item) (scorer.Verdict, error) {
	return scorer.Verdict{Unanswered: true, Reason: "the judge did not answer: 503"}, nil
}

// collector is a pipeline.Observer that keeps finished records.
type collector struct{ records []result.Record }

func (*collector) Asking(string, bool) {}

func (c *collector) Recorded(r result.Record) { c.records = append(c.records, r) }

// counter answers each question, one after the other.
type counter struct{ n int }

func (c *counter) Ask(context.Context, dataset.Question, time.Duration) (target.Answer, error) {
	c.n++
	return target.Answer{Reply: result.Reply{Answer: "yes, now"}}, nil
}

func (c *counter) Health(context.Context) error { return nil }
