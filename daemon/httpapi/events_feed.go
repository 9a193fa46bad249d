package httpapi

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/wakeup"
)

// maxBehind is how many changes a client of a change stream may be behind. It is more than one
// batch can cause, so that a single request does not disconnect a reading client.
const maxBehind = 4 * protocol.MaxBatchOps

// maxTogether is how many bytes of changes are sent in one write, unless a single change is longer.
// A client has to read them within frameTimeout.
const maxTogether = 16 << 10

var (
	// errStreamOver ends the streams of a deleted brain.
	errStreamOver = errors.New("brain is deleted")
	// errMissed ends the streams of a brain some of whose changes are lost.
	errMissed  = errors.New("some changes are no longer kept: attach again")
	errTooSlow = errors.New("client does not read its change stream: disconnected")
)

// feeds distributes the changes of brains to the streams that follow them.
type feeds struct {
	mu    sync.Mutex
	brain map[brain.Handle]*feed
	over  error // not nil: ends every new stream
}

// feed is the one subscription to a brain that its streams share, so that an event is encoded once,
// and a commit calls one sink.
type feed struct {
	unsubscribe func()

	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// attach adds a listener, which receives every commit of h after attach has returned. detach is
// idempotent.
func (f *feeds) attach(h brain.Handle, l *listener) (detach func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		l.end(f.over)
	}
	fd := f.brain[h]
	if fd == nil {
		fd = &feed{listeners: map[*listener]struct{}{}}
		unsubscribe, over := h.Subscribe(fd.publish), make(chan struct{})
		fd.unsubscribe = func() {
			unsubscribe()
			close(over)
		}
		f.brain[h] = fd
		go func() { // another replica may delete the brain
			select {
			case <-h.Done():
				fd.endAll(errStreamOver)
			case <-over:
			}
		}()
	}
	fd.mu.Lock()
	fd.listeners[l] = struct{}{}
	fd.mu.Unlock()
	if h.Err() != nil { // the others may have been ended before l was there
		l.end(errStreamOver)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		fd.mu.Lock()
		delete(fd.listeners, l)
		unused := len(fd.listeners) == 0
		fd.mu.Unlock()
		if unused && f.brain[h] == fd {
			f.drop(h, nil)
		}
	}
}

// end ends the streams of one brain.
func (f *feeds) end(h brain.Handle, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(h, cause)
}

// endAll ends every stream, and every stream that is attached later.
func (f *feeds) endAll(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = cause
	for h := range f.brain {
		f.drop(h, cause)
	}
}

// drop ends the streams of one brain. The caller holds f.mu.
func (f *feeds) drop(h brain.Handle, cause error) {
	fd := f.brain[h]
	if fd == nil {
		return
	}
	delete(f.brain, h)
	fd.unsubscribe()
	fd.endAll(cause)
}

// endAll ends the streams.
func (fd *feed) endAll(cause error) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	for l := range fd.listeners {
		l.end(cause)
	}
	clear(fd.listeners)
}

// publish is the sink of the store. It runs during a commit and must not wait.
func (fd *feed) publish(e store.ChangeEvent) {
	if e.Kind == store.Missed {
		fd.endAll(errMissed)
		return
	}
	data := bytes.TrimRight(encode(protocol.ChangeEvent{
		Kind: string(e.Kind), Path: e.Path, OldPath: e.OldPath, Reason: e.Reason,
		When: protocol.FormatTime(e.When),
	}), "\n")
	fd.mu.Lock()
	defer fd.mu.Unlock()
	for l := range fd.listeners {
		if !l.put(data) {
			delete(fd.listeners, l)
		}
	}
}

// listener is the queue of one stream. Listeners share the bytes of a change.
type listener struct {
	unblock func() // makes the sending of a frame fail soon
	wake    wakeup.Signal

	mu      sync.Mutex
	changes [][]byte
	cause   error // why the stream ends
}

func newListener(unblock func()) *listener {
	return &listener{unblock: unblock, wake: wakeup.New()}
}

// put adds a change. It ends the stream and returns false if the queue is full.
func (l *listener) put(change []byte) bool {
	l.mu.Lock()
	full := len(l.changes) >= maxBehind
	if !full {
		l.changes = append(l.changes, change)
	}
	l.mu.Unlock()
	if full {
		l.end(errTooSlow)
		return false
	}
	l.wake.Set()
	return true
}

// next removes and returns the oldest changes: as many as fit into one write, and at least one if
// there is any. An error ends the stream immediately.
func (l *listener) next() (changes [][]byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return nil, l.cause
	}
	if len(l.changes) == 0 {
		l.changes = nil // an idle stream holds no memory
		return nil, nil
	}
	size, n := 0, 0
	for n < len(l.changes) && (n == 0 || size+len(l.changes[n]) <= maxTogether) {
		size += len(l.changes[n])
		n++
	}
	changes = slices.Clone(l.changes[:n])
	clear(l.changes[:n])
	l.changes = l.changes[n:]
	return changes, nil
}

// ended returns the error of next, or nil if the stream has not ended.
func (l *listener) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// end makes next fail with cause, unless it already fails.
func (l *listener) end(cause error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	l.changes = nil
	l.mu.Unlock()
	l.wake.Set()
	l.unblock()
}
