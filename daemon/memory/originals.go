package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
)

// A record and its original are deleted with their document, and a record follows a renamed
// document. Documents are also deleted and renamed by path, where an operation has to be exactly
// one event. So the records are changed afterwards, in a separate batch: in the background right
// after the commit, before the next ingest, and before the first ingest after a start. If several
// processes use the brain, each one follows the events of the others while its store is open, and
// otherwise reads all records again.

// originals knows which records depend on which documents of a brain.
type originals struct {
	tidying sync.Mutex   // held while records are read and changed
	read    bool         // all records were read; guarded by tidying
	store   *store.Store // from which they were read; guarded by tidying

	mu         sync.Mutex // never held while the store is used
	subscribed bool
	shared     bool // other processes use the brain
	scheduled  bool
	byDocument map[string]string   // paths of records, by the path of the document
	stale      map[string][]string // records whose document is gone, and where it may be now
	own        map[string]bool     // records that this process is about to commit
	foreign    []string            // records that other processes have committed, to be read
	commit     uint64              // of created
	created    []string            // paths that the commit has written so far
}

// add is called before the record is committed.
func (o *originals) add(document, record string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byDocument == nil {
		o.byDocument = map[string]string{}
	}
	o.byDocument[document] = record
}

// addOwn is add for a record that this process commits.
func (o *originals) addOwn(document, record string) {
	o.add(document, record)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.own == nil {
		o.own = map[string]bool{}
	}
	o.own[record] = true
}

// observe marks the record of a document that an event removes from its path, and a record that
// another process has written. It reports whether it marked one. It runs inside a commit.
func (o *originals) observe(e store.ChangeEvent) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Seq != o.commit {
		o.commit, o.created = e.Seq, nil
	}
	gone := e.OldPath
	switch e.Kind {
	case store.Deleted:
		gone = e.Path
	default:
		o.created = append(o.created, e.Path)
		if _, _, ok := parseRecordPath(e.Path); ok && o.shared && !o.own[e.Path] {
			o.foreign = append(o.foreign, e.Path)
		}
		delete(o.own, e.Path)
	}
	record, ok := o.byDocument[gone]
	if !ok {
		return len(o.foreign) > 0
	}
	delete(o.byDocument, gone)
	o.markStale(record, o.created)
	return true
}

// markStale requires mu.
func (o *originals) markStale(record string, candidates []string) {
	if o.stale == nil {
		o.stale = map[string][]string{}
	}
	o.stale[record] = append(o.stale[record], candidates...)
}

// take returns up to n stale records, which are no longer marked.
func (o *originals) take(n int) map[string][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := map[string][]string{}
	for record, candidates := range o.stale {
		if len(taken) == n {
			break
		}
		taken[record] = candidates
		delete(o.stale, record)
	}
	return taken
}

// watchOriginals observes the brain from now on.
func (s *Service) watchOriginals(h brain.Handle, o *originals) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.subscribed {
		return
	}
	o.subscribed, o.shared = true, h.Leased()
	h.Subscribe(func(e store.ChangeEvent) {
		if o.observe(e) {
			s.scheduleTidying(h, o)
		}
	})
}

// scheduleTidying changes stale records in the background.
func (s *Service) scheduleTidying(h brain.Handle, o *originals) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.jobs.closed || o.scheduled {
		return
	}
	o.scheduled = true
	s.goWith(h, func() {
		o.mu.Lock()
		o.scheduled = false
		o.mu.Unlock()
		s.tidyInBackground(h)
	})
}

func (s *Service) tidyInBackground(h brain.Handle) {
	err := s.tidyOriginals(s.jobs.ctx, h)
	if err != nil && h.Err() == nil && !errors.Is(err, store.ErrGone) && s.jobs.ctx.Err() == nil {
		s.cfg.Logger.Error("cannot remove the originals of deleted documents; the next ingest tries again",
			"brain", h.Brain().ID, "error", err)
	}
}

// tidyOriginals makes the records agree with the documents.
func (s *Service) tidyOriginals(ctx context.Context, h brain.Handle) error {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return err
	}
	o := s.originals.of(h)
	s.watchOriginals(h, o)
	o.tidying.Lock()
	defer o.tidying.Unlock()
	if h.Leased() && o.store != st {
		o.read = false // other processes may have changed records while no store was open here
	}
	if !o.read {
		if err := o.readAll(ctx, st); err != nil {
			return err
		}
		o.read, o.store = true, st
	}
	if err := o.readForeign(ctx, st); err != nil {
		return err
	}
	const most = 64 // records in one batch
	for stale := o.take(most); len(stale) > 0; stale = o.take(most) {
		if err := o.settle(ctx, st, stale); err != nil {
			o.mu.Lock()
			for record, candidates := range stale {
				o.markStale(record, candidates)
			}
			o.mu.Unlock()
			return err
		}
	}
	return nil
}

// settle lets each record follow its document, or removes it with its original.
func (o *originals) settle(ctx context.Context, st *store.Store, stale map[string][]string) error {
	opts := store.BatchOptions{Reason: "remove the originals of deleted documents"}
	return st.Batch(ctx, opts, func(b *store.Batch) error {
		var records []ingestRecord
		names := slices.Sorted(maps.Keys(stale))
		candidates := slices.Concat(slices.Collect(maps.Values(stale))...)
		documents := slices.Clone(candidates)
		err := readEach(ctx, b, filesAt(names...), func(d store.Document) error {
			if d.Err != nil {
				return d.Err
			}
			record := parseIngestRecord(d.Path, []byte(d.Content))
			records = append(records, record)
			if record.Document != "" {
				documents = append(documents, record.Document)
			}
			return nil
		})
		if err != nil {
			return err
		}
		of, err := recordsOf(ctx, b, documents)
		if err != nil {
			return err
		}
		moved := map[string]string{} // by path of the record
		for _, name := range candidates {
			moved[of[name]] = name
		}
		for i, name := range names {
			if document := records[i].Document; document != "" && (of[document] == name || of[document] == unknownRecord) {
				o.add(document, name) // it stays
			} else if err := o.settleOne(ctx, b, name, records[i], moved[name]); err != nil {
				return err
			}
		}
		return nil
	})
}

// unknownRecord replaces the record of a document that cannot be read.
const unknownRecord = "?"

// recordsOf returns the paths of the records that the documents' front matter names.
func recordsOf(ctx context.Context, r documentReader, documents []string) (map[string]string, error) {
	slices.Sort(documents)
	records := map[string]string{}
	err := readEach(ctx, r, filesAt(slices.Compact(documents)...), func(d store.Document) error {
		if d.Err != nil {
			records[d.Path] = unknownRecord
		} else if sha256, kind := ingestedFrom(d.Content); len(sha256) == 64 {
			records[d.Path] = recordPath(sha256, kind)
		}
		return nil
	})
	return records, err
}

// settleOne changes the record at a path whose document has gone. moved is the new path of the
// document, or "".
func (o *originals) settleOne(ctx context.Context, b *store.Batch, name string, record ingestRecord, moved string) error {
	sha256, kind, ok := parseRecordPath(name)
	if !ok {
		return nil
	}
	if moved == "" {
		return deleteAll(ctx, b, name, originalPath(sha256, kind))
	}
	record.Document, record.SHA256, record.Kind = moved, sha256, kind
	o.addOwn(moved, name)
	return record.write(ctx, b)
}

func deleteAll(ctx context.Context, b *store.Batch, names ...string) error {
	for _, name := range names {
		if err := b.Delete(ctx, name); err != nil && !store.IsNotFound(err) {
			return err
		}
	}
	return nil
}
