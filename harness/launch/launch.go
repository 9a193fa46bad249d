// Package launch starts, watches and stops the daemon process of any SDK.
//
// A daemon is a whole process group: the command, often a wrapper such as npx
// or sh, and everything below it. Nothing of the group outlives Stop, a failed
// Start, or the death of the launching process itself, which a guard process
// looks after (see Guard). The command may make a group of its own, as setsid and
// timeout do; a process below it that leaves both groups is out of reach.
//
// Linux and macOS are supported; elsewhere Start answers errors.ErrUnsupported.
package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// DefaultHealthTimeout is the longest that Start waits for a healthy daemon
// unless Options says otherwise.
const DefaultHealthTimeout = 30 * time.Second

const (
	loopback     = "127.0.0.1"
	portAttempts = 3
)

// errPortLost tells that another process got hold of the port picked for ours.
var errPortLost = errors.New("the port was taken by another process")

// Options of Start. Only LogPath is required.
type Options struct {
	Port          int           // 0 picks a free one
	Home          string        // value of {home} and SVC_HOME
	LogPath       string        // gets the daemon's output; emptied first, made with its directory
	HealthTimeout time.Duration // 0 means DefaultHealthTimeout

	// Guard is a command that calls the function Guard. Empty means no guard:
	// then only Linux kills the daemon when the launching process dies, and
	// only the daemon's first process.
	Guard []string
}

// Start runs the daemon on a loopback port and waits until GET /healthz says
// that it is healthy. ctx bounds the start only; the caller must Stop the
// daemon. After an error nothing is left running.
//
// Errors carry the daemon's exit status or last answer, and the last lines of
// its log. When ctx ends first, the error is ctx's cause. With Port 0 a start
// is tried again when another process took the port in between.
func Start(ctx context.Context, p Profile, o Options) (*Daemon, error) {
	if !supported {
		return nil, fmt.Errorf("start daemon on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	if len(p.Command) == 0 {
		return nil, fmt.Errorf("start daemon: %w", ErrNotConfigured)
	}
	if !p.takesPort() && o.Port == 0 {
		return nil, fmt.Errorf("start daemon %s: %w: it has no {addr} or {port}, so its port must be given",
			p.Command[0], ErrNotConfigured)
	}
	if o.HealthTimeout == 0 {
		o.HealthTimeout = DefaultHealthTimeout
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
		if !errors.Is(err, errPortLost) || o.Port != 0 || attempt == portAttempts {
			return nil, errors.Join(fmt.Errorf("start daemon %s: %w", p.Command[0], err), log.Close())
		}
	}
}

func startOnce(ctx context.Context, p Profile, o Options, log *os.File) (*Daemon, error) {
	port := o.Port
	if port != 0 || !p.Announces {
		var err error
		if port, err = freePort(ctx, o.Port); err != nil {
			return nil, err
		}
	}
	d, err := spawn(ctx, p, o, port, log)
	if err != nil {
		return nil, err
	}
	err = d.awaitHealthy(ctx, p, port, o.HealthTimeout)
	if err == nil {
		return d, nil
	}
	left := d.end(0)
	switch {
	case errors.Is(err, errEnded):
		err = d.err
		if _, taken := freePort(ctx, port); errors.Is(taken, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: %w", errPortLost, err)
		}
	case errors.Is(err, errNotHealthy), errors.Is(err, errPortLost):
		err = withLog(err, d.log)
	}
	return nil, errors.Join(err, left)
}

// freePort checks that a port of the loopback address is free, or picks one.
func freePort(ctx context.Context, port int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return 0, fmt.Errorf("port %d cannot be used, choose another or 0: %w", port, err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
