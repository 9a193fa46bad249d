package brain

import (
	"fmt"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// UnreadyError means that a brain cannot be searched yet, because its documents are being opened or
// its index is being built. Both go on, whether or not somebody waits.
type UnreadyError struct {
	Brain    string             // id
	Indexing *protocol.Indexing // how far the index is; nil while the documents are being opened
	Retry    time.Duration      // when it is worth trying again, as far as can be said
}

func (e *UnreadyError) Error() string {
	const mib = 1 << 20
	doing := "its documents are being opened"
	if p := e.Indexing; p != nil {
		doing = "its index is being opened"
		if p.DocumentsTotal > 0 {
			doing = fmt.Sprintf("its index has %d of %d documents", p.DocumentsDone, p.DocumentsTotal)
		}
		if p.BytesTotal > 0 {
			doing += fmt.Sprintf(", %.1f of %.1f MiB", float64(p.BytesDone)/mib, float64(p.BytesTotal)/mib)
		}
	}
	return fmt.Sprintf("brain %s cannot be searched yet: %s: try again in %v", e.Brain, doing, e.Retry)
}

// The bounds of UnreadyError.Retry.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// minSample is how long documents must have been read before their speed is known.
const minSample = time.Second

// progress is the progress of an index with the documents that it lacks. It is safe for concurrent
// use. Its zero value lacks nothing.
type progress struct {
	mu         sync.Mutex
	now        func() time.Time
	begun      time.Time // the zero time: the index lacks nothing
	done, left amount    // since then
}

// amount is an amount of documents.
type amount struct {
	documents int
	bytes     int64 // 0 if the sizes are not known
}

func (a *amount) add(files []store.FileInfo, sign int) {
	a.documents += sign * len(files)
	for _, f := range files {
		a.bytes += int64(sign) * f.Size
	}
}

// begin is called before files are read.
func (p *progress) begin(files []store.FileInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.IsZero() {
		p.begun = p.now()
	}
	p.left.add(files, 1)
}

// read is called when the index has some of the files.
func (p *progress) read(files []store.FileInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.add(files, 1)
	p.left.add(files, -1)
}

// complete is called when the index lacks nothing.
func (p *progress) complete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun, p.done, p.left = time.Time{}, amount{}, amount{}
}

// indexing returns the progress of the index, and the time until it has all documents, 0 if not
// known. queued documents are read after the present ones.
func (p *progress) indexing(queued int) (protocol.Indexing, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.IsZero() {
		return protocol.Indexing{DocumentsTotal: queued}, 0
	}
	state := protocol.Indexing{
		DocumentsDone:  p.done.documents,
		DocumentsTotal: p.done.documents + p.left.documents + queued,
		BytesDone:      p.done.bytes,
		BytesTotal:     p.done.bytes + p.left.bytes,
	}
	spent := p.now().Sub(p.begun)
	if spent < minSample || p.done.documents == 0 {
		return state, 0
	}
	rest := float64(p.left.documents) / float64(p.done.documents)
	if p.done.bytes > 0 {
		rest = float64(p.left.bytes) / float64(p.done.bytes)
	}
	rest += float64(queued) / float64(p.done.documents)
	return state, time.Duration(rest * float64(spent))
}

// retryAfter returns when to try again, given the remaining time, as far as it is known, and the
// time spent so far.
func retryAfter(remaining, spent time.Duration) time.Duration {
	if remaining == 0 {
		remaining = spent
	}
	return min(max(remaining, minRetry), maxRetry).Round(time.Second)
}
