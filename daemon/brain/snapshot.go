package brain

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
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

const (
	snapshotFile = "index.snapshot"
	snapshotTemp = "index.snapshot.new"
)

// snapshot loads and saves the snapshot of one brain's index.
type snapshot struct {
	snapshots *snapshots // nil keeps none
	brain     string
	options   *search.Options
	logger    *slog.Logger
	now       func() time.Time
}

// load returns nil when there is no usable snapshot.
func (s *snapshot) load() (*search.Index, time.Time) {
	if s.snapshots == nil {
		return nil, time.Time{}
	}
	index, saved, err := s.snapshots.read(s.brain, s.options)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}
	}
	if err != nil {
		s.logger.Warn("the index is built from its documents", "brain", s.brain, "because", err)
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

// save reports whether the snapshot is dealt with: written, or failed and logged.
// A failure is not worth a retry, as the index is derived from the documents. It is
// false when woken became true before the snapshot was complete.
func (s *snapshot) save(index *search.Index, woken func() bool) bool {
	err := s.snapshots.write(s.brain, func(w io.Writer) error {
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

// snapshots keeps the snapshots of all brains, next to their documents and never
// among them.
type snapshots struct{ catalog *catalog }

func (s *snapshots) read(brain string, opts *search.Options) (*search.Index, time.Time, error) {
	f, err := s.catalog.root.Open(brain + "/" + snapshotFile)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	return search.ReadSnapshot(f, info.Size(), opts)
}

// write replaces the snapshot completely or not at all.
func (s *snapshots) write(brain string, content func(io.Writer) error) error {
	root, temp := s.catalog.root, brain+"/"+snapshotTemp
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = content(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if err := root.Rename(temp, brain+"/"+snapshotFile); err != nil {
		return err
	}
	return s.catalog.sync(brain)
}
