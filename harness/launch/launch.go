// Package launch starts, watches and stops the daemon process of any SDK.
//
// A daemon consists of the command, which is often a wrapper such as npx or sh, and all processes
// below it. None outlives Stop, a failed Start, or the launching process: the daemon is started
// below a watchdog process, which ends it when the launching process dies (see Watchdog). On Linux,
// the watchdog is a subreaper, so this holds for every process, whatever it does to its group, its
// session, its environment and its parents. On macOS it holds for the process group, and for the
// group of a command that creates its own, as timeout does.
//
// Linux and macOS are supported. On other systems Start returns errors.ErrUnsupported.
package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"evalctl/internal/redact"
)

// defaultHealthTimeout is the default for Options.HealthTimeout.
const defaultHealthTimeout = 30 * time.Second

const (
	loopback     = "127.0.0.1"
	portAttempts = 3
)

// errPortTaken means that another process took the daemon's port.
var errPortTaken = errors.New("the port was taken by another process")

// Options configures Start. LogPath and Watchdog are required.
type Options struct {
	Port    int    // 0 picks a free port
	Home    string // value of {home} and SVC_HOME
	LogPath string // file for the daemon's output; created with its directory, or truncated
	// UserHome is the home folder of the daemon's user, with a folder for temporary files. It is
	// created. If empty, the daemon uses the caller's, unless SelfContained is set.
	UserHome string
	// SelfContained makes the daemon keep everything in Home: Home is also its user's home, and
	// contains the working folder of a command without Profile.Dir.
	SelfContained bool
	// Downloads is a folder for what package managers download, where the caller's user has none.
	// Without it, each process of a program with a home of its own downloads its packages again.
	Downloads     string
	HealthTimeout time.Duration // how long Start waits for a healthy daemon; 0 means 30 seconds

	Watchdog []string // a command that calls the function Watchdog

	// Secrets are redacted in the daemon's log.
	Secrets []redact.Secret `json:"-"`

	// Alive checks the health of the daemon at a URL. If nil, GET /healthz is used.
	Alive func(ctx context.Context, url string) error `json:"-"`

	// what names the process in messages, by default daemon.
	what string
}

// Start starts the daemon on a loopback port and waits until GET /healthz, or Options.Alive,
// reports that it is healthy. ctx applies only to the start. The caller must call Stop. If Start
// returns an error, no process is left running.
//
// Errors contain the daemon's exit status or last response, and the end of its log. If ctx ends
// first, the error is its cause. With Port 0, Start retries if another process took the chosen
// port.
func Start(ctx context.Context, p Profile, o Options) (*Daemon, error) {
	if !supported {
		return nil, fmt.Errorf("start daemon on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	if len(p.Command) == 0 {
		return nil, fmt.Errorf("start daemon: %w", errNotConfigured)
	}
	if !p.takesPort() && o.Port == 0 {
		return nil, fmt.Errorf("start daemon %s: %w: the command has no {addr} or {port}: add one, or give the port that it uses with --port",
			p.Command[0], errNotConfigured)
	}
	if o.HealthTimeout == 0 {
		o.HealthTimeout = defaultHealthTimeout
	}
	log, err := createLog(o.LogPath)
	if err != nil {
		return nil, fmt.Errorf("start daemon %s: %w", p.Command[0], err)
	}
	for attempt := 1; ; attempt++ {
		d, err := startOnce(ctx, p, o, log)
		if err == nil {
			go d.closeLog()
			return d, nil
		}
		if !errors.Is(err, errPortTaken) || o.Port != 0 || attempt == portAttempts {
			return nil, errors.Join(fmt.Errorf("start daemon %s: %w", p.Command[0], err), log.Close())
		}
	}
}

// Check returns an error if Start certainly cannot succeed: the program is missing, it cannot be
// given a port, or the port in o is in use. It starts nothing.
func Check(p Profile, o Options) error {
	if len(p.Command) == 0 {
		return errNotConfigured
	}
	if !p.takesPort() && o.Port == 0 {
		return fmt.Errorf("daemon %s: %w: the command has no {addr} or {port}: add one, or give the port that it uses with --port",
			p.Command[0], errNotConfigured)
	}
	if err := checkProgram(p); err != nil || o.Port == 0 {
		return err
	}
	_, err := freePort(context.Background(), o.Port) // which does not block
	return err
}

// CheckFilter returns an error if StartFilter certainly cannot succeed. It starts nothing.
func CheckFilter(p Profile) error {
	if len(p.Command) == 0 {
		return errNotConfigured
	}
	return checkProgram(p)
}

// checkProgram returns an error if the command's program is missing.
func checkProgram(p Profile) error {
	program := p.Command[0]
	if p.Dir != "" {
		if _, err := os.Stat(p.Dir); err != nil {
			return fmt.Errorf("daemon %s: its working directory: %w", program, err)
		}
	}
	if p.Dir != "" && filepath.Base(program) != program && !filepath.IsAbs(program) {
		program = filepath.Join(p.Dir, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("daemon: %w: %w", errNotConfigured, err)
	}
	return nil
}

func startOnce(ctx context.Context, p Profile, o Options, log *os.File) (*Daemon, error) {
	port := o.Port
	if port != 0 || !p.Announces {
		var err error
		if port, err = freePort(ctx, o.Port); err != nil {
			return nil, err
		}
	}
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	d, err := spawn(ctx, p.expand(port, o.Home), p, o, log, stdin, nil, p.environment(port, o.Home))
	if err != nil {
		return nil, err
	}
	err = d.awaitHealthy(ctx, p, port, o)
	if err == nil {
		return d, nil
	}
	left := d.stop(0)
	switch {
	case errors.Is(err, errExited):
		err = d.exitErr
		// A process that held the port only briefly shows only in the daemon's output.
		if _, taken := freePort(ctx, port); errors.Is(taken, syscall.EADDRINUSE) || d.log.saysInUse() {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
	case errors.Is(err, errNotHealthy), errors.Is(err, errPortTaken):
		err = withLog(err, d.log)
	}
	return nil, errors.Join(d.Isolated(err), left)
}

// freePort checks that a loopback port is free, or returns a free one for port 0.
func freePort(ctx context.Context, port int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return 0, fmt.Errorf("port %d cannot be used, choose another one or 0: %w", port, err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
