package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/replay/queue"
)

// Handler handles the runs of a queue on a worker. It implements queue.Handler.
type Handler struct {
	// Files is the folder in which to look for a run's files that are missing on this machine, ""
	// for none.
	Files string
	// Plan returns the plan of a run from the flags it was begun with.
	Plan func(ctx context.Context, flags map[string]any) (*Plan, error)
	// Print prints a line. It must be safe for concurrent use.
	Print func(name, format string, args ...any)
}

// Notice implements queue.Handler.
func (h *Handler) Notice(text string) { h.Print("warning", "%s", terminal.Line(text)) }

// Begin implements queue.Handler.
func (h *Handler) Begin(ctx context.Context, j queue.Job) (queue.Worker, error) {
	flags := map[string]any{}
	if err := json.Unmarshal(j.Options, &flags); err != nil {
		return nil, fmt.Errorf("the flags of the run come from another version of evalctl: %w", err)
	}
	if err := relocate(flags, h.Files); err != nil {
		return nil, err
	}
	plan, err := h.Plan(ctx, flags)
	if err != nil {
		return nil, err
	}
	w, err := plan.newWorker(j.Books, h.Notice)
	if err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	h.Print("run", "%s  %s  %s  %s", j.ID, terminal.Line(plan.Benchmark.Path),
		figure.Count(len(plan.Questions), "question"), figure.Count(len(plan.Arms), "arm"))
	return w, nil
}

// worker answers questions of a run that another process put on the queue. It opens an arm's daemon
// before taking questions of the arm, and fills a brain with the first question about its haystack.
// Brains of a daemon that was already running are filled by the process that runs the replay. It is
// safe for concurrent use.
type worker struct {
	instruments
	queue  *queue.Books
	notice func(text string)
	arms   map[string]*workerArm
}

var _ queue.Worker = (*worker)(nil)

// newWorker returns a worker for the plan of a run, whose money is in books. notice is called with
// messages for the user of the worker. The caller must call Close, which also closes the plan.
func (p *Plan) newWorker(books *queue.Books, notice func(text string)) (_ *worker, err error) {
	w := &worker{
		instruments: instruments{plan: p, books: books}, queue: books, notice: notice, arms: map[string]*workerArm{},
	}
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

// Ready implements queue.Worker. It opens the arm's daemon and checks that it is the same arm as in
// the process that runs the replay.
func (w *worker) Ready(ctx context.Context, arm string, identity json.RawMessage) error {
	a := w.arms[arm]
	if a == nil {
		return fmt.Errorf("this worker has no daemon or baseline %q; install the same evalctl", arm)
	}
	if err := json.Unmarshal(identity, &a.runIdentity); err != nil {
		return fmt.Errorf("the run was begun by another version of evalctl; install the same one: %w", err)
	}
	a.recallRestarts(ctx)
	for {
		s := a.acquire()
		err := s.open(ctx)
		s.active.Done()
		if err == nil {
			return nil
		}
		if out := a.outcome(ctx, s, err); out.Refused != nil || out.Stop != nil || ctx.Err() != nil {
			return err
		}
	}
}

// Work implements queue.Worker.
func (w *worker) Work(ctx context.Context, t queue.Task) queue.Outcome {
	a := w.arms[t.Arm]
	if t.Index < 0 || t.Index >= len(w.plan.Questions) || queue.Storable(w.plan.Questions[t.Index].ID) != t.Question {
		return queue.Outcome{Refused: fmt.Errorf("question %q of %s is not the one that this worker has as number %d; "+
			"does it have the same dataset?", t.Question, t.Arm, t.Index+1)}
	}
	s := a.acquire()
	defer s.active.Done()
	rec, err := s.answer(ctx, w.plan.Questions[t.Index], t.Earlier)
	a.noteRestarts(ctx, s) // also of a daemon that is given up
	if err == nil {
		var data []byte
		if data, err = json.Marshal(rec); err == nil {
			a.resetFailures()
			return queue.Outcome{Record: data}
		}
	}
	return a.outcome(ctx, s, err)
}

// Close stops the daemons, removes their logs, and closes the plan. No Work call may be in
// progress.
func (w *worker) Close() error {
	var errs []error
	for _, a := range w.arms {
		a.mu.Lock()
		if a.session != nil {
			a.drop(a.session)
		}
		a.mu.Unlock()
		a.closing.Wait()
		errs = append(errs, a.closeErr)
	}
	return errors.Join(append(errs, os.RemoveAll(w.files.Dir), w.plan.Close())...)
}

// workerArm is an arm on a worker.
type workerArm struct {
	worker      *worker
	arm         Arm
	data        dataset.Dataset
	runIdentity armIdentity // of Ready

	mu       sync.Mutex
	session  *armSession     // nil until it is needed
	failures int             // of daemons, in a row
	restarts int             // of a running daemon that the run has been told of
	closed   <-chan struct{} // closed when the last session that was dropped is; nil before
	closing  sync.WaitGroup
	closeErr error // guarded by mu until closing has ended
}

// acquire returns the session of the arm, a new one if there is none. The caller must call
// active.Done.
func (a *workerArm) acquire() *armSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		s := &armSession{
			queue: a.worker.queue, runIdentity: a.runIdentity, brainsByHaystack: map[string]*workerBrain{}, predecessor: a.closed,
		}
		s.measurement = a.worker.newMeasurement(a.arm, a.data, func(d *daemon) subject {
			s.outages = &d.outages
			return d
		})
		a.session = s
	}
	a.session.active.Add(1)
	return a.session
}

