package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Filter is a process used through its standard input and output. It is a process group like a
// Daemon, and its standard error is logged like a Daemon's output.
type Filter struct {
	// In is the standard input, and Out the standard output. Reads of Out fail after Close.
	In, Out *os.File

	d *Daemon
}

// StartFilter starts a command that reads requests and writes replies. Placeholders in the command
// are not replaced, and only the profile's variables are set. ctx applies only to the start. The
// caller must call Close.
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

// Err returns why the process exited by itself: its exit status and the end of its standard error.
// It is nil while it runs, and if Close ended it.
func (f *Filter) Err() error { return f.d.Err() }

// Escaped is Daemon.Escaped.
func (f *Filter) Escaped() (names []string, known bool) { return f.d.Escaped() }

// Isolated is Daemon.Isolated.
func (f *Filter) Isolated(err error) error { return f.d.Isolated(err) }

// LastLines returns the end of a running process's standard error.
func (f *Filter) LastLines() string { return f.d.LastLines() }

// Close closes the standard input, at which the process should end, ends the process group like
// Daemon.Stop if it has not ended after wait, and closes the standard output.
func (f *Filter) Close(wait time.Duration) error {
	_ = f.In.Close()
	select {
	case <-f.Done():
	case <-time.After(wait):
	}
	err := f.d.Stop()
	_ = f.Out.Close()
	return err
}

// Kill ends the process group at once.
func (f *Filter) Kill() error { return f.d.stop(0) }
