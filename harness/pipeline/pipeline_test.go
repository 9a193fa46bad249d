package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

var errFull = errors.New("full")

// halting fails at the first question, softly, once the second one is asked and the third one waits
// for its turn. The answer to the second one comes a moment later.
type halting struct {
	waiting, asked chan struct{}
	recorded       int
}

func (*halting) Asking(string, bool)      {}
func (h *halting) Recorded(result.Record) { h.recorded++ }

func (h *halting) Turn(ctx context.Context, j Job) error {
	if j.Index < 2 {
		return nil
	}
	close(h.waiting)
	<-ctx.Done()
	return context.Cause(ctx)
}

func (h *halting) Ask(ctx context.Context, j Job) (result.Record, error) {
	if j.Index == 0 {
		<-h.waiting
		<-h.asked
		return result.Record{}, Soft(errFull)
	}
	close(h.asked)
	select {
	case <-ctx.Done():
		return result.Record{}, context.Cause(ctx)
	case <-time.After(100 * time.Millisecond):
		return result.Record{ID: j.Question.ID, Outcome: result.Scored}, nil
	}
}

// TestPacedSoftStop: an answer that is on its way is recorded after a soft stop, also while the next
// question waits for its turn.
func TestPacedSoftStop(t *testing.T) {
	d, err := dataset.FromQuestions("q", "", []dataset.Question{{ID: "a", Question: "A?"}, {ID: "b", Question: "B?"}, {ID: "c", Question: "C?"}})
	if err != nil {
		t.Fatal(err)
	}
	h, kept := &halting{waiting: make(chan struct{}), asked: make(chan struct{})}, NewMemory(3, nil)
	p := Pipeline{
		Source: Paced(UnfinishedSource{Dataset: d, Keeper: kept}, h), Asker: h, Keeper: kept, Observer: h, Concurrency: 2,
	}
	if err := p.Run(t.Context()); !errors.Is(err, errFull) || h.recorded != 1 {
		t.Errorf("%d recorded, %v", h.recorded, err)
	}
}
