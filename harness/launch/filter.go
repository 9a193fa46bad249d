package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Filter is a process that is used through its standard input and output. It is a process group like
// a Daemon, and what it writes to its standard error is kept as the log of a Daemon is.
type Filter struct {
	// In is the standard input, Out the standard output. The caller closes both after Stop. Reads of
	// Out fail once it is closed.
	In, Out *os.File

	d *Daemon
}

// StartFilter starts a command that reads requests and writes replies. Placeholders in the command are
// not replaced, and no variables are set but those of the profile. ctx bounds only the start. The
// caller must call Stop.
func StartFilter(ctx context.Context, p Profile, o Options) (*Filter, error) {
	if !supported {
		return nil, fmt.Errorf("start %s on %s: %w", p.Command[0], runtime.GOOS, errors.ErrUnsupported)
	}
	o.what = "process"
	log, err := createLog(o.LogPath)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Command[0], err)
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.Command[0], err), log.Close())
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.Command[0], err), in.Close(), log.Close())
	}
	defer childOut.Close()
	d, err := spawn(ctx, p.Command, p, o, log, childIn, childOut, p.Env)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.Command[0], err), in.Close(), out.Close(), log.Close())
	}
	go d.closeLog()
	return &Filter{In: in, Out: out, d: d}, nil
}

// Done returns a channel that is closed when the process has ended and no process of its group is
// left.
func (f *Filter) Done() <-chan struct{} { return f.d.Done() }

// Err returns why the process ended by itself: its exit status and the last lines of its standard
// error. It returns nil while it runs, and if Stop ended it.
func (f *Filter) Err() error { return f.d.Err() }

// Escaped returns what Daemon.Escaped does.
func (f *Filter) Escaped() (names []string, known bool) { return f.d.Escaped() }

// Isolated returns what Daemon.Isolated does.
func (f *Filter) Isolated(err error) error { return f.d.Isolated(err) }

// LastLines returns the last lines of the standard error of a process that runs.
func (f *Filter) LastLines() string { return f.d.LastLines() }

// Stop ends the process group as Daemon.Stop does.
func (f *Filter) Stop() error { return f.d.Stop() }

// Kill ends the process group at once.
func (f *Filter) Kill() error { return f.d.stop(0) }
