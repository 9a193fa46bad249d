package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	stopGrace = 5 * time.Second // from SIGTERM to SIGKILL
	killWait  = 5 * time.Second // for the kernel to carry out a SIGKILL
)

// Daemon is a running daemon process. Its methods may be called concurrently.
type Daemon struct {
	url       string
	version   string
	healthyIn time.Duration

	cmd     *exec.Cmd
	groups  []int // ids of the process groups it may consist of
	guard   *guard
	log     logTail
	started time.Time

	exited chan struct{}      // closed when the command itself has ended
	ending chan time.Duration // at most one value: the grace before SIGKILL
	endOne sync.Once
	done   chan struct{} // closed when nothing of the groups is left
	err    error         // why it ended; set before done is closed
	endErr error         // what could not be ended; set before done is closed
}

// URL is the daemon's base URL, without a slash at the end.
func (d *Daemon) URL() string { return d.url }

// PID is the process id of the command, which may be a wrapper of the process
// that answers.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// HealthyIn is the time from the start of the process to its first healthy
// answer.
func (d *Daemon) HealthyIn() time.Duration { return d.healthyIn }

// Version is what the daemon's health answer gives as its version, with
// control characters escaped; often empty.
func (d *Daemon) Version() string { return d.version }

// Done is closed when the daemon has ended, for whatever reason, and nothing
// of its process group is left.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Err says why the daemon ended by itself: its exit status and the last lines
// of its log. It is nil while the daemon runs and when Stop ended it.
func (d *Daemon) Err() error {
	select {
	case <-d.done:
		return d.err
	default:
		return nil
	}
}

// Stop ends the process group: SIGTERM, up to 5 seconds, SIGKILL. It returns
// when no process of the group is left, or an error that names those left.
// Further calls wait for the same end and give the same answer.
func (d *Daemon) Stop() error { return d.end(stopGrace) }

func (d *Daemon) end(grace time.Duration) error {
	d.endOne.Do(func() { d.ending <- grace })
	<-d.done
	return d.endErr
}

// spawn starts the guard, then the command in the guard's process group.
func spawn(ctx context.Context, p Profile, o Options, port int, log *os.File) (*Daemon, error) {
	args := p.expand(port, o.Home)
	d := &Daemon{
		cmd:    exec.Command(args[0], args[1:]...), //nolint:noctx // it outlives ctx, and ends by its group
		exited: make(chan struct{}),
		ending: make(chan time.Duration, 1),
		done:   make(chan struct{}),
	}
	d.cmd.Dir = p.Dir
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.Env = append(d.cmd.Environ(), p.environment(port, o.Home)...)
	var err error
	if d.log, err = newLogTail(log); err != nil {
		return nil, err
	}
	if len(o.Guard) > 0 {
		if d.guard, err = startGuard(ctx, o.Guard, log); err != nil {
			return nil, withLog(err, d.log)
		}
	}
	d.cmd.SysProcAttr = processAttributes(d.guard.group())
	d.started = time.Now()
	started := make(chan error)
	go d.run(started)
	if err := <-started; err != nil {
		d.guard.release()
		if p.Dir != "" {
			err = fmt.Errorf("in directory %s: %w", p.Dir, err)
		}
		return nil, err
	}
	// Commands such as setsid and timeout make a group of their own.
	d.groups = []int{d.PID()}
	if d.guard != nil {
		d.guard.watch(d.PID())
		d.groups = append(d.groups, d.guard.group())
	}
	go d.supervise()
	return d, nil
}

// run starts the command and waits for it, on one thread: Linux sends the
// parent-death signal when the thread that forked ends, not the process.
func (d *Daemon) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := d.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = d.cmd.Wait() // ProcessState says how it ended
	close(d.exited)
}

// supervise ends the groups when the command has ended or somebody asks.
func (d *Daemon) supervise() {
	defer close(d.done)
	ended := false
	select {
	case <-d.exited:
		ended = true
	case grace := <-d.ending:
		select {
		case <-d.exited:
			ended = true
		default:
			signalGroups(d.groups, syscall.SIGTERM)
			d.awaitGone(grace)
		}
	}
	// Also kills the guard, so that it watches until the very end.
	signalGroups(d.groups, syscall.SIGKILL)
	left := d.awaitGone(killWait)
	d.guard.release()
	if len(left) == 0 {
		<-d.exited
	} else {
		d.endErr = fmt.Errorf("stop daemon: processes %v are still there after SIGKILL", left)
	}
	if ended {
		d.err = withLog(fmt.Errorf("daemon (pid %d) ended: %v", d.PID(), d.cmd.ProcessState), d.log)
	}
}

// closeLog closes the log once the daemon has ended and said why.
func (d *Daemon) closeLog() {
	<-d.done
	_ = d.log.file.Close() // what the daemon wrote is its own business
}

// awaitGone waits until the groups have no live process but the guard, and
// gives those left when the time is over.
func (d *Daemon) awaitGone(limit time.Duration) []int {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := d.guard.exclude(groupMembers(d.groups))
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// withLog adds the last lines of the daemon's log to an error.
func withLog(err error, log logTail) error {
	return fmt.Errorf("%w\n%s", err, log.last())
}
