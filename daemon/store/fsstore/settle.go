package fsstore

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"evalctl/daemon/store"
)

// work does the work that is due: it writes documents to their files, or empties a log.
func (b *backend) work() {
	b.settling <- struct{}{}
	defer func() { <-b.settling }()
	b.mu.Lock()
	closed := b.closed
	due := b.full != nil || b.active.end >= fullLog || time.Since(b.dirty) >= settleAfter
	b.mu.Unlock()
	if closed {
		return
	}
	if due {
		_ = b.settleAll()
		return
	}
	b.laying.Lock()
	err := b.layOut(b.waiting(), nil)
	b.laying.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noteFailed(err)
	switch {
	case err == nil:
		b.schedule()
	case isStuck(err):
		b.workIn(settleAfter)
	default:
		b.workIn(retryAfter)
	}
}

// settle writes the documents of the logs to their files, and empties the logs. It waits if that is
// already being done. It does nothing once the store is closed.
func (b *backend) settle() error {
	b.settling <- struct{}{}
	defer func() { <-b.settling }()
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return nil
	}
	return b.settleAll()
}

// settleAll is settle for a caller that has the token. It covers all commits that have ended.
func (b *backend) settleAll() error {
	for {
		full, left, err := b.fill()
		if err == nil && full != nil {
			err = b.settleLog(full)
		}
		b.mu.Lock()
		b.noteFailed(err)
		switch {
		case err != nil && !isStuck(err):
			b.workIn(retryAfter)
		case full != nil:
			b.spare, b.full = full, nil
			if err != nil {
				b.workIn(settleAfter)
			} else if !b.active.empty() {
				b.schedule()
			}
		}
		b.mu.Unlock()
		if err != nil && !isStuck(err) || !left {
			return err
		}
	}
}

// fill returns the log to empty, or nil if there is none. Commits go to the other one. left reports
// whether the log is left from an earlier call and the other one is not empty.
func (b *backend) fill() (full *log, left bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full != nil || b.active.empty() {
		return b.full, b.full != nil && !b.active.empty(), nil
	}
	if err := b.prepareSpare(); err != nil {
		return nil, false, err
	}
	b.active, b.spare, b.full = b.spare, nil, b.active
	b.dirty = time.Time{}
	return b.full, false, nil
}

// prepareSpare makes sure that commits can go on in another log, with room for deletions. The
// caller holds mu.
func (b *backend) prepareSpare() error {
	if b.spare != nil && b.spare.size < firstLogSize {
		return b.spare.grow(firstLogSize)
	}
	return nil
}

// settleLog makes the documents of a log durable in their files, and empties the log, also if it
// returns a stuckError. It also writes the documents of the other log, because a deletion among
// them may make the necessary room. If the folder of the documents was replaced, the log keeps
// them for the folder that is now in its place.
func (b *backend) settleLog(l *log) error {
	if err := errors.Join(b.checkFolder(), b.layOutAgain()); err != nil {
		return err
	}
	b.laying.Lock()
	err := b.layOut(b.waiting(), nil)
	b.laying.Unlock()
	var stuck error
	if isStuck(err) {
		stuck, err = err, b.carry(l)
	}
	if err == nil {
		err = b.syncFiles()
	}
	if err == nil {
		err = b.checkFolder() // it may have been replaced meanwhile
	}
	if err == nil {
		err = l.clear()
	}
	return cmp.Or(err, stuck)
}

// waiting returns the pending operations.
func (b *backend) waiting() []*logEntry {
	b.files.RLock()
	defer b.files.RUnlock()
	return slices.AppendSeq(make([]*logEntry, 0, len(b.pending.Docs)), maps.Values(b.pending.Docs))
}

