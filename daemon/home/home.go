// Package home runs the daemon of a home for the processes of one user. The first process runs it,
// and the others connect to it. When that process ends, another one runs it.
package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"evalctl/daemon"
	"evalctl/daemon/brain"
)

// Files of a home that several processes use.
const (
	lockFile = "mcp.lock" // locked by the process that runs the daemon
	socket   = "mcp.sock" // at which that process accepts connections of the others
)

// patience is how long a process waits while another one starts or ends the daemon.
const patience = 30 * time.Second

// Home connects to the daemon of a home. A home has at most one daemon, which runs in one of the
// processes that use the home. When that process ends, the next one that connects runs it.
//
// The processes meet at a socket in the home, so the permissions of the folder decide who may
// connect, and no token or port has to be agreed on.
type Home struct {
	// dir is the home. If it is empty, the daemon keeps its data in memory, for this process alone.
	dir string
	// config opens the models of a daemon.
	config func() (daemon.Config, error)
	// prepare is called when this process has started the daemon, before anything else connects.
	prepare func(ctx context.Context, dial DialFunc) error
	logger  *slog.Logger

	// ending is closed by Close. It also ends the wait for another process.
	ending chan struct{}

	mu  sync.Mutex
	own *ownDaemon // nil while this process does not run the daemon
}

// New returns the home in folder dir. If dir is empty, the daemon is for this process alone. config
// opens the models of a daemon, and is called when this process starts it. Then prepare is called,
// before anything else connects. No daemon is started before the first Dial.
func New(dir string, config func() (daemon.Config, error),
	prepare func(context.Context, DialFunc) error, logger *slog.Logger) *Home {
	return &Home{dir: dir, config: config, prepare: prepare, logger: logger, ending: make(chan struct{})}
}

// DialFunc opens a connection to the daemon. The address is not used.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// ownDaemon is a daemon that this process runs.
type ownDaemon struct {
	lobby  *lobby
	stop   context.CancelFunc
	served chan error
}

// Dial connects to the daemon of the home, and starts it if no process runs it.
func (h *Home) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var unreachable error
		select {
		case <-h.ending:
			return nil, net.ErrClosed
		default:
		}
		if h.own != nil {
			return h.own.lobby.dial(ctx)
		}
		if h.dir != "" {
			var conn net.Conn
			if conn, unreachable = new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.dir, socket)); unreachable == nil {
				return conn, nil
			}
		}
		switch started, err := h.start(ctx); {
		case err != nil:
			return nil, err
		case started:
			continue
		case errors.Is(unreachable, syscall.EINVAL): // the path is too long
			return nil, h.inUse(unreachable)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-h.ending:
		case <-ctx.Done():
			return nil, h.inUse(fmt.Errorf("no answer for %v: %w", patience, unreachable))
		}
	}
}

// inUse returns the error for a home that another process has locked without being reachable.
func (h *Home) inUse(reason error) error {
	return fmt.Errorf("home %s is in use by another evalctl serve mcp, which cannot be reached: %w: "+
		"end it, or choose another home", h.dir, reason)
}

// start runs the daemon in this process. It returns false if another process has locked the home.
func (h *Home) start(ctx context.Context) (started bool, err error) {
	unlock, err := h.lock()
	if unlock == nil || err != nil {
		return false, err
	}
	config, err := h.config()
	if err != nil {
		return false, errors.Join(err, unlock())
	}
	d, err := daemon.New(ctx, config)
	if err != nil {
		if errors.Is(err, brain.ErrInUse) {
			err = fmt.Errorf("%w, or reach that daemon with --endpoint", err)
		}
		return false, errors.Join(err, unlock())
	}
	own := &ownDaemon{lobby: newLobby(), served: make(chan error, 1)}
	// The daemon ends in Close, not with the request that started it.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	own.stop = stop
	go func() {
		own.served <- errors.Join(d.Serve(serving, own.lobby), unlock())
	}()
	if err := h.prepare(ctx, own.lobby.dialFunc()); err != nil {
		return false, errors.Join(err, own.close())
	}
	if l := h.listen(ctx); l != nil {
		own.lobby.share(l)
	}
	h.own = own
	return true, nil
}

// lock locks the home and returns the function that unlocks it, or nil if another process has
// locked it.
func (h *Home) lock() (unlock func() error, err error) {
	if h.dir == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the home: %w", err)
	}
	lock := flock.New(filepath.Join(h.dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil || !locked {
		if err != nil {
			err = fmt.Errorf("lock the home %s: %w", h.dir, err)
		}
		return nil, errors.Join(err, lock.Close())
	}
	return lock.Close, nil
}

// listen returns the listener of the home's socket, nil if there can be none. The caller must have
// locked the home.
func (h *Home) listen(ctx context.Context) net.Listener {
	if h.dir == "" {
		return nil
	}
	path := filepath.Join(h.dir, socket)
	err := os.Remove(path) // a killed process leaves it
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "unix", path); err == nil {
			if err = os.Chmod(path, 0o600); err == nil {
				return l
			}
			l.Close()
		}
	}
	h.logger.Warn("other processes cannot use this home while this one runs", "home", h.dir, "error", err)
	return nil
}

// Close ends the daemon if this process runs it, after the running requests, including those of
// other processes. Later connections fail. It must be called once.
func (h *Home) Close() error {
	close(h.ending)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own == nil {
		return nil
	}
	own := h.own
	h.own = nil
	return own.close()
}

func (d *ownDaemon) close() error {
	d.stop()
	return <-d.served
}