// drop closes a session once it is unused; the next question opens another one. a.mu must be
// held.
func (a *workerArm) drop(s *armSession) {
	if a.session != s {
		return
	}
	a.session = nil
	closed := make(chan struct{})
	a.closed = closed
	a.closing.Go(func() {
		defer close(closed)
		s.active.Wait()
		if err := s.subject.close(); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.closeErr = errors.Join(a.closeErr, err)
		}
	})
}

// recallRestarts continues the run's count of the restarts of a running daemon.
func (a *workerArm) recallRestarts(ctx context.Context) {
	if a.arm.started() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	n, err := a.worker.queue.Restarts(ctx, a.arm.Name)
	if err != nil {
		a.worker.notice(fmt.Sprintf("%v; the result may have too few", err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.restarts = max(a.restarts, n)
}

// noteTimeout limits the time for an observation, for which a paid answer waits.
const noteTimeout = 15 * time.Second

// noteRestarts tells the run how often the daemon was started again. Only a running daemon is,
// which other workers ask too. If the run cannot be told, a later call tells it.
func (a *workerArm) noteRestarts(ctx context.Context, s *armSession) {
	if s.outages == nil {
		return
	}
	seen := s.outages.count()
	a.mu.Lock()
	more := seen - s.restarts
	n := a.restarts + more
	a.mu.Unlock()
	if more <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := a.worker.queue.NoteRestarts(ctx, a.arm.Name, n); err != nil {
		a.worker.notice(fmt.Sprintf("%v; the result may have too few", err))
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if more = seen - s.restarts; more > 0 { // else another question has told it meanwhile
		a.restarts += more
		s.restarts = seen
	}
}

func (a *workerArm) resetFailures() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures = 0
}

// maxRestarts is how many times in a row a worker reopens an arm whose daemon failed.
const maxRestarts = 3

// outcome translates the error of a question into its consequence for the arm and this worker.
func (a *workerArm) outcome(ctx context.Context, s *armSession, err error) queue.Outcome {
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
		if a.session == s {
			a.failures++
		}
		a.drop(s)
		if a.failures < maxRestarts {
			return queue.Outcome{}
		}
		return queue.Outcome{Refused: fmt.Errorf("%s: %w", a.arm.Name, err)}
	}
	a.drop(s) // it may be resumed with more money, or another judge
	return queue.Outcome{Stop: stopOf(err)}
}
