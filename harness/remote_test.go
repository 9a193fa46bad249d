package harness_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// elsewhere is a harness.Remote.
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

func (e *elsewhere) Record(ctx context.Context, i int, q dataset.Question) (result.Record, error) {
	e.mu.Lock()
	e.asked = append(e.asked, fmt.Sprintf("%d %s", i, q.ID))
	e.mu.Unlock()
	if i == 0 {
		close(e.first)
	}
	if i == e.fails {
		<-e.first
		return result.Record{}, errElsewhere
	}
	if e.fails >= 0 && i > e.fails {
		select { // as long as somebody may still ask it
		case <-e.stopped:
			return result.Record{}, errElsewhere
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
	return harness.Drive(t.Context(), harness.Config{Dataset: d, Remote: e, Concurrency: 3, TopK: 1}, result.Identity{})
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
	<-e.stopped // Stop may run a moment longer than the questions
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
