package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
	"evalctl/replay/queue"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// worker answers questions of a run that another process has put on the queue. It opens an arm's
// daemon before it takes questions of the arm, and fills a brain with the first question about its
// haystack. Brains of a daemon that was running already are filled by the process that has the run.
// It is safe for concurrent use.
type worker struct {
	*replaying
	arms map[string]*workerArm
}

var _ queue.Worker = (*worker)(nil)

// newWorker returns a worker for the plan of a run whose money is in books. The caller must call
// Close, which closes the plan too.
func (p *Plan) newWorker(books ledger.Books) (_ *worker, err error) {
	w := &worker{replaying: &replaying{plan: p, ledger: books, place: here{}}, arms: map[string]*workerArm{}}
	for _, a := range p.Arms {
		d, err := p.dataset(a, p.Questions...)
		if err != nil {
			return nil, err
		}
		w.arms[a.Name] = &workerArm{worker: w, arm: a, data: d}
	}
	if err := CheckFolder(p.Cache.Dir); err != nil {
		return nil, err
	}
	if w.cache, err = llm.OpenCache(p.Cache.Dir, p.Cache.Mode, p.Cache.MaxBytes); err != nil {
		return nil, err
	}
	w.files.Dir, err = os.MkdirTemp("", "evalctl-worker-*") // for the logs of daemons
	return w, err
}

// Ready implements queue.Worker. It opens the arm's daemon, and checks that the arm is what the
// process measures that has the run.
func (w *worker) Ready(ctx context.Context, arm string, identity json.RawMessage) error {
	a := w.arms[arm]
	if a == nil {
		return fmt.Errorf("this worker has no daemon or baseline %q; install the same evalctl", arm)
	}
	if err := json.Unmarshal(identity, &a.want); err != nil {
		return fmt.Errorf("the run was begun by another version of evalctl; install the same one: %w", err)
	}
	for {
		o := a.acquire()
		err := o.opened(ctx)
		o.active.Done()
		if err == nil {
			return nil
		}
		if out := a.failed(ctx, o, err); out.Refused != nil || out.Stop != nil || ctx.Err() != nil {
			return err
		}
	}
}

// Work implements queue.Worker.
func (w *worker) Work(ctx context.Context, t queue.Task) queue.Outcome {
	a := w.arms[t.Arm]
	if t.Index < 0 || t.Index >= len(w.plan.Questions) || w.plan.Questions[t.Index].ID != t.Question {
		return queue.Outcome{Refused: fmt.Errorf("question %q of %s is not the one that this worker has as number %d; "+
			"does it have the same dataset?", t.Question, t.Arm, t.Index+1)}
	}
	o := a.acquire()
	defer o.active.Done()
	rec, err := o.answer(ctx, w.plan.Questions[t.Index], t.Earlier)
	if err == nil {
		var data []byte
		if data, err = json.Marshal(rec); err == nil {
			a.succeeded()
			return queue.Outcome{Record: data}
		}
	}
	return a.failed(ctx, o, err)
}

// Close stops the daemons, removes their logs, and closes the plan. No call of Work may be in
// progress.
func (w *worker) Close() error {
	var errs []error
	for _, a := range w.arms {
		a.mu.Lock()
		if a.current != nil {
			a.drop(a.current)
		}
		a.mu.Unlock()
		a.closing.Wait()
		errs = append(errs, a.closed)
	}
	return errors.Join(append(errs, os.RemoveAll(w.files.Dir), w.plan.Close())...)
}

// workerArm is an arm on a worker.
type workerArm struct {
	worker *worker
	arm    Arm
	data   dataset.Dataset
	want   armIdentity // of Ready

	mu       sync.Mutex
	current  *openedArm // nil until it is needed
	failures int        // of daemons, in a row
	closing  sync.WaitGroup
	closed   error // guarded by mu until closing has ended
}

// acquire returns the opened arm, of which active.Done must be called.
func (a *workerArm) acquire() *openedArm {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil {
		a.current = &openedArm{
			armRun: a.worker.newArm(a.arm, a.data), want: a.want, kept: map[string]*workerBrain{},
		}
	}
	a.current.active.Add(1)
	return a.current
}

