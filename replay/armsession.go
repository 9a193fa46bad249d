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

// armSession is an arm of a worker from when its daemon is opened until it is closed.
type armSession struct {
	measurement
	queue  *queue.Books
	active sync.WaitGroup
	// predecessor is closed when the session before has ended, nil if there was none.
	predecessor <-chan struct{}
	outages     *outages // of the daemon, nil for a baseline
	restarts    int      // those of outages that the run was told of, guarded by workerArm.mu

	openOnce    sync.Once
	openErr     error
	admitOnce   sync.Once
	daemonCtx   context.Context // ends with the daemon
	armScorer   scorer.Scorer
	runIdentity armIdentity // as the run has it
	ownIdentity armIdentity // of the opened daemon

	mu               sync.Mutex
	brainsByHaystack map[string]*workerBrain
}

// workerBrain is a brain that is filled once.
type workerBrain struct {
	mu     sync.Mutex
	filled *ingest.FilledBrains
}

// open opens the arm on the first call. Every call returns its error.
func (s *armSession) open(ctx context.Context) error {
	s.openOnce.Do(func() {
		if s.openErr = s.start(context.WithoutCancel(ctx)); s.openErr == nil {
			s.openErr = s.runIdentity.check(s.ownIdentity)
		}
	})
	return s.openErr
}

// answer asks and scores a question. earlier is the record of an earlier try, or nil.
func (s *armSession) answer(ctx context.Context, q source.Question, earlier []byte) (rec result.Record, err error) {
	if err := s.open(ctx); err != nil {
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
	defer context.AfterFunc(s.daemonCtx, func() { stop(context.Cause(s.daemonCtx)) })()
	filled, err := s.brain(ctx, q.Haystack)
	if err != nil {
		return rec, err
	}
	return s.drive(ctx, q, filled, tries)
}

// drive runs one question, whose index in earlier is 0.
func (s *armSession) drive(
	ctx context.Context, q source.Question, filled *ingest.FilledBrains, earlier map[int]result.Record,
) (rec result.Record, err error) {
	brains, err := s.brains(filled)
	if err != nil {
		return rec, err
	}
	data, err := s.plan.dataset(s.arm, q)
	if err != nil {
		return rec, err
	}
	var last lastRecord
	subject, err := s.harnessSubject(filled)
	if err != nil {
		return rec, err
	}
	config := harness.Config{
		Dataset: data, Brains: brains, Subject: subject, Scorer: s.scoringStage(s.armScorer, filled), TopK: s.plan.TopK, Concurrency: 1,
		Earlier: earlier, Observer: &last, Secrets: s.plan.Secrets,
	}
	if _, err := harness.Drive(ctx, config, s.ownIdentity.Identity); err != nil {
		return rec, err
	}
	if err := filled.Err(); err != nil {
		return rec, fmt.Errorf("find the gold in the retrieved passages: %w", err)
	}
	if last.Record == nil {
		return rec, fmt.Errorf("question %q of %s has no outcome", q.ID, s.arm.Name)
	}
	return *last.Record, nil
}

// lastRecord is a pipeline.Observer that keeps the last finished record.
type lastRecord struct{ *result.Record }

func (*lastRecord) Asking(string, bool) {}

func (l *lastRecord) Recorded(rec result.Record) { l.Record = &rec }

// start opens the daemon and everything shared by all questions. The daemon of the session before
// ends first: only then are its home, with the brains that it has filled, and its port free.
func (s *armSession) start(ctx context.Context) (err error) {
	if s.arm.started() && s.predecessor != nil {
		<-s.predecessor
	}
	if s.daemonCtx, err = s.subject.open(ctx, func(*harness.Session) {}); err != nil {
		return asDaemonError(ctx, err)
	}
	s.ownIdentity = s.identity()
	s.armScorer, err = s.dualScorer()
	return err
}

// maxBrains is how many filled brains a worker remembers. Others are looked up again.
const maxBrains = 256

// brain returns the filled brain of a haystack. The brains of a daemon that was already running are
// filled by another process.
func (s *armSession) brain(ctx context.Context, haystack string) (*ingest.FilledBrains, error) {
	ids := []string{haystack}
	if s.plan.Shared {
		haystack, ids = "", s.haystacks()
	}
	s.mu.Lock()
	b := s.brainsByHaystack[haystack]
	if b == nil {
		if len(s.brainsByHaystack) >= maxBrains {
			s.forgetBrains()
		}
		b = &workerBrain{}
		s.brainsByHaystack[haystack] = b
	}
	s.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.filled != nil {
		return b.filled, nil
	}
	filled, err := s.subject.fill(ctx, func(c *ingest.Config) { c.Find = !s.arm.started() }, ids)
	if err == nil && s.arm.started() {
		s.admitOnce.Do(func() {
			if seen := s.subject.admit(ctx, filled); seen != nil {
				err = s.queue.Admit(ctx, s.arm.Name, seen)
			}
		})
	}
	if err == nil {
		b.filled = filled
	}
	return filled, err
}

// forgetBrains forgets the filled brains. Another fill would delete one that is being filled. s.mu
// must be held.
func (s *armSession) forgetBrains() {
	for haystack, b := range s.brainsByHaystack {
		if !b.mu.TryLock() {
			continue
		}
		if b.filled != nil {
			delete(s.brainsByHaystack, haystack)
		}
		b.mu.Unlock()
	}
}
