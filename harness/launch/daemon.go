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
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

const stopGrace = 5 * time.Second // from SIGTERM to SIGKILL

// killWait is how long the kernel may take to carry out a SIGKILL. Tests raise it.
var killWait = 5 * time.Second

// markPrefix is that of the variable by which the processes of a daemon are known.
const markPrefix = "EVALCTL_DAEMON_"

// Daemon is a running daemon process. Its methods may be called concurrently.
type Daemon struct {
	url       string
	version   string
	healthyIn time.Duration

	what     string // it is called
	cmd      *exec.Cmd
	groups   []int  // ids of the process groups that its processes may be in
	mark     string // a variable in the environment of its processes
	watchdog *watchdog
	log      *capture
	started  time.Time

	adopts  bool   // this process finds what has escaped, see Escaped
	release func() // of adopt

	mu   sync.Mutex
	left map[int]string // what has escaped and was ended
	// marked are the processes outside of the groups that were ended and have the mark.
	marked []int

	exited   chan struct{}      // closed when the command has exited
	stopping chan time.Duration // receives at most one value: the grace before SIGKILL
	stopOnce sync.Once
	done     chan struct{} // closed when no process of the groups is left
	exitErr  error         // why it exited by itself; set before done is closed
	stopErr  error         // which processes could not be stopped; set before done is closed
}

// URL returns the daemon's base URL without a trailing slash.
func (d *Daemon) URL() string { return d.url }

// PID returns the process id of the command, which may be a wrapper of the process that serves
// requests.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// HealthyIn returns the time from the start of the process to its first healthy response.
func (d *Daemon) HealthyIn() time.Duration { return d.healthyIn }

// Version returns the version in the daemon's health response, with control characters escaped. It
// is often empty.
func (d *Daemon) Version() string { return d.version }

// PeakRSS returns the sum of the peaks of the resident memory of the daemon's processes that are
// alive, in bytes. Memory that they share counts for each. It is 0 if it is not known: on other
// systems than Linux, and once the daemon has ended.
func (d *Daemon) PeakRSS() int64 { return peakMemory(d.processes()) }

// Usage is what the processes of a daemon use.
type Usage struct {
	CPU       time.Duration // since each was started
	RSS       int64         // resident memory in bytes; what they share counts for each
	OpenFiles int
}

// Usage returns what the daemon's live processes use. ok is false if it is not known: on other
// systems than Linux, and once the daemon has ended.
func (d *Daemon) Usage() (u Usage, ok bool) { return usageOf(d.processes()) }

// Kill kills the daemon's processes at once, as a crash would. Done is closed when they have ended.
func (d *Daemon) Kill() error { return d.signal(syscall.SIGKILL) }

// Freeze stops the daemon's processes until Thaw. They keep their connections and answer nothing.
func (d *Daemon) Freeze() error { return d.signal(freeze) }

// Thaw continues what Freeze has stopped.
func (d *Daemon) Thaw() error { return d.signal(thaw) }

// signal sends a signal to each of the daemon's processes.
func (d *Daemon) signal(sig syscall.Signal) error {
	pids := d.processes()
	if len(pids) == 0 {
		return fmt.Errorf("signal %s: it has no process", d.what)
	}
	var errs []error
	for _, pid := range pids {
		errs = append(errs, signalProcess(pid, sig))
	}
	return errors.Join(errs...)
}

// processes returns the daemon's live processes, those included that have left its groups.
func (d *Daemon) processes() []int {
	members, strays := live(d.groups, d.mark)
	pids := append(members, strays...)
	for _, p := range d.escaped() {
		if !slices.Contains(pids, p.pid) {
			pids = append(pids, p.pid)
		}
	}
	return d.watchdog.exclude(pids)
}

// stray is a process of a daemon that is in none of its groups, with what it is called.
type stray struct {
	pid  int
	name string
}

func (d *Daemon) escaped() []stray { return escaped(d.PID(), d.groups) }

// Escaped returns the processes of the daemon that had left its groups and its environment, and
// were ended with it. It is complete once Done is closed. known is false if such processes cannot
// be found: on other systems than Linux. While several daemons run, those whose parent has ended
// are found when the last daemon ends.
func (d *Daemon) Escaped() (names []string, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Values(d.left)), d.adopts
}

// signalAll sends a signal to every process of the daemon, and to the watchdog. It ignores errors;
// the caller checks which processes remain.
func (d *Daemon) signalAll(sig syscall.Signal) {
	escaped := d.escaped() // before their parents end
	signalGroups(d.groups, sig)
	_, marked := live(d.groups, d.mark)
	for _, pid := range marked {
		_ = signalProcess(pid, sig)
		d.note(stray{pid: pid})
	}
	for _, p := range escaped {
		if !slices.Contains(marked, p.pid) {
			_ = signalProcess(p.pid, sig)
			d.note(p)
		}
	}
}

// note remembers a process outside of the groups that was sent a signal.
func (d *Daemon) note(p stray) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.name == "" {
		d.marked = append(d.marked, p.pid)
	} else {
		d.left[p.pid] = p.name
	}
}

// reap reaps the processes of the daemon that this process has adopted, once they have ended.
func (d *Daemon) reap() {
	d.mu.Lock()
	defer d.mu.Unlock()
	reapMembers(d.groups, slices.AppendSeq(slices.Clone(d.marked), maps.Keys(d.left)))
}

