package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/replay/ingest"
	"evalctl/replay/queue"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// openedArm is an arm with a running daemon.
type openedArm struct {
	measuredArm
	queue  *queue.Books
	active sync.WaitGroup

	once   sync.Once
	failed error
	admits sync.Once
	watch  context.Context // ends with the daemon
	score  scorer.Scorer
	want   armIdentity
	have   armIdentity

	mu   sync.Mutex
	kept map[string]*workerBrain
}

// workerBrain is a brain that is filled once.
type workerBrain struct {
	mu     sync.Mutex
	filled *ingest.FilledBrains
}

// opened opens the arm on the first call. Every call returns its error.
func (o *openedArm) opened(ctx context.Context) error {
	o.once.Do(func() {
		if o.failed = o.start(context.WithoutCancel(ctx)); o.failed == nil {
			o.failed = o.want.check(o.have)
		}
	})
	return o.failed
}

// answer asks and scores a question. earlier is the record of an earlier try, or nil.
func (o *openedArm) answer(ctx context.Context, q source.Question, earlier []byte) (rec result.Record, err error) {
	if err := o.opened(ctx); err != nil {
		return rec, err
	}
	tries := map[int]result.Record{}
	if earlier != nil {
		if err := json.Unmarshal(earlier, &rec); err != nil {
			return rec, fmt.Errorf("the earlier try at question %q: %w", q.ID, err)
		}
		tries[0] = rec
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(o.watch, func() { stop(context.Cause(o.watch)) })()
	filled, err := o.brain(ctx, q.Haystack)
	if err != nil {
		return rec, err
	}
	return o.drive(ctx, q, filled, tries)
}

// drive runs one question, whose index in earlier is 0.
func (o *openedArm) drive(
	ctx context.Context, q source.Question, filled *ingest.FilledBrains, earlier map[int]result.Record,
) (rec result.Record, err error) {
	brains, err := o.brains(filled)
	if err != nil {
		return rec, err
	}
	data, err := o.plan.dataset(o.arm, q)
	if err != nil {
		return rec, err
	}
	var last lastRecord
	subject, err := o.asked(filled)
	if err != nil {
		return rec, err
	}
	config := harness.Config{
		Dataset: data, Brains: brains, Subject: subject, Scorer: o.grading(o.score, filled), TopK: o.plan.TopK, Concurrency: 1,
		Earlier: earlier, Observer: &last, Secrets: o.plan.Secrets,
	}
	if _, err := harness.Drive(ctx, config, o.have.Identity); err != nil {
		return rec, err
	}
	if err := filled.Err(); err != nil {
		return rec, fmt.Errorf("find the gold in the retrieved passages: %w", err)
	}
	if last.Record == nil {
		return rec, fmt.Errorf("question %q of %s has no outcome", q.ID, o.arm.Name)
	}
	return *last.Record, nil
}

// lastRecord is a pipeline.Observer that keeps the last finished record.
type lastRecord struct{ *result.Record }

func (*lastRecord) Asking(string, bool) {}

func (l *lastRecord) Recorded(rec result.Record) { l.Record = &rec }

// start opens the daemon and everything shared by all questions.
func (o *openedArm) start(ctx context.Context) (err error) {
	if o.watch, err = o.subject.open(ctx, func(*harness.Session) {}); err != nil {
		return asDaemonError(ctx, err)
	}
	o.have = o.identity()
	o.score, err = o.scoring()
	return err
}

// keptBrains is how many filled brains a worker remembers. Others are looked up again.
const keptBrains = 256

// brain returns the filled brain of a haystack. The brains of a daemon that was already running are
// filled by another process.
func (o *openedArm) brain(ctx context.Context, haystack string) (*ingest.FilledBrains, error) {
	ids := []string{haystack}
	if o.plan.Shared {
		haystack, ids = "", o.haystacks()
	}
	o.mu.Lock()
	b := o.kept[haystack]
	if b == nil {
		if len(o.kept) >= keptBrains {
			clear(o.kept)
		}
		b = &workerBrain{}
		o.kept[haystack] = b
	}
	o.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.filled != nil {
		return b.filled, nil
	}
	filled, err := o.subject.fill(ctx, func(c *ingest.Config) { c.Find = !o.arm.started() }, ids)
	if err == nil && o.arm.started() {
		o.admits.Do(func() {
			if seen := o.subject.admit(ctx, filled); seen != nil {
				err = o.queue.Admit(ctx, o.arm.Name, seen)
			}
		})
	}
	if err == nil {
		b.filled = filled
	}
	return filled, err
}
