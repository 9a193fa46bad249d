package launch

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"evalctl/internal/redact"
)

// A log keeps the first keptHead and the last keptTail bytes of a daemon's output. Up to twice
// keptTail may follow the head before the middle is dropped, so a log has at most 16 MiB and a
// line.
const (
	keptHead = 8 << 20
	keptTail = 4 << 20
)

// dropMark marks dropped bytes in a log. Its length does not depend on their number.
const (
	dropMark    = "\nevalctl: %19d bytes of the log were dropped here\n"
	dropMarkLen = int64(len(dropMark) - len("%19d") + 19)
)

// drainWait is how long output is read after a daemon's processes have ended. Only a process that
// left the daemon's groups can still write then.
const drainWait = 2 * time.Second

// capture copies a daemon's output from a pipe to the log, and limits the size of the log.
//
// The daemon does not write to the file directly, because its size could not be limited then.
// Output is read until the daemon's processes have ended, so the last lines are not lost. If this
// process is killed, the log contains everything read so far, including the last lines; see
// compact. The watchdog then kills the daemon.
type capture struct {
	read    *os.File
	secrets *redact.Redactor
	drained chan struct{}

	mu      sync.Mutex
	file    *os.File
	start   int64 // where the part of this daemon begins in the file
	end     int64
	head    int64
	tail    int64
	dropped int64
	lost    int64 // what could not be written
	err     error // why
}

// newCapture starts copying to the end of the log, with secrets redacted. It returns the file that
// the daemon writes to, which the caller closes once the daemon has started.
func newCapture(log *os.File, secrets []redact.Secret) (*capture, *os.File, error) {
	info, err := log.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	c := &capture{
		read: read, secrets: redact.New(secrets...), drained: make(chan struct{}), file: log, start: info.Size(), end: info.Size(),
		head: keptHead, tail: keptTail,
	}
	go c.drain()
	return c, write, nil
}

// drain reads to the end of the pipe. It continues even if the log cannot be written, because a
// full pipe would block the daemon.
func (c *capture) drain() {
	defer close(c.drained)
	defer c.read.Close()
	buf, clean := make([]byte, 64<<10), c.secrets.Reader(c.read)
	for {
		n, err := clean.Read(buf)
		c.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (c *capture) add(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.file.WriteAt(data, c.end)
	c.end += int64(n)
	if err == nil && c.end >= c.start+c.head+dropMarkLen+2*c.tail {
		err = c.compact()
	}
	if err != nil {
		c.lost += int64(len(data) - n)
		c.err = err
	}
}

// compact drops the middle of the log. Before cutting the file, it copies the tail to a place that
// does not overlap it, so the file always contains the complete last lines.
func (c *capture) compact() error {
	mark := c.start + c.head
	middle := mark // what follows the head, without the mark
	if c.dropped > 0 {
		middle += dropMarkLen
	}
	from, to := c.end-c.tail, mark+dropMarkLen
	if _, err := io.Copy(io.NewOffsetWriter(c.file, to), io.NewSectionReader(c.file, from, c.tail)); err != nil {
		return err
	}
	c.dropped += from - middle
	if _, err := c.file.WriteAt(fmt.Appendf(nil, dropMark, c.dropped), mark); err != nil {
		return err
	}
	c.end = to + c.tail
	return c.file.Truncate(c.end)
}

// finish ends the copying after the daemon's processes have ended. The log is then complete.
func (c *capture) finish() {
	select {
	case <-c.drained:
	case <-time.After(drainWait):
		_ = c.read.SetReadDeadline(time.Now()) // ends drain
		<-c.drained
	}
}

// beginning returns the first output, as far as it is never dropped.
func (c *capture) beginning() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.section(c.start, min(c.end, c.start+c.head))
}

// ending returns the last output, up to tailBytes.
func (c *capture) ending() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.section(max(c.start, c.end-tailBytes), c.end)
}

func (c *capture) section(from, to int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(c.file, from, to-from))
}

// problem returns why the log is incomplete, or nil.
func (c *capture) problem() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("%d bytes of the log could not be written: %w", c.lost, c.err)
}
