package brain

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"evalctl/daemon/search"
)

const (
	// saveChunks is the smallest index worth a snapshot, in chunks. Building a smaller
	// one takes about as long as listing its documents.
	saveChunks = 5000
	// saveAfter is how long a brain must not have changed before it is saved.
	saveAfter = 5 * time.Second
)

// snapshot loads and saves the snapshot of one brain's index.
type snapshot struct {
	snapshots Snapshots // nil keeps none
	brain     string    // id
	key       string    // Record.Key
	options   *search.Options
	logger    *slog.Logger
	now       func() time.Time
}

// load returns nil when there is no usable snapshot.
func (s *snapshot) load(ctx context.Context) (*search.Index, time.Time) {
	if s.snapshots == nil {
		return nil, time.Time{}
	}
	var index *search.Index
	var saved time.Time
	err := s.snapshots.Get(ctx, s.key, func(r io.ReaderAt, size int64) error {
		var err error
		index, saved, err = search.ReadSnapshot(r, size, s.options)
		return err
	})
	if err != nil && !errors.Is(err, ErrNoSnapshot) {
		s.logger.Warn("the index is built from its documents", "brain", s.brain, "because", err)
	}
	if err != nil {
		return nil, time.Time{}
	}
	return index, saved
}

// worthwhile reports whether an index is large enough for a snapshot.
func (s *snapshot) worthwhile(index *search.Index) bool {
	return s.snapshots != nil && index.Chunks() >= saveChunks
}

// errWoken ends a snapshot that would delay a search.
var errWoken = errors.New("there is work")

// save reports whether the snapshot needs no more work: it was written, or the failure was logged.
// A failure is not worth a retry, as the index is derived from the documents. It is
// false when woken became true before the snapshot was complete.
func (s *snapshot) save(ctx context.Context, index *search.Index, woken func() bool) bool {
	err := s.snapshots.Put(ctx, s.key, func(w io.Writer) error {
		return index.WriteSnapshot(interruptible{w, woken}, s.now())
	})
	if errors.Is(err, errWoken) {
		return false
	}
	if err != nil {
		s.logger.Warn("no snapshot of the index was saved", "brain", s.brain, "because", err)
	}
	return true
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
