package brain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/search"
	"evalctl/daemon/search/document"
	"evalctl/daemon/store"
)

const (
	// measureShare is the share of the documents that must have changed before an index is measured
	// again, which visits all of it.
	measureShare = 1. / 20
	// saveShare is the share of the documents that must have changed since the last snapshot.
	// Changed documents are read again when the snapshot is opened, so a brain with few writes need
	// not write its whole index each time.
	saveShare = 1. / 20
)

// mirror is a search index with the content of a store. Its methods must not be
// called concurrently.
type mirror struct {
	documents documents
	snapshot  *snapshot
	options   *search.Options
	building  chan struct{} // see indexerConfig
	progress  progress
	index     *search.Index // nil before build

	// Documents put and deleted since the index was last measured, and last saved.
	unmeasured, unsaved int
	// unsettled is the size of the documents that were read since indexer.settle, in bytes.
	unsettled int64

	// seq is the last commit that the index has in full. savedSeq is the last known commit of the
	// stored snapshot.
	seq, savedSeq uint64
	server        uint64 // whose documents the index has, see store.Store.Server
}

func newMirror(st *store.Store, cfg *indexerConfig) *mirror {
	return &mirror{
		documents: documents{st}, options: cfg.options, building: cfg.building, progress: progress{now: cfg.now},
		snapshot: &snapshot{cfg.snapshots, cfg.brain, cfg.key, cfg.unusable, cfg.options, cfg.logger, cfg.now},
	}
}

// build loads the snapshot of the index and applies later changes, or indexes the whole store if
// there is no usable snapshot.
func (m *mirror) build(ctx context.Context) error {
	m.server = m.documents.store.Server()
	seq := m.documents.store.Seq() // documents read afterwards have these commits
	var err error
	if m.documents.store.Shared() {
		seq, err = m.buildShared(ctx, seq)
	} else {
		err = m.buildListed(ctx)
	}
	if err == nil {
		m.seq = seq // not earlier: a part of an index must not be saved as the whole
	}
	return err
}

// buildShared returns the last commit that the index has in full, which is seq or a later one.
func (m *mirror) buildShared(ctx context.Context, seq uint64) (uint64, error) {
	m.load(ctx)
	last, err := m.catchUp(ctx, seq)
	if !errors.Is(err, store.ErrPruned) {
		return last, err
	}
	listed, err := m.documents.list(ctx)
	if err != nil {
		return 0, err
	}
	return seq, m.follow(ctx, listed, time.Time{})
}

// buildListed lists the documents while the snapshot is loaded.
func (m *mirror) buildListed(ctx context.Context) error {
	var (
		listed []store.FileInfo
		err    error
		wg     sync.WaitGroup
	)
	wg.Go(func() { listed, err = m.documents.list(ctx) })
	saved := m.load(ctx)
	wg.Wait()
	if err != nil {
		return err
	}
	return m.follow(ctx, listed, saved)
}

// load sets the index to the snapshot, or to an empty index.
func (m *mirror) load(ctx context.Context) (saved time.Time) {
	m.index, saved, m.savedSeq = m.snapshot.load(ctx)
	if m.index == nil {
		m.index = search.New(m.options)
	}
	return saved
}

// maxCatchUp is the most commits that catchUp reads. Beyond it, listing the documents is faster.
const maxCatchUp = 4096

// catchUp applies the changes since the snapshot was saved, and returns the last commit that the
// index then has. It returns store.ErrPruned if the changes are too many or no longer kept, or if
// there is no snapshot.
func (m *mirror) catchUp(ctx context.Context, seq uint64) (last uint64, err error) {
	last = m.savedSeq
	if m.index.Len() == 0 || last == 0 || seq > last+maxCatchUp {
		return 0, store.ErrPruned
	}
	changed := map[string]struct{}{}
	for {
		events, err := m.documents.store.ChangesAfter(ctx, last)
		if err != nil {
			return 0, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			changed[e.Path] = struct{}{}
			if e.OldPath != "" {
				changed[e.OldPath] = struct{}{}
			}
			last = e.Seq
		}
	}
	return last, m.refresh(ctx, filesAt(changed))
}

// filesAt returns the files at paths, which are not described.
func filesAt(paths map[string]struct{}) []store.FileInfo {
	files := make([]store.FileInfo, 0, len(paths))
	for path := range paths {
		if document.Indexed(path) {
			files = append(files, store.FileInfo{Path: path})
		}
	}
	return files
}

// follow applies the differences between the index and a listing of the documents, which was made
// after the index was saved.
func (m *mirror) follow(ctx context.Context, listed []store.FileInfo, saved time.Time) error {
	changed, known := m.compare(listed, saved)
	if known < m.index.Len() {
		m.deleteUnlisted(listed)
	}
	return m.refresh(ctx, changed)
}

