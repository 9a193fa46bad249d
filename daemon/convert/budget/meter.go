package budget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

var (
	// ErrMemory means that a file needs more memory than its conversion may use.
	ErrMemory = errors.New("needs more memory than one conversion may use")
	// ErrWork means that a file takes more steps than its size allows.
	ErrWork = errors.New("takes more steps to read than a file of its size may")
)

// A step is about the time to decode a byte, 5 to 10 ns.
const (
	minSteps     = 128 << 20
	stepsPerByte = 160
	maxSteps     = 2 << 30
	// stride is the number of steps after which a Meter checks its context.
	stride = 1 << 16
)

// Meter counts the memory and the steps of a conversion. Both depend only on the file, so whether a
// file is converted does not depend on the load of the machine. The first exceeded limit, or the
// end of the context, is the error of every later call.
//
// A Meter is not safe for concurrent use.
type Meter struct {
	ctx         context.Context
	memory      int64 // bytes that are left
	limit       int64
	steps, next int64
	most        int64
	err         error
}

// NewMeter returns a Meter for a file of size bytes, which may hold memory bytes.
func NewMeter(ctx context.Context, memory int64, size int) *Meter {
	return &Meter{ctx: ctx, memory: memory, limit: memory, next: stride, most: min(minSteps+stepsPerByte*int64(size), maxSteps)}
}

// Err returns why the conversion has to end, if it has to.
func (m *Meter) Err() error {
	if m.err == nil {
		m.err = m.ctx.Err()
	}
	return m.err
}

// Memory returns how many more bytes the conversion may hold.
func (m *Meter) Memory() int64 { return max(m.memory, 0) }

// Hold counts n bytes that are about to be allocated. They are counted until they are released.
func (m *Meter) Hold(n int64) error {
	if m.memory -= n; m.memory < 0 && m.err == nil {
		m.err = fmt.Errorf("%w: %d MiB", ErrMemory, m.limit>>20)
	}
	return m.err
}

// Release counts n bytes less.
func (m *Meter) Release(n int64) { m.memory += n }

// Step counts n steps.
func (m *Meter) Step(n int) error {
	if m.steps += int64(n); m.steps < m.next || m.err != nil {
		return m.err
	}
	m.next = m.steps + stride
	if m.steps > m.most {
		m.err = fmt.Errorf("%w: %d million", ErrWork, m.most/1e6)
	}
	return m.Err()
}

// Reader counts the bytes read from r as steps.
func (m *Meter) Reader(r io.Reader) io.Reader { return meteredReader{m, r} }

type meteredReader struct {
	m *Meter
	r io.Reader
}

func (r meteredReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if limit := r.m.Step(n); limit != nil {
		return 0, limit
	}
	return n, err
}

// part is the size of the parts in which ReadAll reads.
const part = 256 << 10

// ReadAll reads r to its end, and holds the result until the caller releases it. It fails with
// ErrMemory before it has read more than the conversion may hold.
func (m *Meter) ReadAll(r io.Reader) ([]byte, error) {
	var parts [][]byte
	size := int64(0)
	r = m.Reader(r)
	for {
		// Twice, because the parts are joined in the end.
		if err := m.Hold(2 * part); err != nil {
			return nil, err
		}
		size += 2 * part
		p := make([]byte, part)
		n, err := io.ReadFull(r, p)
		parts = append(parts, p[:n])
		switch {
		case m.err != nil:
			return nil, m.err
		case err == nil:
			continue
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			err = nil
		}
		all := slices.Concat(parts...)
		m.Release(size - int64(len(all)))
		return all, err
	}
}
