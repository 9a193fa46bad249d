package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Pipes are the standard input and output of a process that StartPiped has started.
type Pipes struct {
	In  *os.File // what is written to it, the process reads
	Out *os.File // what the process writes

	stdin, stdout *os.File // the process's ends
}

// Close closes this side of the pipes.
func (p *Pipes) Close() { p.In.Close(); p.Out.Close() }

func newPipes() (*Pipes, error) {
	p := &Pipes{}
	var err error
	if p.stdin, p.In, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.Out, p.stdout, err = os.Pipe(); err != nil {
		p.stdin.Close()
		p.In.Close()
		return nil, err
	}
	return p, nil
}

// StartPiped starts a process that is used over its standard input and output, and does not wait for
// it. Its standard error goes to the log. All else is as in Start, but for the port, which it does
// not have: Options.Port and HealthTimeout are not used. The caller must call Stop, and close the
// pipes.
func StartPiped(ctx context.Context, p Profile, o Options) (*Daemon, *Pipes, error) {
	if !supported {
		return nil, nil, fmt.Errorf("start a process on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	if len(p.Command) == 0 {
		return nil, nil, fmt.Errorf("start a process: %w", errNotConfigured)
	}
	fail := func(err error) error { return fmt.Errorf("start %s: %w", p.Command[0], err) }
	log, err := createLog(o.LogPath)
	if err != nil {
		return nil, nil, fail(err)
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, nil, fail(errors.Join(err, log.Close()))
	}
	d, err := spawn(ctx, p, o, 0, log, pipes)
	pipes.stdin.Close() // the process has its own
	pipes.stdout.Close()
	if err != nil {
		pipes.Close()
		return nil, nil, fail(errors.Join(err, log.Close()))
	}
	go d.closeLog()
	return d, pipes, nil
}

// CheckPiped returns an error if StartPiped could not succeed whatever the process does. It starts
// nothing.
func CheckPiped(p Profile) error {
	if len(p.Command) == 0 {
		return errNotConfigured
	}
	return checkProgram(p)
}
