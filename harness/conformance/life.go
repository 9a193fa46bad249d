package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"evalctl/harness/conformance/requirements"
)

// processGrace is how long the checks may take to report after the process has ended, and how long
// a process may take to end after its daemon stopped answering.
const processGrace = time.Second

// settling is how long a daemon may take to die after a check that ran alone.
const settling = 100 * time.Millisecond

// life is the part of a run between a start of the daemon and its death or the end of the run. Its
// context ends with it.
type life struct {
	ctx     context.Context
	stop    context.CancelCauseFunc
	target  *requirements.Target
	process Process       // nil if the daemon was not started for the run
	log     func() string // may be nil

	suspicion sync.Mutex // serializes health checks

	mu       sync.Mutex
	running  []string // ids, in the order in which they began
	ended    []string // ids of the checks that ended last
	lastEnd  time.Time
	death    *Death
	suspects []string          // at the death: first those that were running
	cut      map[string]Result // what the checks found that did not end before the death
	requests map[string]string // the last request of each check
}

// live calls work with a new life, watches the daemon meanwhile, and returns the ended life.
// process and log may be nil.
func live(ctx context.Context, target *requirements.Target, process Process, log func() string, work func(*life)) *life {
	l := &life{target: target, process: process, log: log, lastEnd: time.Now(), cut: map[string]Result{}, requests: map[string]string{}}
	l.ctx, l.stop = context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	if l.process != nil {
		watching.Go(l.watchProcess)
	}
	if l.target.Healthy() {
		watching.Go(l.watchHealth)
	}
	work(l)
	if l.process != nil {
		time.Sleep(settling) // the last check may have made it die
	}
	l.suspect("")
	l.stop(nil)
	watching.Wait()
	return l
}

// watchProcess ends the life when the process of the daemon ends.
func (l *life) watchProcess() {
	select {
	case <-l.process.Done():
	case <-l.ctx.Done():
		return
	}
	select {
	case <-time.After(processGrace):
		l.die("", l.process.Err())
	case <-l.ctx.Done():
	}
}

// watchHealth ends the life if the daemon reports that it is unhealthy or refuses connections while
// no check ends. A timeout does not count here, since the daemon may be busy.
func (l *life) watchHealth() {
	for wait := pulse; ; {
		select {
		case <-time.After(wait):
		case <-l.ctx.Done():
			return
		}
		l.mu.Lock()
		wait = pulse - time.Since(l.lastEnd)
		l.mu.Unlock()
		if wait <= 0 {
			l.suspectUnless("", requirements.TimedOut)
			wait = pulse
		}
	}
}

// begin and end enclose the run of a check.
func (l *life) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, id)
}

// answered records the last request of a check.
func (l *life) answered(res Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[res.ID] = res.found.Last
}

func (l *life) end(id string, remembered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = slices.DeleteFunc(l.running, func(other string) bool { return other == id })
	l.ended = append(l.ended, id)
	l.ended = l.ended[max(0, len(l.ended)-remembered):]
	l.lastEnd = time.Now()
}

// keep records the result of a check that was cut short by the death, and returns false for any
// other result.
func (l *life) keep(res Result) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.death == nil || res.Verdict == Kept || res.Reason == ReasonNeed {
		return false
	}
	l.cut[res.ID] = res
	return true
}

// suspect ends the life if the daemon is dead after a check.
func (l *life) suspect(id string) {
	l.suspectUnless(id, func(error) bool { return false })
}

func (l *life) suspectUnless(id string, excused func(error) bool) {
	l.suspicion.Lock()
	defer l.suspicion.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	if l.process != nil {
		select {
		case <-l.process.Done():
			l.die(id, l.process.Err())
			return
		default:
		}
	}
	err := l.target.Health(l.ctx)
	if err == nil || excused(err) {
		return
	}
	l.die(id, l.explain(err))
}

// explain adds how the process ended, or the log of a live one, to a health check's error.
func (l *life) explain(err error) error {
	if l.process == nil {
		return err
	}
	select {
	case <-l.process.Done():
		return errors.Join(err, l.process.Err())
	case <-time.After(processGrace):
	}
	err = errors.Join(err, errors.New("its process is still running"))
	if l.log != nil {
		err = errors.Join(err, errors.New(l.log()))
	}
	return err
}

// die records that the daemon died, and ends the life.
func (l *life) die(id string, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.death != nil || l.ctx.Err() != nil {
		return
	}
	if id == "" && len(l.running) > 0 {
		id = l.running[0]
	}
	l.death = &Death{After: id, Cause: l.target.Redact(cause.Error())}
	for _, other := range l.running {
		if other != id {
			l.death.Running = append(l.death.Running, other)
		}
	}
	l.suspects = l.death.suspects()
	for _, other := range slices.Backward(l.ended) {
		if !slices.Contains(l.suspects, other) {
			l.suspects = append(l.suspects, other)
		}
	}
	l.stop(ErrDied)
}
