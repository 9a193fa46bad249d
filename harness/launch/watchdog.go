package launch

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"evalctl/internal/environ"
)

const watchdogReady = "watching\n" // what a watchdog prints when it is ready

// watchdogTimeout limits the start of a watchdog, and then of its command. Tests raise it.
var watchdogTimeout = time.Minute

// order is the command for a watchdog to start. Its standard streams are the watchdog's descriptors
// from firstStdio.
type order struct {
	Path, Dir string
	Args, Env []string
	Mark      string
}

const firstStdio = 3

// report is a message from a watchdog: first that its command runs, or Err; then how the command
// exited; finally that no process is left.
type report struct {
	PID    int
	Adopts bool // it is a subreaper
	Err    string
	Exit   string
	Empty  bool
}

// Watchdog starts a daemon's command and ends all processes below it when the launching process
// dies in any way, which it detects by the end of stdin. Start runs it (Options.Watchdog) as the
// leader of a new process group, which the command joins. On Linux it is a subreaper and thus
// remains above all processes that the command starts, whatever they do.
//
// It reads its order from stdin and reports to stdout. It returns when no process of the daemon is
// left, or if Start did not start it.
func Watchdog(stdin io.Reader, stdout io.Writer) error {
	if !leadsGroup() {
		return errors.New("watchdog: it does not lead its process group; only evalctl can start it")
	}
	// Stop sends SIGTERM to the whole group, but the watchdog must stay. Ignoring the signal
	// instead would be inherited by the command.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	adopts := adopt()
	if _, err := io.WriteString(stdout, watchdogReady); err != nil {
		return fmt.Errorf("watchdog: report ready: %w", err)
	}
	var o order
	if err := gob.NewDecoder(stdin).Decode(&o); err != nil {
		return fmt.Errorf("watchdog: read what to start: %w", err)
	}
	runtime.LockOSThread() // the command is killed when the thread that started it ends
	pid, err := o.start()
	reports := gob.NewEncoder(stdout)
	if err != nil {
		return reports.Encode(report{Err: err.Error()})
	}
	// An error in reporting means that the launching process has died, which the end of stdin shows
	// too.
	_ = reports.Encode(report{PID: pid, Adopts: adopts})
	remaining := func() []process {
		return processesOf(os.Getpid(), adopts, []int{os.Getpid(), pid}, o.Mark)
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // an error is treated like the end
		killAll(remaining)
	}()
	reapChildren(pid, func(status string) { _ = reports.Encode(report{Exit: status}) })
	for !adopts && len(remaining()) > 0 {
		time.Sleep(slowestLook)
	}
	_ = reports.Encode(report{Empty: true})
	return nil
}

// start starts the command and closes the files that only the command uses.
func (o order) start() (pid int, err error) {
	var stdio []*os.File
	for fd := firstStdio; fd < firstStdio+3; fd++ {
		f := inherited(fd)
		defer f.Close()
		stdio = append(stdio, f)
	}
	p, err := os.StartProcess(o.Path, o.Args, &os.ProcAttr{Dir: o.Dir, Env: o.Env, Files: stdio, Sys: childAttributes()})
	if err != nil {
		return 0, err
	}
	return p.Pid, nil
}

// killAll kills processes, including those started meanwhile. If some remain for too long, it kills
// its own group.
func killAll(remaining func() []process) {
	for deadline := time.Now().Add(killWait); time.Now().Before(deadline); time.Sleep(slowestLook) {
		for _, p := range remaining() {
			_ = p.signal(syscall.SIGKILL)
		}
	}
	signalGroup(os.Getpid(), syscall.SIGKILL)
}

// watchdog is a running watchdog process.
type watchdog struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	reports *bufio.Reader

	pid    int  // of the command
	adopts bool // every process of the daemon is below the watchdog

	exited   chan struct{} // closed when the command has exited
	status   string        // how; set before exited is closed
	ended    chan struct{} // closed when the watchdog reports nothing more
	empty    bool          // no process is left; set before ended is closed
	released chan struct{} // closed before the process id of the watchdog can become another's

	abandoned sync.Once
	late      *time.Timer // set once abandoned
}

