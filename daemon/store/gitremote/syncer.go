package gitremote

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/internal/wakeup"
)

const (
	// batch is the time between a commit and its push, so that a series of commits is pushed once.
	batch = 500 * time.Millisecond
	// firstRetry and lastRetry are the shortest and the longest time until a failed pull or push is
	// repeated.
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
	// races is how often a push is repeated that another daemon's push was faster than.
	races = 5
)

// syncer keeps one open repository in step with its remote.
type syncer struct {
	remote *Remote
	repo   *gitstore.Repo
	logger *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wake   wakeup.Signal // after a commit

	commits, pushed atomic.Uint64         // the number of commits, and of those known to be pushed
	conflict        atomic.Pointer[error] // why writes are refused, or nil
	failures        int                   // in succession
}

func newSyncer(r *Remote, brain string) *syncer {
	s := &syncer{remote: r, logger: r.opts.Logger.With("brain", brain), wake: wakeup.New()}
	s.ctx, s.cancel = context.WithCancel(r.ctx)
	return s
}

// begin pulls for the first time and starts the work in the background.
func (s *syncer) begin(ctx context.Context) error {
	pristine, err := s.repo.Pristine(ctx)
	if err != nil {
		return err
	}
	limit := openTimeout
	if pristine {
		// A client that does not wait must not interrupt the pull: the next one would begin again.
		ctx, limit = s.ctx, syncTimeout
	}
	ctx, cancel := limited(ctx, limit)
	defer cancel()
	if err := s.pull(ctx); err != nil && !errors.Is(err, store.ErrConflict) {
		s.failed(err)
		if pristine {
			return unavailable{}
		}
	}
	s.commits.Store(1) // unless known better, there is something to push
	s.repo.Subscribe(func(store.ChangeEvent) {
		s.commits.Add(1)
		s.wake.Set()
	})
	s.wake.Set()
	s.remote.mu.Lock()
	s.remote.open[s] = struct{}{}
	s.remote.mu.Unlock()
	s.remote.running.Go(s.run)
	return nil
}

// admit returns why writes are refused, or nil.
func (s *syncer) admit() error {
	if err := s.conflict.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *syncer) isPending() bool { return s.commits.Load() != s.pushed.Load() }

// run pulls and pushes until the store is closed.
func (s *syncer) run() {
	interval := time.NewTimer(s.pause())
	defer interval.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
			if s.failures > 0 {
				continue // the next attempt is planned, and includes this commit
			}
			if s.sleep(batch) {
				s.sync(false)
			}
		case <-interval.C:
			s.sync(true)
		}
		interval.Reset(s.pause())
	}
}

// pause returns the time until the next pull: the interval, or less after a failure.
func (s *syncer) pause() time.Duration {
	pause := s.remote.opts.Interval
	if s.failures > 0 {
		pause = min(pause, lastRetry, firstRetry<<min(s.failures-1, 20))
	}
	return pause*3/4 + rand.N(pause/2+1) // so that brains and daemons do not all pull at once
}

// sleep returns false if the store is closed meanwhile.
func (s *syncer) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// sync pushes unpushed commits, after a pull if the caller wants one or the push needs it.
func (s *syncer) sync(pullFirst bool) {
	select {
	case s.remote.slots <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	defer func() { <-s.remote.slots }()
	ctx, cancel := limited(s.ctx, syncTimeout)
	defer cancel()
	var err error
	for range races {
		if pullFirst {
			if err = s.pull(ctx); err != nil {
				break
			}
		}
		err = s.push(ctx, pullFirst)
		if !errors.Is(err, store.ErrConflict) {
			break
		}
		pullFirst = true
	}
	switch {
	case s.ctx.Err() != nil: // interrupted by the end of the store
	case err != nil:
		s.failed(err)
	case s.failures > 0:
		s.logger.Info("the git remote is in step again", "failures", s.failures)
		s.failures = 0
	}
}

// pull pulls, and notes whether the repository conflicts with the remote.
func (s *syncer) pull(ctx context.Context) error {
	err := s.repo.Pull(ctx)
	switch {
	case errors.Is(err, gitstore.ErrNoBranch):
		err = nil
	case errors.Is(err, gitstore.ErrStashed):
		s.logger.Warn("edits made by hand conflict with the git remote and are in git stash list", "because", err)
		err = nil
	case errors.Is(err, store.ErrConflict):
		cause := err
		if e, ok := errors.AsType[*store.Error](err); ok {
			cause = e.Err // without the operation, which differs from the refused request
		}
		if s.conflict.Swap(&cause) == nil {
			s.logger.Error("the brain conflicts with the git remote: writes are refused until the conflict is resolved there, "+
				"or here with git while the daemon is stopped", "because", err)
		}
	}
	if err == nil && s.conflict.Swap(nil) != nil {
		s.logger.Info("the brain no longer conflicts with the git remote")
	}
	s.count("pull", err)
	return err
}

// push pushes, if there is anything to push. After a pull that can be a commit that was pushed
// before: the remote may have been restored from a backup, or made again.
func (s *syncer) push(ctx context.Context, pulled bool) error {
	n := s.commits.Load()
	if n == s.pushed.Load() && !pulled {
		return nil
	}
	unpushed, err := s.repo.Unpushed(ctx)
	if err != nil {
		return err
	}
	if unpushed {
		s.pushed.Store(n - 1) // until it has succeeded
		err = s.repo.Push(ctx)
		s.count("push", err)
	}
	if err == nil {
		s.pushed.Store(n)
	}
	return err
}

// pushLast is the last attempt to push.
func (s *syncer) pushLast(ctx context.Context) {
	if !s.isPending() {
		return
	}
	if err := s.push(ctx, false); err != nil {
		s.logger.Error("commits are not pushed yet; they will be when the brain is next opened", "because", err)
	}
}

// close is called when the store begins to close.
func (s *syncer) close() {
	s.cancel()
	s.remote.mu.Lock()
	delete(s.remote.open, s)
	s.remote.mu.Unlock()
	if s.remote.closing.Load() {
		return // Remote.Close has pushed
	}
	ctx, cancel := limited(context.Background(), evictTimeout)
	defer cancel()
	s.pushLast(ctx)
}

// failed logs a failure. A conflict is logged where it begins.
func (s *syncer) failed(err error) {
	s.failures++
	if !errors.Is(err, store.ErrConflict) {
		s.logger.Warn("the git remote is not in step: trying again", "failures", s.failures, "because", err)
	}
}

func (s *syncer) count(command string, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	if errors.Is(err, store.ErrConflict) {
		outcome = "conflict"
	}
	s.remote.counts.WithLabelValues(command, outcome).Inc()
}
