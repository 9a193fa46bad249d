package fsstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"evalctl/daemon/store"
)

// repair finishes what a crash has interrupted: it writes the documents of the logs to their files,
// and removes what is left over.
func (b *backend) repair() error {
	var err error
	if b.active, err = newLog(b.disk, logFiles[0]); err != nil {
		return err
	}
	if _, err := b.home.Lstat(logFiles[1]); err == nil {
		if b.spare, err = newLog(b.disk, logFiles[1]); err != nil {
			return err
		}
	}
	if err := b.replay(); err != nil {
		return fmt.Errorf("finish interrupted writes: %w", err)
	}
	if err := b.home.Remove(stagedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = b.home.Remove(closedFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = b.files.PruneTree() // walks the whole tree, which is needed only after a crash
	}
	if err != nil {
		return err
	}
	return syncDir(b.home, stateDir)
}

// replay writes the documents of the logs to their files, and empties the logs.
func (b *backend) replay() error {
	versions := map[string][]*logged{}
	if err := b.readLogs(versions); err != nil {
		return err
	}
	if len(versions) > 0 {
		err := b.restore(versions)
		if isStuck(err) {
			return b.keepLogs()
		}
		if err != nil {
			return err
		}
	}
	// The older one first: without the newer one, it would bring back what that has replaced.
	logs := []*log{b.active, b.spare}
	if b.spare != nil && b.spare.first < b.active.first {
		slices.Reverse(logs)
	}
	for _, l := range logs {
		if l == nil || l.size == 0 {
			continue
		}
		if err := errors.Join(l.empty(), l.file.datasync()); err != nil {
			return err
		}
	}
	b.pending = store.NewOverlay[*logged]()
	return nil
}

// keepLogs leaves the logs as they are, because there are documents in them that cannot be written to
// their files. Commits go to the newer one.
func (b *backend) keepLogs() error {
	if b.spare == nil || b.spare.end == 0 {
		return nil
	}
	if b.active.end == 0 || b.active.first < b.spare.first {
		b.active, b.spare = b.spare, b.active
	}
	if b.spare.end > 0 {
		b.full, b.spare = b.spare, nil
	}
	return nil
}

// readLogs sets pending to what the logs have, and versions to all that they have of each document.
func (b *backend) readLogs(versions map[string][]*logged) error {
	type located struct {
		record
		log *log
	}
	var all []located
	for _, l := range []*log{b.active, b.spare} {
		if l == nil || l.size == 0 {
			continue
		}
		found, err := readRecords(l)
		if err != nil {
			return err
		}
		for _, r := range found {
			all = append(all, located{r, l})
		}
	}
	slices.SortFunc(all, func(a, b located) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	for _, r := range all {
		b.number = r.number
		for _, op := range r.ops {
			doc := &logged{loggedOp: op, log: r.log, when: r.when}
			versions[op.path] = append(versions[op.path], doc)
			b.pending.Put(doc.path, doc)
		}
	}
	return nil
}

// restore writes what is pending to the files of the documents, except to files that somebody has
// changed since.
func (b *backend) restore(versions map[string][]*logged) error {
	for path, doc := range b.pending.Docs {
		edited, err := b.edited(doc, versions[path])
		if err != nil {
			return err
		}
		if edited {
			b.pending.Remove(path)
		}
	}
	if err := b.layOut(b.waiting(), nil); err != nil {
		return err
	}
	return b.disk.sync()
}

// edited reports whether a file was changed by hand after the crash: it is newer than the last commit
// of the document, and not what a crash can leave of one.
func (b *backend) edited(last *logged, versions []*logged) (bool, error) {
	name, err := b.files.Place(last.path, true)
	if err != nil {
		return false, err
	}
	info, err := b.files.Root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || !info.ModTime().After(last.when) {
		if err != nil && store.IsNotFound(store.NoFile(err)) {
			err = nil
		}
		return false, err
	}
	file, err := b.files.Root.Open(name)
	if err != nil {
		return false, err
	}
	found, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	for _, v := range versions {
		if v.deleted {
			continue
		}
		data, err := v.content()
		if err != nil {
			return false, err
		}
		if torn(found, data) {
			return false, nil
		}
	}
	return true, nil
}

// torn reports whether a crash can have left found of a file to which data was written, without a
// sync: all of it or its beginning, parts of which are zeros.
func torn(found, data []byte) bool {
	if len(found) > len(data) {
		return false
	}
	for i, c := range found {
		if c != data[i] && c != 0 {
			return false
		}
	}
	return true
}