// startWatchdog runs the watchdog as the leader of a new process group and waits until it is ready
// to start a command, which receives stdio.
func startWatchdog(ctx context.Context, command []string, stdio [3]*os.File) (*watchdog, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it outlives ctx; it ends with its stdin
	cmd.Env = environ.Of(os.Environ(), nil, nil)    // which what it starts can read
	cmd.SysProcAttr = groupLeader()
	cmd.Stderr, cmd.ExtraFiles = stdio[2], stdio[:]
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	w := &watchdog{
		cmd: cmd, stdin: stdin, reports: bufio.NewReader(stdout),
		exited: make(chan struct{}), ended: make(chan struct{}), released: make(chan struct{}),
	}
	line := ""
	kill := func() { signalGroup(w.group(), syscall.SIGKILL) }                // it has started nothing
	err = w.await(ctx, kill, func() { line, _ = w.reports.ReadString('\n') }) // after an error it is incomplete
	if err == nil && line == watchdogReady {
		return w, nil
	}
	kill()
	_ = cmd.Wait()
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("command %q is not a watchdog: it printed %q and exited: %v", command, line, cmd.ProcessState)
}

// await waits for the watchdog to do something, and calls abort if it takes too long or ctx ends.
func (w *watchdog) await(ctx context.Context, abort, done func()) error {
	ctx, cancel := context.WithTimeoutCause(ctx, watchdogTimeout,
		fmt.Errorf("watchdog %q: not ready within %v", w.cmd.Args, watchdogTimeout))
	defer cancel()
	stop := context.AfterFunc(ctx, abort)
	if done(); !stop() {
		return context.Cause(ctx)
	}
	return nil
}

// start makes the watchdog start a command. After an error, the watchdog has ended.
func (w *watchdog) start(ctx context.Context, o order) error {
	reports := gob.NewDecoder(w.reports)
	var r report
	var failed error
	err := w.await(ctx, w.abandon, func() {
		if failed = gob.NewEncoder(w.stdin).Encode(o); failed == nil {
			failed = reports.Decode(&r)
		}
	})
	switch {
	case err != nil:
	case failed != nil:
		err = fmt.Errorf("the watchdog did not start it: %w", failed)
	case r.Err != "":
		err = errors.New(r.Err)
	default:
		w.pid, w.adopts = r.PID, r.Adopts
		go w.follow(reports)
		return nil
	}
	w.abandon()
	_ = w.cmd.Wait()
	w.late.Stop()
	return err
}

// abandon makes the watchdog end everything, as if this process died, and kills its group if that
// takes too long.
func (w *watchdog) abandon() {
	w.abandoned.Do(func() {
		_ = w.stdin.Close()
		w.late = time.AfterFunc(2*killWait, func() { signalGroup(w.group(), syscall.SIGKILL) })
	})
}

// follow reads the reports of a watchdog with a running command.
func (w *watchdog) follow(reports *gob.Decoder) {
	defer close(w.ended)
	for {
		var r report
		if err := reports.Decode(&r); err != nil {
			break
		}
		if r.Exit != "" {
			w.status = r.Exit
			close(w.exited)
		}
		w.empty = w.empty || r.Empty
	}
	if w.status == "" {
		w.status = "how is not known, because its watchdog was killed"
		close(w.exited)
	}
}

// group returns the id of the watchdog's process group, which is its process id.
func (w *watchdog) group() int { return w.cmd.Process.Pid }

// release kills the watchdog after its last report if it has not ended, and reaps it.
func (w *watchdog) release() {
	close(w.released)
	_ = w.cmd.Process.Kill()
	<-w.ended
	_ = w.cmd.Wait() // also closes stdin and the pipe of reports
}
