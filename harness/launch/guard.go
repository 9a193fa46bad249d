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
	"syscall"
	"time"
)

const (
	guardReady   = "guarding\n" // what a guard prints once it watches
	guardTimeout = 10 * time.Second
)

// Guard waits for the end of stdin and then kills its own process group, and
// itself with it. Start runs it (Options.Guard) before the daemon, as leader
// of the group that the daemon is then born into, and keeps the other end of
// stdin open: when the launching process dies, however it dies, the pipe
// closes and the daemon is gone. Because the group exists before the daemon
// does, there is no moment at which a daemon is not guarded.
//
// A number on stdin is one more group to kill, for a command that makes a
// group of its own. Guard prints one line to stdout when it watches. It
// returns only with an error.
func Guard(stdin io.Reader, stdout io.Writer) error {
	if !leadsGroup() {
		return errors.New("guard: it does not lead its process group; it is started by evalctl, not by hand")
	}
	// A stop asks the whole group by SIGTERM first; the guard stays for SIGKILL.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if _, err := io.WriteString(stdout, guardReady); err != nil {
		return fmt.Errorf("guard: report ready: %w", err)
	}
	var groups []int
	// A read error leaves the guard as blind as the end of the pipe does.
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		if group, err := strconv.Atoi(lines.Text()); err == nil && group > 1 {
			groups = append(groups, group)
		}
	}
	signalGroups(append(groups, os.Getpid()), syscall.SIGKILL)
	return errors.New("guard: it outlived its own SIGKILL")
}

// guard is the launching process's hold on a guard process. A nil *guard is
// no guard.
type guard struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// startGuard runs the guard as leader of a new process group and waits until
// it watches.
func startGuard(ctx context.Context, command []string, log io.Writer) (*guard, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, guardTimeout, fmt.Errorf("guard %q: not ready within %v", command, guardTimeout))
	defer cancel()
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it outlives ctx, and ends by its stdin
	cmd.SysProcAttr = groupLeader()
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	g := &guard{cmd: cmd, stdin: stdin}
	stop := context.AfterFunc(ctx, func() { signalGroups([]int{g.group()}, syscall.SIGKILL) })
	line, _ := bufio.NewReader(stdout).ReadString('\n') // whatever is wrong, it is not the line
	if !stop() {
		g.release()
		return nil, context.Cause(ctx)
	}
	if line != guardReady {
		g.release()
		return nil, fmt.Errorf("guard %q is not one: it answered %q and ended: %v", command, line, cmd.ProcessState)
	}
	return g, nil
}

// group is the id of the guard's process group, 0 without a guard.
func (g *guard) group() int {
	if g == nil {
		return 0
	}
	return g.cmd.Process.Pid
}

// watch adds a group to those that the guard kills.
func (g *guard) watch(group int) {
	// A guard that is gone cannot be told: its group has been killed.
	_, _ = fmt.Fprintln(g.stdin, group)
}

// exclude takes the guard out of a list of processes.
func (g *guard) exclude(pids []int) []int {
	var others []int
	for _, pid := range pids {
		if g == nil || pid != g.cmd.Process.Pid {
			others = append(others, pid)
		}
	}
	return others
}

// release ends the guard and whatever is left of its group, and reaps it.
func (g *guard) release() {
	if g == nil {
		return
	}
	signalGroups([]int{g.group()}, syscall.SIGKILL)
	_ = g.cmd.Wait() // also closes stdin
}
