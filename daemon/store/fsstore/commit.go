package fsstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"evalctl/daemon/store"
)

const (
	// layOutAfter is how long after the last commit documents are written to their files. A
	// document that is replaced before need not be written at all.
	layOutAfter = 250 * time.Millisecond
	// settleAfter is when a log is emptied after its first commit, also while commits keep coming.
	// Emptying needs a sync of the whole file system.
	settleAfter = 10 * time.Second
	// retryAfter is the pause after an error.
	retryAfter = time.Second
	// fullLog is the size from which on a log's documents are written to their files, and maxLog
	// the size from which on commits wait for that.
	fullLog = 32 << 20
	maxLog  = 2 * fullLog
	// maxAtOnce is the most operations of a commit whose documents are written to their files at
	// once.
	maxAtOnce = 64
)

// Commit implements store.Backend. It appends the operations to the log. If no other caller waits
// for a commit and no document waits for its file, it also writes a few documents to their files.
func (b *backend) Commit(_ context.Context, c store.Commit) error {
	writes := false
	for _, op := range c.Ops {
		writes = writes || op.Kind != store.OpDelete
		if err := b.checkWritable(op.Path); err != nil {
			return err
		}
	}
	if err := b.admit(writes); err != nil {
		return err
	}
	err := b.log(c)
	if errors.Is(err, syscall.ENOSPC) {
		_ = b.settle() // deletions may have made room even if it fails
		err = b.log(c)
	}
	return err
}

// log makes a commit durable.
func (b *backend) log(c store.Commit) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return b.broken
	}
	if err := b.prepareSpare(); err != nil {
		return err
	}
	if err := b.checkLinked(); err != nil {
		return err
	}
	ops, unclear, err := b.active.append(b.number+1, c.When, c.Ops, b.before(c.Ops))
	if unclear {
		b.broken = fmt.Errorf("%w: an earlier commit failed: %w; reopen the store to repair it", store.ErrReadOnly, err)
	}
	if err != nil {
		return err
	}
	b.number++
	docs := make([]*logEntry, len(ops))
	for i, op := range ops {
		docs[i] = &logEntry{loggedOp: op, log: b.active, when: c.When}
	}
	b.files.Lock()
	first := len(b.pending.Docs) == 0
	for _, doc := range docs {
		b.pending.Put(doc.path, doc)
	}
	b.files.Unlock()
	if c.Alone && first && len(docs) <= maxAtOnce && b.laying.TryLock() {
		b.noteFailed(b.layOut(docs, c.Ops)) // the commit was made all the same; settle tries again
		b.laying.Unlock()
	}
	b.schedule()
	return nil
}

// checkLinked fails if somebody has removed or exchanged the log: after a crash, a commit in it
// would be lost. The caller holds mu.
func (b *backend) checkLinked() error {
	now, err := os.Lstat(filepath.Join(b.home.Name(), b.active.name))
	if err != nil {
		return err
	}
	if !os.SameFile(now, b.active.info) {
		return fmt.Errorf("the file %s of the store was replaced while it was open; close the store first", b.active.name)
	}
	return nil
}

// admit waits, or fails, if the logs must be emptied before another commit.
func (b *backend) admit(writes bool) error {
	b.mu.Lock()
	// On a full disk the log takes writes as long as there is room for them.
	failed := b.failed != nil && !errors.Is(b.failed, syscall.ENOSPC) && !isStuck(b.failed)
	needed := b.broken == nil && (failed && writes || b.active.end >= maxLog)
	b.mu.Unlock()
	if !needed {
		return nil
	}
	err := b.settle()
	if stuck, ok := errors.AsType[stuckError](err); ok && (!writes || stuck.bytes < maxLog) {
		err = nil // all other documents are in their files
	}
	if err != nil {
		return fmt.Errorf("earlier writes are kept in %s of the store, but cannot be written to the folder %s: %w",
			stateDir, documentsDir, err)
	}
	return nil
}

// noteFailed keeps why the documents of the logs could not be written to their files, or nil,
// and logs it the first time. The caller holds mu.
func (b *backend) noteFailed(err error) {
	if err != nil && b.failed == nil && !isStuck(err) {
		b.logger.Warn("writes are kept in the log, because they cannot be written to the files of the documents: "+
			"trying again", "because", err)
	}
	b.failed = err
}

// schedule sets the timer. While a log is being emptied it does nothing, because the timer is set
// afterwards. The caller holds mu.
func (b *backend) schedule() {
	if b.full != nil {
		return
	}
	now := time.Now()
	if b.dirty.IsZero() {
		b.dirty = now
	}
	wait := b.dirty.Add(settleAfter).Sub(now)
	b.files.RLock()
	if len(b.pending.Docs) > 0 {
		wait = min(wait, layOutAfter)
	}
	b.files.RUnlock()
	if b.active.end >= fullLog {
		wait = 0
	}
	b.workIn(max(wait, 0))
}

// workIn requires mu.
func (b *backend) workIn(wait time.Duration) {
	switch {
	case b.closed:
	case b.timer == nil:
		b.timer = time.AfterFunc(wait, b.work)
	default:
		b.timer.Reset(wait)
	}
}
