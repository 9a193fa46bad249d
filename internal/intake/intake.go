// Package intake bounds the memory that replies of other programs take in this process: replies of
// daemons, MCP servers, model providers and scorers. All replies in progress draw their bytes from
// one budget, as they are read. A reply that finds the budget used up waits until another one is
// done. One reply at a time may go on without budget up to its own limit, so that one can always
// finish.
//
// Work that has drawn must not wait for work that draws with another Hold. So a context carries one
// Hold for all related replies, such as the answer to a question and the verdict on it.
package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	// Free is how much each Hold may draw without being counted. Most replies are smaller, and
	// never wait.
	Free = 64 << 10
	// Shared is the budget of all Holds of this process.
	Shared = 32 << 20
	// Largest is how much one Hold may draw.
	Largest = 192 << 20
)

const (
	// large is the size of a large Hold. While one is drawn, garbage is collected more often. At
	// its end its memory is returned before others go on.
	large = 8 << 20
	// tight is the percentage of GOGC while there is such a Hold.
	tight = 20
)

// step is the least that is drawn from the budget at a time.
const step = 64 << 10

// ErrTooLarge means that one Hold would draw more than it may.
var ErrTooLarge = errors.New("the reply takes too much memory")

// ErrWaited means that a context ended while a reply waited for others.
var ErrWaited = errors.New("its reply waited for the memory that other replies in progress take")

// Pool is a budget.
type Pool struct {
	mu      sync.Mutex
	left    int64
	beyond  bool          // one Hold goes on without budget
	changed chan struct{} // closed when something is given back
}

// NewPool returns a budget of bytes.
func NewPool(bytes int64) *Pool { return &Pool{left: bytes, changed: make(chan struct{})} }

// process is the budget of this process.
var process = NewPool(Shared)

// Hold is the memory drawn by one reply, or by related ones. It is safe for concurrent use. A nil
// Hold draws nothing.
type Hold struct {
	pool *Pool

	mu     sync.Mutex
	users  int
	drawn  int64
	taken  int64 // from the budget
	beyond bool  // it goes on without budget
	large  bool
}

type holdKey struct{}

// Begin returns a context with a new Hold of the budget of this process. The caller must End it.
func Begin(ctx context.Context) (context.Context, *Hold) {
	h := process.Hold()
	return context.WithValue(ctx, holdKey{}, h), h
}

// Of returns the Hold of a context, or a new one. The caller must End it.
func Of(ctx context.Context) *Hold {
	if h, ok := ctx.Value(holdKey{}).(*Hold); ok {
		return h.Share()
	}
	return process.Hold()
}

// Hold returns a Hold that the caller must End.
func (p *Pool) Hold() *Hold { return &Hold{pool: p, users: 1} }

// Share returns h for a further user, who must End it too.
func (h *Hold) Share() *Hold {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.users++
	}
	return h
}

// Draw draws bytes. It waits while the budget is used up, until ctx ends: the error is then the
// cause and ErrWaited. Other errors are ErrTooLarge.
func (h *Hold) Draw(ctx context.Context, bytes int64) error {
	if h == nil || bytes <= 0 {
		return nil
	}
	for {
		wait, err := h.try(bytes)
		if wait == nil || err != nil {
			return err
		}
		select { // without the lock, so that others can end their use of h
		case <-wait:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), ErrWaited)
		}
	}
}

// try draws bytes, or returns a channel that is closed when there may be room for them.
func (h *Hold) try(bytes int64) (wait <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes > Largest-h.drawn {
		return nil, fmt.Errorf("%w: with what belongs to it, more than %d MiB", ErrTooLarge, Largest>>20)
	}
	if need := h.drawn + bytes - Free - h.taken; need > 0 && !h.beyond {
		if wait := h.take(max(need, step)); wait != nil {
			return wait, nil
		}
	}
	h.drawn += bytes
	if h.drawn >= large && !h.large {
		h.large = true
		collect.begin()
	}
	return nil, nil
}

// take takes bytes from the budget, or the right to go on without it. Otherwise it returns a channel
// that is closed when something is given back.
func (h *Hold) take(bytes int64) <-chan struct{} {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case bytes <= p.left:
		p.left -= bytes
		h.taken += bytes
	case !p.beyond:
		p.beyond, h.beyond = true, true
	default:
		return p.changed
	}
	return nil
}

// Return gives back everything that was drawn, for a reply that is of no use.
func (h *Hold) Return() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.giveBack()
}

// End ends the use of a Hold. The last one gives back the drawn bytes.
func (h *Hold) End() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users == 0 {
		h.giveBack()
	}
}

func (h *Hold) giveBack() {
	if h.large {
		h.large = false
		collect.end()
	}
	h.drawn = 0
	if h.taken == 0 && !h.beyond {
		return
	}
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += h.taken
	if h.beyond {
		p.beyond = false
	}
	h.taken, h.beyond = 0, false
	close(p.changed)
	p.changed = make(chan struct{})
}
