// Package gitremote keeps the repositories of brains in step with a git server. A repository is
// pulled when it is opened and at an interval, and pushed after commits, in the background. It
// needs the git program, version 2.38 or newer.
package gitremote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
)

const (
	// openTimeout limits the pull before a store is used that has documents already.
	openTimeout = 5 * time.Second
	// syncTimeout limits the first pull of a new store, and a pull and a push in the background.
	syncTimeout = 5 * time.Minute
	// evictTimeout limits the push of a store that is closed while the others stay open, and
	// closeTimeout the pushes of all when the daemon ends.
	evictTimeout = 5 * time.Second
	closeTimeout = 10 * time.Second
	// parallel is how many repositories are pulled or pushed at once.
	parallel = 4
)

// limited limits the time of git, and has its error say so.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("git was not done within %v: %w", limit, context.DeadlineExceeded))
}

// Options configures a Remote. Interval and Logger are required.
type Options struct {
	Address Address
	// Interval is the time between two pulls of an open repository.
	Interval time.Duration
	Logger   *slog.Logger
}

// Remote opens repositories and keeps them in step. It is safe for concurrent use.
type Remote struct {
	opts   Options
	slots  chan struct{} // holds a token for each running pull or push
	counts *prometheus.CounterVec

	running sync.WaitGroup
	closing atomic.Bool
	// ctx ends with Interrupt.
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*syncer]struct{}
}

// New returns a Remote. The caller must Close it before the stores that it has opened.
func New(opts Options) *Remote {
	r := &Remote{
		opts: opts, slots: make(chan struct{}, parallel), open: map[*syncer]struct{}{},
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evalctl_git_remote_total",
			Help: "Pulls from and pushes to git remotes by outcome: done, conflict or failed.",
		}, []string{"command", "outcome"}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Check returns an error unless the remote can be reached. It does nothing if the address differs
// from brain to brain.
func (r *Remote) Check(ctx context.Context) error {
	if !r.opts.Address.fixed() {
		return nil
	}
	ctx, cancel := limited(ctx, openTimeout)
	defer cancel()
	if err := gitstore.Reachable(ctx, r.opts.Address.url); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil
}

// ErrUnreachable is the error of a repository that is neither here nor can be fetched. It does not
// name the remote, because clients may read it.
var ErrUnreachable = errors.New("git remote cannot be reached")

// unavailable is ErrUnreachable as the error of a store that may be available later.
type unavailable struct{}

func (unavailable) Error() string {
	return ErrUnreachable.Error() + ", and the brain was never fetched from it: try again later"
}
func (unavailable) Unwrap() []error { return []error{ErrUnreachable, store.ErrReadOnly} }

// Open opens the repository of a brain in dir, after a pull. If the remote cannot be reached, a
// repository that was pulled or written before is used unchanged, and a new one is an error.
//
// Writes to a repository that cannot be rebased on the remote fail with store.ErrConflict, until a
// pull succeeds.
func (r *Remote) Open(ctx context.Context, dir, brain, tenant string, opts gitstore.Options) (*store.Store, error) {
	url, branch, err := r.opts.Address.of(brain, tenant)
	if err != nil {
		return nil, err
	}
	s := newSyncer(r, brain)
	opts.RemoteURL, opts.RemoteBranch, opts.UserSettings = url, branch, true
	opts.Admit, opts.OnClose = s.admit, s.close
	if s.repo, err = gitstore.Open(ctx, dir, &opts); err != nil {
		s.cancel()
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		s.cancel()
		return nil, errors.Join(err, s.repo.Close())
	}
	return s.repo.Store, nil
}

// Interrupt ends all waits for the remote: the opening of new stores and the background work.
func (r *Remote) Interrupt() { r.cancel() }

// Close pushes unpushed commits, with one attempt for each open repository, and ends the background
// work. It logs the repositories that could not be pushed.
func (r *Remote) Close() {
	r.Interrupt()
	r.closing.Store(true)
	r.mu.Lock()
	var list []*syncer
	for s := range r.open {
		list = append(list, s)
	}
	r.mu.Unlock()
	r.running.Wait()
	ctx, cancel := limited(context.Background(), closeTimeout)
	defer cancel()
	var pushes sync.WaitGroup
	for _, s := range list {
		pushes.Go(func() { s.pushLast(ctx) })
	}
	pushes.Wait()
}

// Metrics returns the metrics of the remotes.
func (r *Remote) Metrics() []prometheus.Collector {
	count := func(name, help string, has func(*syncer) bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			r.mu.Lock()
			defer r.mu.Unlock()
			n := 0
			for s := range r.open {
				if has(s) {
					n++
				}
			}
			return float64(n)
		})
	}
	return []prometheus.Collector{
		r.counts,
		count("evalctl_git_unpushed_brains", "Open brains with commits that the git remote does not have.", (*syncer).isPending),
		count("evalctl_git_conflicting_brains", "Open brains that refuse writes, because they conflict with the git remote.",
			func(s *syncer) bool { return s.admit() != nil }),
	}
}
