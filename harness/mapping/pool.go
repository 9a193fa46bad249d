package mapping

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// mostProcesses limits the brain processes running at a time, unless the concurrency is higher.
const mostProcesses = 8

// pool has a process for each brain in use. Idle processes are ended if there are too many, and
// started again when needed.
type pool struct {
	open func(ctx context.Context, brain string) (*server, error)
	most int

	mu sync.Mutex
	of map[string]*brainProcess // by brain
}

type brainProcess struct {
	// startMu is held while the process starts or ends, because two must not run in one home. A
	// holder may lock the pool's mu. While holding mu, startMu may only be tried.
	startMu sync.Mutex
	server  *server // nil while it does not run; changed with both locks, read with either
	users   int     // guarded by the pool's mu, and so is lastUse
	lastUse time.Time
}

// acquire returns the process of a brain. The caller must call release.
func (p *pool) acquire(ctx context.Context, brain string) (s *server, release func(), err error) {
	p.mu.Lock()
	one := p.of[brain]
	if one == nil {
		one = &brainProcess{}
		p.of[brain] = one
	}
	one.users++
	p.mu.Unlock()
	release = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		one.users--
		one.lastUse = time.Now()
	}
	one.startMu.Lock()
	defer one.startMu.Unlock()
	if one.server != nil {
		return one.server, release, nil
	}
	if err = p.makeRoom(); err == nil {
		s, err = p.open(ctx, brain)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	p.mu.Lock()
	one.server = s
	p.mu.Unlock()
	return s, release, nil
}

// makeRoom ends the least recently used process if there are too many. It returns when the
// process has exited; until then, no other process of its brain is started.
func (p *pool) makeRoom() error {
	oldest, end := p.takeOldest()
	if oldest == nil {
		return nil
	}
	defer oldest.startMu.Unlock()
	return end.close()
}

// takeOldest takes the server of the least recently used process if there are too many. The
// caller must close the server and then unlock startMu. takeOldest never waits for a startMu,
// because its caller holds another one.
func (p *pool) takeOldest() (oldest *brainProcess, end *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := 0
	var idle []*brainProcess
	for _, one := range p.of {
		if one.server == nil {
			continue
		}
		running++
		if one.users == 0 {
			idle = append(idle, one)
		}
	}
	if running < p.most {
		return nil, nil
	}
	slices.SortFunc(idle, func(a, b *brainProcess) int { return a.lastUse.Compare(b.lastUse) })
	for _, one := range idle {
		if one.startMu.TryLock() {
			end, one.server = one.server, nil
			return one, end
		}
	}
	return nil, nil
}

// drop ends the process of a brain.
func (p *pool) drop(brain string) error {
	p.mu.Lock()
	one := p.of[brain]
	p.mu.Unlock()
	if one == nil {
		return nil
	}
	one.startMu.Lock()
	defer one.startMu.Unlock()
	p.mu.Lock()
	end := one.server
	one.server = nil
	p.mu.Unlock()
	if end == nil {
		return nil
	}
	return end.close()
}

// close ends all processes.
func (p *pool) close() error {
	p.mu.Lock()
	var brains []string
	for brain := range p.of {
		brains = append(brains, brain)
	}
	p.mu.Unlock()
	var errs []error
	for _, brain := range brains {
		errs = append(errs, p.drop(brain))
	}
	return errors.Join(errs...)
}
