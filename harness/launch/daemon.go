package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"evalctl/internal/environ"
)

const stopGrace = 5 * time.Second // from SIGTERM to SIGKILL

// killWait is how long the kernel may take to execute a SIGKILL. Tests raise it.
var killWait = 5 * time.Second

// markPrefix is the prefix of the variable that identifies a daemon's processes.
const markPrefix = "EVALCTL_DAEMON_"

// Daemon is a running daemon process. Its methods are safe for concurrent use.
type Daemon struct {
	url       string
	version   string
	healthyIn time.Duration

	what     string // it is called
	groups   []int  // ids of the process groups that its processes may be in
	env      []string
	settled  bool   // in a home of its own
	mark     string // a variable in the environment of its processes
	watchdog *watchdog
	log      *capture
	started  time.Time

	mu   sync.Mutex
	left map[int]string // processes that escaped and were ended
	// unwatched is set if the watchdog was killed.
	unwatched bool

	stopping chan time.Duration // receives at most one value: the grace before SIGKILL
	stopOnce sync.Once
	done     chan struct{} // closed when no process of the groups is left
	exitErr  error         // why it exited by itself; set before done is closed
	stopErr  error         // which processes could not be stopped; set before done is closed
}

// URL returns the daemon's base URL without a trailing slash.
func (d *Daemon) URL() string { return d.url }

// PID returns the process id of the command, which may be a wrapper around the serving process.
func (d *Daemon) PID() int { return d.watchdog.pid }

// HealthyIn returns the time from the process start to its first healthy response.
func (d *Daemon) HealthyIn() time.Duration { return d.healthyIn }

// Version returns the version in the daemon's health response, with control characters escaped. It
// is often empty.
func (d *Daemon) Version() string { return d.version }

// PeakRSS returns the sum of the peak resident memory of the daemon's live processes, in bytes.
// Shared memory counts for each. It is 0 if unknown: on systems other than Linux, and once the
// daemon has ended.
func (d *Daemon) PeakRSS() int64 { return peakMemory(d.processes()) }

// Withheld lists the environment variables that the daemon did not receive, "" if none.
func (d *Daemon) Withheld() string { return environ.Withheld(os.Environ(), d.env) }

// Usage is the resource use of a daemon's processes.
type Usage struct {
	CPU       time.Duration // since each was started
	RSS       int64         // resident memory in bytes; what they share counts for each
	OpenFiles int
}

// Usage returns the resource use of the daemon's live processes. ok is false if unknown: on systems
// other than Linux, and once the daemon has ended.
func (d *Daemon) Usage() (u Usage, ok bool) { return usageOf(d.processes()) }

// Kill kills the daemon's processes at once, as a crash would. Done is closed when they have ended.
func (d *Daemon) Kill() error { return d.signal(syscall.SIGKILL) }

// Freeze suspends the daemon's processes until Thaw. They keep their connections but do not
// respond.
func (d *Daemon) Freeze() error { return d.signal(freeze) }

// Thaw resumes processes suspended by Freeze.
func (d *Daemon) Thaw() error { return d.signal(thaw) }

// signal sends a signal to all of the daemon's processes.
func (d *Daemon) signal(sig syscall.Signal) error {
	all := d.processes()
	if len(all) == 0 {
		return fmt.Errorf("signal %s: no process is running", d.what)
	}
	var errs []error
	for _, p := range all {
		errs = append(errs, p.signal(sig))
	}
	return errors.Join(errs...)
}

// process is an entry of the process table. Only Linux provides all fields.
type process struct {
	pid, parent, group int
	start              int // in ticks since the system was started
	zombie             bool
	name               string
}

// processes returns the daemon's live processes.
func (d *Daemon) processes() []process {
	select {
	case <-d.watchdog.released:
		return nil
	default:
		return processesOf(d.watchdog.group(), d.watchdog.adopts, d.groups, d.mark)
	}
}

// Escaped returns the processes that left the daemon's groups and environment and were ended with
// it. It is complete once Done is closed. known is false if such processes cannot be found: on
// systems other than Linux, and if the watchdog was killed.
func (d *Daemon) Escaped() (names []string, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Values(d.left)), d.watchdog.adopts && !d.unwatched
}

// signalAll sends a signal to every process of the daemon, and SIGTERM also to the watchdog, which
// ignores it. Errors are ignored; the caller checks which processes remain.
func (d *Daemon) signalAll(sig syscall.Signal) {
	all := d.processes() // before their parents end
	group := d.watchdog.group()
	if sig != syscall.SIGKILL {
		signalGroup(group, sig)
	}
	for _, p := range all {
		if sig == syscall.SIGKILL || p.group != group {
			_ = p.signal(sig)
		}
		if !slices.Contains(d.groups, p.group) && !p.marked(d.mark) {
			d.mu.Lock()
			d.left[p.pid] = fmt.Sprintf("%s (pid %d)", p.name, p.pid)
			d.mu.Unlock()
		}
	}
}

// Done returns a channel that is closed when the daemon has ended for any reason and no process of
// its group is left.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Err returns why the daemon exited by itself: its exit status and the end of its log. It is nil
// while the daemon runs, and if Stop ended it.
func (d *Daemon) Err() error {
	select {
	case <-d.done:
		return d.exitErr
	default:
		return nil
	}
}

