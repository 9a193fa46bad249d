package extern

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxRestarts limits how often a process is restarted in a run.
	maxRestarts = 10
	// maxLosses is how often a process may end for an unknown cause while an answer is being scored
	// before the answer is left unscored.
	maxLosses = 2
	// handshakeTimeout limits the time from the start of a process to its handshake. Tests change
	// it.
	handshakeTimeout = time.Minute
)

// command is the transport to a process, which is restarted when it ends.
type command struct {
	words   []string
	options Options

	mu       sync.Mutex // held while a process is started
	process  *process   // nil before the first start and after close
	first    []byte     // the reply to the first handshake
	restarts int
	closed   bool
}

func (c *command) hello(ctx context.Context) ([]byte, error) {
	if _, err := c.running(ctx); err != nil {
		return nil, err
	}
	return c.first, nil
}

func (c *command) score(ctx context.Context, id int64, request []byte) ([]byte, error) {
	for losses := 0; ; {
		p, err := c.running(ctx)
		if err != nil {
			return nil, err
		}
		reply, err := p.exchange(ctx, id, request, c.options.Timeout)
		lost, wasLost := errors.AsType[*lostError](err)
		switch {
		case err == nil:
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !wasLost:
			return nil, err
		case lost.blameless:
			continue
		}
		if losses++; losses == maxLosses {
			return nil, &unscoredError{fmt.Errorf("the scorer ended %d times while it had this answer, the last time: %w", losses, lost.why)}
		}
	}
}

// running returns a process that has completed its handshake.
func (c *command) running(ctx context.Context) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the scorer is closed")
	}
	var ended error
	if c.process != nil {
		select {
		case <-c.process.ended:
			ended = c.process.why
		default:
			return c.process, nil
		}
		if c.restarts++; c.restarts > maxRestarts {
			return nil, fmt.Errorf("the scorer ended %d times, the last time: %w; correct it, and resume", c.restarts, ended)
		}
		if err := c.process.close(); err != nil {
			return nil, err
		}
	}
	p, reply, err := c.start(ctx)
	c.process = p
	if err != nil {
		return nil, err
	}
	if c.first == nil {
		c.first = bytes.Clone(reply)
	}
	if !bytes.Equal(reply, c.first) {
		return nil, fmt.Errorf("the scorer was started again and now describes itself as %s, and before as %s",
			short(string(reply)), short(string(c.first)))
	}
	return p, nil
}

// start starts a process and performs the handshake. The process is nil if it could not be started.
func (c *command) start(ctx context.Context) (*process, []byte, error) {
	p, err := startProcess(ctx, c.words, c.options)
	if err != nil {
		return nil, nil, err
	}
	reply, err := p.hello(ctx, handshakeTimeout)
	return p, reply, err
}

func (c *command) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.process
	if c.closed = true; p == nil {
		return nil
	}
	c.process = nil
	return p.close()
}
