package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const watchdogReady = "watching\n" // what a watchdog prints when it is ready

// watchdogTimeout bounds the start of a watchdog. Tests raise it.
var watchdogTimeout = 10 * time.Second

// Watchdog waits for the end of stdin and then kills its own process group, including itself. Start
// runs it (Options.Watchdog) before the daemon, as the leader of the group in which the daemon is
// started, and keeps the other end of stdin open. When the launching process dies in any way, the
// pipe closes and the daemon is killed. The group exists before the daemon does, so the daemon is
// never unwatched.
//
// A number on stdin is the id of another group to kill, for a command that creates a group of its
// own. Another line is the variable that the daemon's processes have in their environment, also those
// that have left both groups. Watchdog prints one line to stdout when it is ready. It returns only with an error.
func Watchdog(stdin io.Reader, stdout io.Writer) error {
	if !leadsGroup() {
		return errors.New("watchdog: it does not lead its process group; only evalctl can start it")
	}
	// Stop sends SIGTERM to the whole group first. The watchdog stays until SIGKILL.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if _, err := io.WriteString(stdout, watchdogReady); err != nil {
		return fmt.Errorf("watchdog: report ready: %w", err)
	}
	var groups []int
	mark := ""
	// A read error is treated like the end of the pipe.
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		if group, err := strconv.Atoi(lines.Text()); err == nil && group > 1 {
			groups = append(groups, group)
		} else if strings.HasPrefix(lines.Text(), markPrefix) {
			mark = lines.Text()
		}
	}
	_, strays := live(groups, mark)
	for _, pid := range strays {
		_ = signalProcess(pid, syscall.SIGKILL)
	}
	signalGroups(append(groups, os.Getpid()), syscall.SIGKILL)
	return errors.New("watchdog: it survived its own SIGKILL")
}

// watchdog is a running watchdog process. The methods of a nil *watchdog do nothing.
type watchdog struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// startWatchdog runs the watchdog as the leader of a new process group and waits until it is ready.
func startWatchdog(ctx context.Context, command []string, log io.Writer) (*watchdog, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, watchdogTimeout,
		fmt.Errorf("watchdog %q: not ready within %v", command, watchdogTimeout))
	defer cancel()
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it outlives ctx; it ends with its stdin
	cmd.SysProcAttr = groupLeader()
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	if err := startChild(cmd); err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	w := &watchdog{cmd: cmd, stdin: stdin}
	stop := context.AfterFunc(ctx, func() { signalGroups([]int{w.group()}, syscall.SIGKILL) })
	line, _ := bufio.NewReader(stdout).ReadString('\n') // after an error the line is incomplete
	if !stop() {
		w.release()
		return nil, context.Cause(ctx)
	}
	if line != watchdogReady {
		w.release()
		return nil, fmt.Errorf("command %q is not a watchdog: it printed %q and exited: %v",
			command, line, cmd.ProcessState)
	}
	return w, nil
}

// group returns the id of the watchdog's process group, or 0 without a watchdog.
func (w *watchdog) group() int {
	if w == nil {
		return 0
	}
	return w.cmd.Process.Pid
}

// watch adds a group, and the processes with a mark, to those that the watchdog kills.
func (w *watchdog) watch(group int, mark string) {
	// The write fails only if the watchdog has ended, and then its group has been killed.
	_, _ = fmt.Fprintf(w.stdin, "%d\n%s\n", group, mark)
}

// exclude returns a list of processes without the watchdog.
func (w *watchdog) exclude(pids []int) []int {
	var others []int
	for _, pid := range pids {
		if w == nil || pid != w.cmd.Process.Pid {
			others = append(others, pid)
		}
	}
	return others
}

// release kills the watchdog and the remaining processes of its group, and reaps the watchdog.
func (w *watchdog) release() {
	if w == nil {
		return
	}
	signalGroups([]int{w.group()}, syscall.SIGKILL)
	_ = w.cmd.Wait() // also closes stdin
	forgetChild(w.group())
}