// Done returns a channel that is closed when the daemon has ended for any reason and no process of
// its group is left.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Err returns why the daemon exited by itself: its exit status and the last lines of its log. It
// returns nil while the daemon runs, and if Stop ended it.
func (d *Daemon) Err() error {
	select {
	case <-d.done:
		return d.exitErr
	default:
		return nil
	}
}

// LastLines returns the last lines and the path of the log of a daemon that runs, or why it cannot
// be read.
func (d *Daemon) LastLines() string { return d.log.lastLines() }

// Stop ends the process group with SIGTERM, and with SIGKILL after 5 seconds. It returns when no
// process of the group is left, or an error that names the remaining ones. Further calls wait for
// the first one and return the same error.
func (d *Daemon) Stop() error { return d.stop(stopGrace) }

func (d *Daemon) stop(grace time.Duration) error {
	d.stopOnce.Do(func() { d.stopping <- grace })
	<-d.done
	return d.stopErr
}

// spawn starts the watchdog, and the command in the watchdog's process group. attach sets what the
// command is connected with, besides its output, which goes to the log.
func spawn(ctx context.Context, args []string, p Profile, o Options, log *os.File, attach func(*exec.Cmd)) (*Daemon, error) {
	d := &Daemon{
		what:     cmp.Or(o.what, "daemon"),
		mark:     markPrefix + rand.Text(),
		cmd:      exec.Command(args[0], args[1:]...), //nolint:noctx // it outlives ctx; Stop ends its group
		exited:   make(chan struct{}),
		stopping: make(chan time.Duration, 1),
		done:     make(chan struct{}),
		left:     map[int]string{},
	}
	var err error
	var output *os.File
	if d.log, output, err = newCapture(log); err != nil {
		return nil, err
	}
	defer output.Close()
	d.cmd.Dir = p.Dir
	d.cmd.Stdout, d.cmd.Stderr = output, output
	attach(d.cmd)
	d.cmd.Env = append(d.cmd.Environ(), d.mark+"=1")
	if len(o.Watchdog) > 0 {
		if d.watchdog, err = startWatchdog(ctx, o.Watchdog, output); err != nil {
			_ = output.Close() // nothing is lost: only children write to it
			d.log.finish()
			return nil, withLog(err, d.log)
		}
	}
	d.cmd.SysProcAttr = processAttributes(d.watchdog.group())
	d.started = time.Now()
	d.release, d.adopts = adopt()
	started := make(chan error)
	go d.run(started)
	if err := <-started; err != nil {
		d.release()
		d.watchdog.release()
		_ = output.Close()
		d.log.finish()
		if p.Dir != "" {
			err = fmt.Errorf("in directory %s: %w", p.Dir, err)
		}
		return nil, err
	}
	// Commands such as setsid and timeout create a group of their own, with their own id.
	d.groups = []int{d.PID()}
	if d.watchdog != nil {
		d.watchdog.watch(d.PID(), d.mark)
		d.groups = append(d.groups, d.watchdog.group())
	}
	go d.supervise()
	return d, nil
}

// run starts the command and waits for it on one thread, because Linux sends the parent-death
// signal when the thread that started the process ends.
func (d *Daemon) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := startChild(d.cmd)
	started <- err
	if err != nil {
		return
	}
	_ = d.cmd.Wait() // ProcessState has the outcome
	forgetChild(d.PID())
	close(d.exited)
}

// supervise ends the groups when the command has exited or stop is called.
func (d *Daemon) supervise() {
	defer close(d.done)
	exited, ended := false, false
	select {
	case <-d.exited:
		exited = true
	case grace := <-d.stopping:
		select {
		case <-d.exited:
			exited = true
		default:
			d.signalAll(syscall.SIGTERM)
			ended = len(d.awaitExit(grace)) == 0
		}
	}
	var left []int
	if ended {
		signalGroups(d.groups, syscall.SIGKILL) // only the watchdog, which has watched until now, is there
	} else {
		d.signalAll(syscall.SIGKILL)
		left = d.awaitExit(killWait)
	}
	d.reap()
	d.release()
	d.watchdog.release()
	d.log.finish()
	if len(left) == 0 {
		<-d.exited
	} else {
		d.stopErr = fmt.Errorf("stop %s: processes %v still exist after SIGKILL", d.what, left)
	}
	if exited {
		d.exitErr = withLog(fmt.Errorf("%s (pid %d) exited: %v", d.what, d.PID(), d.cmd.ProcessState), d.log)
	}
}

// closeLog closes the log when the daemon has ended and exitErr is set.
func (d *Daemon) closeLog() {
	<-d.done
	_ = d.log.file.Close() // errors of writing are reported with the last lines
}

// awaitExit waits until the watchdog is the only live process of the groups. It returns the
// processes that remain after the limit.
func (d *Daemon) awaitExit(limit time.Duration) []int {
	deadline := time.Now().Add(limit)
	select {
	case <-d.exited: // before that, the command itself is left
	case <-time.After(limit):
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := d.processes()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// withLog adds the last lines of the daemon's log to an error. A disk that did not take all of the
// log may be its cause.
func withLog(err error, log *capture) error {
	return &loggedError{err, log.problem(), log.lastLines()}
}

type loggedError struct {
	err, problem error // problem is nil for a complete log
	lines        string
}

func (e *loggedError) Error() string   { return e.err.Error() + "\n" + e.lines }
func (e *loggedError) Unwrap() []error { return []error{e.err, e.problem} }
