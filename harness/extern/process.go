package extern

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"evalctl/harness/launch"
	"evalctl/internal/redact"
)

const (
	// exitWait is how long a process may take to end after its standard input or output is closed.
	exitWait = 2 * time.Second
	// helloID is the id under which the reply to the handshake is awaited.
	helloID = 0
)

// process is a running scorer. Replies may arrive in any order.
type process struct {
	filter *launch.Filter
	out    io.Reader // its standard output without secrets
	dir    string    // has the log

	mu      sync.Mutex
	waiting map[int64]chan []byte
	written chan struct{} // closed once the last request is written, nil before the first
	greeted bool

	endOnce sync.Once
	ended   chan struct{}
	why     error // set before ended is closed
	guilty  int64 // the request that it was ended for, -1 if that is not known
	read    chan struct{}
}

// lostError means that a process ended before it replied. blameless is set if another request was
// the cause.
type lostError struct {
	why       error
	blameless bool
}

func (e *lostError) Error() string { return e.why.Error() }

func startProcess(ctx context.Context, words []string, o Options) (*process, error) {
	dir, err := os.MkdirTemp("", "evalctl-scorer-")
	if err != nil {
		return nil, err
	}
	filter, err := launch.StartFilter(ctx, launch.Profile{Command: words, Passed: o.Passed},
		launch.Options{LogPath: filepath.Join(dir, "stderr.log"), Watchdog: o.Watchdog, Secrets: o.Secrets})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &process{
		filter: filter, out: redact.New(o.Secrets...).Reader(filter.Out), dir: dir, waiting: map[int64]chan []byte{}, ended: make(chan struct{}), read: make(chan struct{}),
	}
	go p.readAll()
	return p, nil
}

// hello performs the handshake.
func (p *process) hello(ctx context.Context, timeout time.Duration) ([]byte, error) {
	reply, err := p.exchange(ctx, helloID, []byte(helloRequest), timeout)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return nil, lost.why
	}
	return reply, err
}

// exchange sends a request and waits for its reply. The process has timeout for this request and
// for each unanswered request before it. It is ended if it takes longer.
func (p *process) exchange(ctx context.Context, id int64, request []byte, timeout time.Duration) ([]byte, error) {
	reply, written := make(chan []byte, 1), make(chan struct{})
	p.mu.Lock()
	p.waiting[id] = reply
	limit := timeout * time.Duration(len(p.waiting))
	before := p.written
	p.written = written
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	go func() {
		defer close(written)
		if before != nil {
			<-before // or a request could wait for one that its limit does not count
		}
		p.write(request, limit)
	}()
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		err := fmt.Errorf("the scorer gave no reply within %v", limit)
		p.end(err, id)
		<-p.ended
		return nil, &unscoredError{fmt.Errorf("%w; %s", err, p.filter.LastLines())}
	case <-p.ended:
		select {
		case r := <-reply:
			return r, nil
		default:
		}
		return nil, &lostError{why: p.why, blameless: p.guilty >= 0 && p.guilty != id}
	}
}

// write writes a line. It ignores errors: a process that does not read does not reply either.
func (p *process) write(line []byte, limit time.Duration) {
	_ = p.filter.In.SetWriteDeadline(time.Now().Add(limit))
	_, _ = p.filter.In.Write(append(line[:len(line):len(line)], '\n'))
}

// readAll delivers replies until the process ends or writes an invalid line.
func (p *process) readAll() {
	defer close(p.read)
	lines := bufio.NewScanner(p.out)
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) > 0 && !p.deliver(line) {
			p.end(fmt.Errorf("it wrote a line that is not a reply to a request: %s; a scorer writes anything else to its standard error",
				short(string(line))), -1)
			return
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		p.end(fmt.Errorf("it wrote a line of more than %d bytes", maxReply), -1)
		return
	}
	select {
	case <-p.filter.Done():
	case <-time.After(exitWait):
	}
	err := p.filter.Err()
	if err == nil {
		err = errors.New("it closed its standard output")
	}
	p.end(err, -1)
}

// deliver passes a reply to the request that waits for it. The first reply is for the handshake.
func (p *process) deliver(line []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := int64(helloID)
	if p.greeted {
		id = replyID(line)
	}
	p.greeted = true
	reply := p.waiting[id]
	delete(p.waiting, id)
	if reply == nil {
		return false
	}
	reply <- bytes.Clone(line)
	return true
}

// end ends the process because of the request guilty, -1 if unknown.
func (p *process) end(why error, guilty int64) {
	p.endOnce.Do(func() {
		p.why, p.guilty = why, guilty
		close(p.ended)
		_ = p.filter.Kill() // close reports processes that are left
	})
}

// close closes the standard input so that the process ends, and kills it if it does not.
func (p *process) close() error {
	err := p.filter.Close(exitWait)
	<-p.read
	return errors.Join(err, os.RemoveAll(p.dir))
}