// compareWithServer lists the documents if the server has changed. The index may have read a
// document that was changed a moment before a failover, and the change may be lost with the server,
// without an event.
func (m *mirror) compareWithServer(ctx context.Context) error {
	server := m.documents.store.Server()
	if server == m.server {
		return nil
	}
	listed, err := m.documents.list(ctx)
	if err == nil {
		err = m.follow(ctx, listed, time.Time{})
	}
	if err == nil {
		m.server = server
	}
	return err
}

// unchanged returns an error if the server may lack commits that the index has.
func (m *mirror) unchanged(ctx context.Context) error {
	if err := m.documents.store.Sync(ctx); err != nil {
		return err
	}
	if m.documents.store.Server() != m.server {
		return errWoken
	}
	return nil
}

// compare returns the listed files whose present version is not in the index, and the number of
// listed files that are in the index in any version.
func (m *mirror) compare(listed []store.FileInfo, saved time.Time) (changed []store.FileInfo, known int) {
	for _, info := range listed {
		if !document.Indexed(info.Path) {
			continue
		}
		had, ok := m.index.Source(info.Path)
		if ok {
			known++
		}
		if had != sourceOf(info) || tooFresh(info, saved) {
			changed = append(changed, info)
		}
	}
	return changed, known
}

// deleteUnlisted deletes from the index the documents that are not listed.
func (m *mirror) deleteUnlisted(listed []store.FileInfo) {
	byPath := func(info store.FileInfo, path string) int { return strings.Compare(info.Path, path) }
	for _, path := range m.index.Paths() {
		if _, ok := slices.BinarySearchFunc(listed, path, byPath); !ok || !document.Indexed(path) {
			m.index.Delete(path)
			m.unsaved++
		}
	}
}

// refresh brings the index up to date with the store at the given files, which are all Indexed.
func (m *mirror) refresh(ctx context.Context, files []store.FileInfo) error {
	if len(files) == 0 {
		return nil
	}
	m.progress.begin(files)
	ctx, cancel := context.WithCancel(ctx)
	parts := make(chan part)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { m.documents.read(ctx, files, parts) })
	for p := range parts {
		if p.err != nil {
			return p.err
		}
		if err := m.apply(ctx, p); err != nil {
			return err
		}
		m.progress.read(files[:p.files])
		files = files[p.files:]
	}
	return ctx.Err()
}

// apply waits for this index's turn, because analysing documents takes all processors. Indexes that
// are built at the same time take turns, so that a small one is soon ready.
func (m *mirror) apply(ctx context.Context, p part) error {
	select {
	case m.building <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.building }()
	m.index.Put(p.docs...)
	for _, path := range p.gone {
		m.index.Delete(path)
	}
	m.unmeasured += p.files
	m.unsaved += p.files
	for i := range p.docs {
		m.unsettled += int64(len(p.docs[i].Text))
	}
	return nil
}

// indexSize is the memory of an index as last measured.
type indexSize struct {
	bytes   atomic.Int64
	changed func()
}

func (s *indexSize) measure(index *search.Index) {
	s.bytes.Store(index.Bytes())
	s.changed()
}

func (m *mirror) measureIfDue(size *indexSize) {
	if float64(m.unmeasured) > measureShare*float64(m.index.Len()) {
		m.measure(size)
	}
}

func (m *mirror) measure(size *indexSize) {
	m.unmeasured = 0
	size.measure(m.index)
}

// saveDue reports whether enough has changed for a snapshot.
func (m *mirror) saveDue() bool {
	return m.index != nil && m.snapshot.worthwhile(m.index) &&
		float64(m.unsaved) > saveShare*float64(m.index.Len())
}

// save writes a snapshot, unless woken becomes true before it is complete. If another process has
// saved one in the meantime, that one is kept, and the next is due when enough has changed since.
func (m *mirror) save(ctx context.Context, woken func() bool) {
	// It is checked while the snapshot is being written, so that both are on the same server.
	unchanged := func() error { return m.unchanged(ctx) }
	err := m.snapshot.save(ctx, m.index, m.seq, m.savedSeq, woken, unchanged)
	if newer, ok := errors.AsType[*NewerSnapshotError](err); ok {
		// Each commit since then counts as one document, because the number of changed documents is
		// not known. This may be too low, but the process that has saved knows better.
		m.savedSeq = newer.Seq
		m.unsaved = min(m.unsaved, int(max(m.seq, newer.Seq)-newer.Seq))
	}
	if err == nil {
		m.unsaved, m.savedSeq = 0, m.seq
	}
}