// drop closes an opened arm once nobody uses it; the next question opens the arm again. a.mu must
// be held.
func (a *workerArm) drop(o *openedArm) {
	if a.current != o {
		return
	}
	a.current = nil
	a.closing.Go(func() {
		o.active.Wait()
		if err := o.subject.close(); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.closed = errors.Join(a.closed, err)
		}
	})
}

func (a *workerArm) succeeded() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures = 0
}

// maxRestarts is how often in a row a worker opens an arm again whose daemon failed.
const maxRestarts = 3

// failed returns what the error of a question means for the arm and for this worker.
func (a *workerArm) failed(ctx context.Context, o *openedArm, err error) queue.Outcome {
	if ctx.Err() != nil {
		return queue.Outcome{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, different := errors.AsType[*differentWorker](err)
	_, daemon := errors.AsType[*DaemonError](err)
	_, local := errors.AsType[*fs.PathError](err)
	switch {
	case different, local:
		return queue.Outcome{Refused: err}
	case daemon, errors.Is(err, harness.ErrDaemonDied), errors.Is(err, harness.ErrHome):
		if a.current == o {
			a.failures++
		}
		a.drop(o)
		if a.failures < maxRestarts {
			return queue.Outcome{}
		}
		return queue.Outcome{Refused: fmt.Errorf("%s: %w", a.arm.Name, err)}
	}
	a.drop(o) // it may be resumed with more money, or another judge
	return queue.Outcome{Stop: stopOf(err)}
}

// openedArm is an arm whose daemon runs.
type openedArm struct {
	armRun
	active sync.WaitGroup

	once   sync.Once
	failed error
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
	filled *ingest.Filled
}

// opened opens the arm once, and returns why that failed.
func (o *openedArm) opened(ctx context.Context) error {
	o.once.Do(func() {
		if o.failed = o.start(context.WithoutCancel(ctx)); o.failed == nil {
			o.failed = o.want.check(o.have)
		}
	})
	return o.failed
}

// answer asks and scores a question, after an earlier try unless that is nil.
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

// drive runs one question, which has the index 0 among the earlier tries.
func (o *openedArm) drive(
	ctx context.Context, q source.Question, filled *ingest.Filled, earlier map[int]result.Record,
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
	config := harness.Config{
		Dataset: data, Scorer: o.grading(o.score, filled), TopK: o.plan.TopK, Concurrency: 1,
		Earlier: earlier, Observer: &last,
	}
	if err := o.asks(&config, filled, brains); err != nil {
		return rec, err
	}
	if _, err := harness.Drive(ctx, config, o.have.Identity); err != nil {
		return rec, err
	}
	if err := filled.Err(); err != nil {
		return rec, fmt.Errorf("find the gold in what was retrieved: %w", err)
	}
	if last.Record == nil {
		return rec, fmt.Errorf("question %q of %s has no outcome", q.ID, o.arm.Name)
	}
	return *last.Record, nil
}

// lastRecord is a pipeline.Observer that has the last finished record.
type lastRecord struct{ *result.Record }

func (*lastRecord) Asking(string, bool) {}

func (l *lastRecord) Recorded(rec result.Record) { l.Record = &rec }

// start opens the daemon, and what is the same for all questions.
func (o *openedArm) start(ctx context.Context) (err error) {
	if o.watch, err = o.subject.open(ctx); err != nil {
		return asDaemonError(ctx, err)
	}
	o.have = o.identity()
	sc, err := o.scorer(o.arm.Name, o.cache.Wrap)
	if err != nil {
		return err
	}
	o.score = scorer.NewDual(sc, o.originals())
	return nil
}

// keptBrains is how many brains a worker remembers to have filled. Others are looked up again.
const keptBrains = 256

// brain returns the brain of a haystack, filled. Another process fills those of a daemon that was
// running already.
func (o *openedArm) brain(ctx context.Context, haystack string) (*ingest.Filled, error) {
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
	if err == nil {
		b.filled = filled
	}
	return filled, err
}
