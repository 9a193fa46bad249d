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
	"evalctl/daemon/store"
)

const (
	// measureShare is the share of the documents that must have changed for an
	// index to be measured again, which visits all of it.
	measureShare = 1. / 20
	// saveShare is the share of the documents that must have changed since the last
	// snapshot. Changed documents are read again when the snapshot is opened, so a
	// brain with few writes need not write its whole index each time.
	saveShare = 1. / 20
)

// mirror is a search index with the content of a store. Its methods must not be
// called concurrently.
type mirror struct {
	documents documents
	snapshot  *snapshot
	options   *search.Options
	index     *search.Index // nil before build

	// Documents put and deleted since the index was last measured, and last saved.
	unmeasured, unsaved int

	// seq is the last commit that the index has in full, and savedSeq the last one that the stored
	// snapshot has as far as is known.
	seq, savedSeq uint64
}

func newMirror(st *store.Store, options *search.Options, s *snapshot) *mirror {
	return &mirror{documents: documents{st}, snapshot: s, options: options}
}

// build loads the snapshot of the index and applies what has changed since, or
// indexes the whole store when there is no usable snapshot.
func (m *mirror) build(ctx context.Context) error {
	var (
		listed []store.FileInfo
		err    error
		wg     sync.WaitGroup
	)
	m.seq = m.documents.store.Seq() // before the documents are listed, so that these commits are in the list
	wg.Go(func() { listed, err = m.documents.list(ctx) })
	index, saved, seq := m.snapshot.load(ctx)
	m.savedSeq = seq
	if index == nil {
		index = search.New(m.options)
	}
	wg.Wait()
	m.index = index
	if err != nil {
		return err
	}
	changed, known := m.compare(listed, saved)
	if known < index.Len() {
		m.deleteUnlisted(listed)
	}
	return m.refresh(ctx, changed)
}

// compare returns the listed files whose present version is not in the index, and
// the number of listed files that are in the index in any version.
func (m *mirror) compare(listed []store.FileInfo, saved time.Time) (changed []file, known int) {
	for _, info := range listed {
		if !search.Indexed(info.Path) {
			continue
		}
		source := sourceOf(info)
		had, ok := m.index.Source(info.Path)
		if ok {
			known++
		}
		if had != source || tooFresh(info, saved) {
			changed = append(changed, file{info.Path, source})
		}
	}
	return changed, known
}

// deleteUnlisted deletes from the index the documents that are not listed.
func (m *mirror) deleteUnlisted(listed []store.FileInfo) {
	byPath := func(info store.FileInfo, path string) int { return strings.Compare(info.Path, path) }
	for _, path := range m.index.Paths() {
		if _, ok := slices.BinarySearchFunc(listed, path, byPath); !ok || !search.Indexed(path) {
			m.index.Delete(path)
			m.unsaved++
		}
	}
}

// refresh brings the index up to date with the store at the given paths.
func (m *mirror) refresh(ctx context.Context, files []file) error {
	for batch := range slices.Chunk(files, maxRead) {
		docs, gone, err := m.documents.read(ctx, batch)
		if err != nil {
			return err
		}
		m.index.Put(docs...)
		for _, path := range gone {
			m.index.Delete(path)
		}
		m.unmeasured += len(batch)
		m.unsaved += len(batch)
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
	err := m.snapshot.save(ctx, m.index, m.seq, m.savedSeq, woken)
	if newer, ok := errors.AsType[*NewerSnapshotError](err); ok {
		// Each commit since then counts as one document, because which ones it changed is not known.
		// So this may be too low, but the process that has saved knows better.
		m.savedSeq = newer.Seq
		m.unsaved = min(m.unsaved, int(max(m.seq, newer.Seq)-newer.Seq))
	}
	if err == nil {
		m.unsaved, m.savedSeq = 0, m.seq
	}
}
