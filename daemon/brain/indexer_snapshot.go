package brain

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"evalctl/daemon/search"
)

const (
	// saveChunks is the size from which on an index is worth a snapshot: a
	// smaller one is built about as fast as its documents are listed.
	saveChunks = 5000
	// saveShare of the documents must have changed since the last snapshot: what
	// changed is read again when the snapshot is opened, so that a brain that is
	// written to now and then does not write all of its index each time.
	saveShare = 1. / 20
	// saveAfter is how long nothing must have changed.
	saveAfter = 5 * time.Second
)

const (
	snapshotFile = "index.snapshot"
	snapshotTemp = "index.snapshot.new"
)

// snapshots is where the snapshot of one brain's index lies: beside its
// documents, never among them.
type snapshots struct {
	catalog *catalog
	dir     string
}

// loadSnapshot gives nil when there is no snapshot that can be used.
func (x *indexer) loadSnapshot() (*search.Index, time.Time) {
	if x.cfg.snapshots == nil {
		return nil, time.Time{}
	}
	index, saved, err := x.cfg.snapshots.read(x.cfg.options)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}
	}
	if err != nil {
		x.cfg.logger.Warn("the index is built from its documents", "brain", x.cfg.brain, "because", err)
		return nil, time.Time{}
	}
	return index, saved
}

func (s *snapshots) read(opts *search.Options) (*search.Index, time.Time, error) {
	f, err := s.catalog.root.Open(s.dir + "/" + snapshotFile)
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

// saveDue reports whether enough has changed for a snapshot.
func (x *indexer) saveDue() bool {
	return x.cfg.snapshots != nil && x.index.Chunks() >= saveChunks &&
		float64(x.counts.saved) > saveShare*float64(x.index.Len())
}

// errWoken ends a snapshot that would keep a search waiting.
var errWoken = errors.New("there is work")

// save writes a snapshot unless woken comes true meanwhile. It is no one's
// error when that does not work: the index is derived.
func (x *indexer) save(woken func() bool) {
	err := x.cfg.snapshots.write(func(w io.Writer) error {
		return x.index.WriteSnapshot(wakeful{w, woken}, x.cfg.now())
	})
	if errors.Is(err, errWoken) {
		return
	}
	if err != nil {
		x.cfg.logger.Warn("no snapshot of the index was kept", "brain", x.cfg.brain, "because", err)
	}
	x.counts.saved = 0 // also after an error: it would only come again
}

// wakeful stops writing once woken.
type wakeful struct {
	io.Writer
	woken func() bool
}

func (w wakeful) Write(data []byte) (int, error) {
	if w.woken() {
		return 0, errWoken
	}
	return w.Writer.Write(data)
}

// write replaces the snapshot, whole or not at all.
func (s *snapshots) write(content func(io.Writer) error) error {
	root, temp := s.catalog.root, s.dir+"/"+snapshotTemp
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
	if err := root.Rename(temp, s.dir+"/"+snapshotFile); err != nil {
		return err
	}
	return s.catalog.sync(s.dir)
}