// sortDocs puts deletions first, because a document can be below a deleted one, and documents of a
// directory next to each other.
func sortDocs(docs []*logEntry) {
	slices.SortFunc(docs, func(a, b *logEntry) int {
		if a.deleted != b.deleted {
			if a.deleted {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(store.FileDir(a.path), store.FileDir(b.path)), cmp.Compare(a.path, b.path))
	})
}

// layOut writes documents to their files. It can be repeated after an error or a crash. It reads
// the contents from the logs, unless ops has the operations with them. After an error of one
// document it goes on with the others, and returns a stuckError. The caller holds laying.
func (b *backend) layOut(docs []*logEntry, ops []store.Op) (err error) {
	defer b.disk.release()
	contents := make(map[string][]byte, len(ops))
	for _, op := range ops {
		contents[op.Path] = op.Data
	}
	sortDocs(docs)
	var done []*logEntry
	var stuck stuckError
	for _, doc := range docs {
		data, ok := contents[doc.path]
		if !ok && !doc.deleted {
			if data, err = doc.content(); err != nil {
				break
			}
		}
		err = b.layOutOne(doc, data)
		if isOfOneDocument(err) {
			stuck, err = stuckError{err, stuck.bytes + doc.size}, nil
			continue
		}
		if err != nil {
			break
		}
		done = append(done, doc)
	}
	if err == nil && stuck.error != nil {
		err = stuck
	}
	b.files.Lock()
	defer b.files.Unlock()
	for _, doc := range done {
		if b.pending.Docs[doc.path] == doc { // otherwise it was changed again
			b.pending.Remove(doc.path)
		}
	}
	if len(b.pending.Docs) == 0 {
		b.pending = store.NewOverlay[*logEntry]() // maps keep the memory of their largest size
	}
	return err
}

// layOutOne writes a document to its file, or removes the file.
func (b *backend) layOutOne(doc *logEntry, data []byte) (err error) {
	if doc.deleted {
		err = b.removeFile(doc.path)
	} else {
		err = b.writeFile(doc, data)
	}
	if err != nil {
		err = &store.Error{Op: "write", Path: doc.path, Err: err}
	}
	b.files.NoteUnwritten(doc.path, err, isOfOneDocument(err))
	return err
}

// removeFile removes the file of a document, if there is one, and directories that are empty then.
// No listing runs meanwhile, because it would miss the directories.
func (b *backend) removeFile(path string) error {
	b.files.Lock()
	defer b.files.Unlock()
	file, err := b.files.Place(path, true)
	if err != nil {
		return err
	}
	info, err := b.files.Root.Lstat(file)
	if err == nil && info.IsDir() {
		return nil // a later operation has replaced the document by a directory
	}
	if err == nil {
		err = b.disk.remove(documentsDir + "/" + file)
	}
	if err != nil && !store.IsNotFound(store.NoFile(err)) {
		return err
	}
	b.disk.prune(store.FileDir(file))
	b.files.Names.Removed(file)
	return nil
}

// writeFile creates or replaces the file of a document. If the file system unexpectedly rejects a
// name, the names are encoded.
func (b *backend) writeFile(doc *logEntry, data []byte) error {
	file, err := b.files.Place(doc.path, true)
	if err != nil {
		return err
	}
	if err = b.replaceFile(file, data, doc.when); err == nil {
		return nil
	}
	encoded, placeErr := b.files.Place(doc.path, false)
	if placeErr != nil || encoded == file {
		return err
	}
	if _, statErr := b.files.Names.Lstat(file); statErr == nil || b.replaceFile(encoded, data, doc.when) != nil {
		return err
	}
	return nil
}

// replaceFile creates or replaces a file in the folder of the documents.
func (b *backend) replaceFile(file string, data []byte, when time.Time) error {
	target := documentsDir + "/" + file
	err := b.disk.create(target, data, when)
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := b.files.Root.Lstat(file); statErr == nil && info.IsDir() {
			b.disk.prune(file) // it is left over if it is empty
			b.files.Names.Removed(file)
			err = b.disk.create(target, data, when)
		} else {
			err = b.renameInto(target, data, when)
		}
	}
	if err == nil {
		b.files.Names.Created(file)
	}
	return err
}

// renameInto replaces a file in one step.
func (b *backend) renameInto(target string, data []byte, when time.Time) error {
	err := b.disk.create(stagedFile, data, when)
	if errors.Is(err, fs.ErrExist) { // an earlier attempt has failed
		if err = b.disk.remove(stagedFile); err == nil {
			err = b.disk.create(stagedFile, data, when)
		}
	}
	if err == nil {
		err = b.disk.rename(stagedFile, target)
	}
	return err
}