// LastLines returns the end of a running daemon's log and its path, or why it cannot be read.
func (d *Daemon) LastLines() string { return d.log.lastLines() }

// Stop ends the process group with SIGTERM, and with SIGKILL after 5 seconds. It returns when no
// process of the group is left, or an error that names the remaining ones. Further calls wait for
// the first and return the same error.
func (d *Daemon) Stop() error { return d.stop(stopGrace) }

func (d *Daemon) stop(grace time.Duration) error {
	d.stopOnce.Do(func() { d.stopping <- grace })
	<-d.done
	return d.stopErr
}

// spawn starts the watchdog, which starts the command. Output goes to the log, except standard
// output if stdout is not nil.
func spawn(ctx context.Context, args []string, p Profile, o Options, log, stdin, stdout *os.File, env []string) (*Daemon, error) {
	d := &Daemon{
		what:     cmp.Or(o.what, "daemon"),
		mark:     markPrefix + rand.Text(),
		stopping: make(chan time.Duration, 1),
		done:     make(chan struct{}),
		left:     map[int]string{},
	}
	if len(o.Watchdog) == 0 {
		return nil, errors.New("no watchdog is given")
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // only the watchdog starts it
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	cmd.Dir = p.Dir
	var err error
	if o.userHome() != "" {
		if env, err = settle(cmd, p, o, env); err != nil {
			return nil, err
		}
		d.settled = true
	}
	d.env = environ.Of(os.Environ(), p.Passed, env)
	cmd.Env = append(slices.Clip(d.env), d.mark+"=1")
	var output *os.File
	if d.log, output, err = newCapture(log, o.Secrets); err != nil {
		return nil, err
	}
	if stdout == nil {
		stdout = output
	}
	if d.watchdog, err = startWatchdog(ctx, o.Watchdog, [3]*os.File{stdin, stdout, output}); err != nil {
		_ = output.Close() // nothing is lost: only children write to it
		d.log.finish()
		return nil, withLog(err, d.log)
	}
	d.started = time.Now()
	err = d.watchdog.start(ctx, order{Path: cmd.Path, Dir: cmd.Dir, Args: cmd.Args, Env: cmd.Environ(), Mark: d.mark})
	_ = output.Close()
	if err != nil {
		d.log.finish()
		if p.Dir != "" {
			err = fmt.Errorf("in folder %s: %w", p.Dir, err)
		}
		return nil, err
	}
	// Commands such as setsid and timeout create a group with their own id.
	d.groups = []int{d.PID(), d.watchdog.group()}
	go d.supervise()
	return d, nil
}

// supervise ends the processes when the command exits or stop is called.
func (d *Daemon) supervise() {
	defer close(d.done)
	exited, ended := false, false
	select {
	case <-d.watchdog.exited:
		exited = true
	case grace := <-d.stopping:
		select {
		case <-d.watchdog.exited:
			exited = true
		default:
			d.signalAll(syscall.SIGTERM)
			ended = len(d.awaitEnd(grace, func() {})) == 0
		}
	}
	var left []process
	if !ended {
		left = d.awaitEnd(killWait, func() { d.signalAll(syscall.SIGKILL) })
	}
	d.watchdog.release()
	d.log.finish()
	if len(left) > 0 {
		d.stopErr = fmt.Errorf("stop %s: processes %v still exist after SIGKILL", d.what, pids(left))
	}
	if exited {
		d.exitErr = withLog(fmt.Errorf("%s (pid %d) exited: %s", d.what, d.PID(), d.watchdog.status), d.log)
	}
}

func pids(all []process) (ids []int) {
	for _, p := range all {
		ids = append(ids, p.pid)
	}
	return ids
}

// closeLog closes the log when the daemon has ended and exitErr is set.
func (d *Daemon) closeLog() {
	<-d.done
	_ = d.log.file.Close() // errors of writing are reported with the last lines
}

// slowestLook is the maximum interval for checking the remaining processes.
const slowestLook = 50 * time.Millisecond

// awaitEnd waits until no process of the daemon is left, and calls again repeatedly. It returns the
// processes that remain after the limit.
func (d *Daemon) awaitEnd(limit time.Duration, again func()) []process {
	deadline := time.Now().Add(limit)
	ended := d.watchdog.ended
	for pause := time.Millisecond; ; pause = min(2*pause, slowestLook) {
		again()
		select {
		case <-ended:
			if d.watchdog.empty {
				return nil
			}
			ended = nil // it was killed, and does not see the others end
			d.mu.Lock()
			d.unwatched = true
			d.mu.Unlock()
		case <-time.After(pause):
		}
		if late := time.Now().After(deadline); late || ended == nil {
			if left := d.processes(); late || len(left) == 0 {
				return left
			}
		}
	}
}

// withLog adds the end of the daemon's log to an error. If the log could not be written completely,
// it adds why, because a full disk may be the cause.
func withLog(err error, log *capture) error {
	return &loggedError{err, log.problem(), log.lastLines()}
}

type loggedError struct {
	err, problem error // problem is nil for a complete log
	lines        string
}

func (e *loggedError) Error() string   { return e.err.Error() + "\n" + e.lines }
func (e *loggedError) Unwrap() []error { return []error{e.err, e.problem} }
