package brain

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"evalctl/daemon/search"
)

const (
	// saveChunks is the smallest index worth a snapshot, in chunks. Building a smaller one takes
	// about as long as listing its documents.
	saveChunks = 5000
	// saveAfter is how long a brain must not have changed before it is saved.
	saveAfter = 5 * time.Second
)

// snapshot loads and saves the snapshot of one brain's index.
type snapshot struct {
	snapshots Snapshots // nil keeps none
	brain     string    // id
	key       string    // Record.Key
	unusable  *atomic.Int64
	options   *search.Options
	logger    *slog.Logger
	now       func() time.Time
}

// load returns a nil index if there is no usable snapshot. seq is the last commit of the stored
// snapshot, usable or not, and 0 if unknown.
func (s *snapshot) load(ctx context.Context) (index *search.Index, saved time.Time, seq uint64) {
	if s.snapshots == nil {
		return nil, time.Time{}, 0
	}
	err := s.snapshots.Get(ctx, s.key, func(r io.ReaderAt, size int64, at uint64) error {
		var err error
		seq = at
		index, saved, err = search.ReadSnapshot(r, size, s.options)
		return err
	})
	if err != nil && !errors.Is(err, ErrNoSnapshot) && ctx.Err() == nil {
		s.unusable.Add(1)
		s.logger.Warn("the index is built from its documents", "brain", s.brain, "because", err)
	}
	if err != nil {
		return nil, time.Time{}, seq
	}
	return index, saved, seq
}

// worthwhile reports whether an index is large enough for a snapshot.
func (s *snapshot) worthwhile(index *search.Index) bool {
	return s.snapshots != nil && index.Chunks() >= saveChunks
}

// errWoken ends a snapshot that would delay a search.
var errWoken = errors.New("there is work")

// save writes a snapshot that has the commits up to seq, and replaces one of the commit replaces or
// an earlier one. The error is errWoken if woken became true before the snapshot was complete, and
// the error of Snapshots.Put if another process keeps the snapshot. Other failures are only logged,
// because the index is derived from the documents and not worth a retry. If unchanged fails,
// nothing is saved.
func (s *snapshot) save(
	ctx context.Context, index *search.Index, seq, replaces uint64, woken func() bool, unchanged func() error,
) error {
	err := s.snapshots.Put(ctx, s.key, seq, replaces, func(w io.Writer) error {
		if err := unchanged(); err != nil {
			return err
		}
		return index.WriteSnapshot(interruptible{w, woken}, s.now())
	})
	if _, newer := errors.AsType[*NewerSnapshotError](err); newer ||
		errors.Is(err, errWoken) || errors.Is(err, ErrSnapshotBusy) {
		return err
	}
	if err != nil {
		s.logger.Warn("no snapshot of the index was saved", "brain", s.brain, "because", err)
	}
	return nil
}

// interruptible fails with errWoken once woken.
type interruptible struct {
	io.Writer
	woken func() bool
}

func (w interruptible) Write(data []byte) (int, error) {
	if w.woken() {
		return 0, errWoken
	}
	return w.Writer.Write(data)
}
