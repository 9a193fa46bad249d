package fsstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"evalctl/daemon/store"
)

// openLogs opens both logs, and completes the files of their documents. closed reports whether the
// store was closed: then the logs are empty, and their state does not matter.
func (b *backend) openLogs(closed bool) (err error) {
	var contents [2]logContent
	for i, l := range []**log{&b.active, &b.spare} {
		name := logFiles[i]
		_, err := b.home.Lstat(name)
		missing := errors.Is(err, fs.ErrNotExist)
		if missing && !closed {
			return &logError{name, 0, "it is missing", nil}
		}
		if *l, err = newLog(b.disk, name); err != nil {
			return err
		}
		contents[i], err = readLog(*l)
		if contents[i].headers == 0 && closed && err != nil {
			contents[i], err = logContent{log: *l, headers: 2}, (*l).create()
		}
		if err != nil {
			return err
		}
	}
	older, newer, err := order(contents[0], contents[1])
	if err == nil && !closed {
		err = errors.Join(older.log.renew(), newer.log.renew())
	}
	if err != nil {
		return err
	}
	// The older log gets the next records, because the newer one must be kept until it is emptied.
	b.active, b.spare, b.number = older.log, newer.log, newer.log.number
	return b.replay([]logContent{older, newer})
}

// replay completes the files of the documents that logs have, and empties the logs.
func (b *backend) replay(logs []logContent) error {
	history := map[string][]*logEntry{}
	for _, c := range logs {
		b.report(c)
		for _, r := range c.records {
			for _, op := range r.ops {
				doc := &logEntry{loggedOp: op, log: c.log, when: r.when}
				history[op.path] = append(history[op.path], doc)
			}
		}
	}
	switch err := b.restore(history, b.beside); {
	case isStuck(err):
		b.keepLogs(logs[0], logs[1])
		return nil
	case err != nil:
		return fmt.Errorf("finish interrupted writes: %w", err)
	}
	// The older one first: without the newer one, it would bring back documents that the newer one
	// has replaced.
	for _, c := range logs {
		if len(c.records) > 0 || c.torn || c.headers < 2 {
			if err := c.log.begin(); err != nil {
				return err
			}
		}
		if err := c.log.shorten(slotsSize); err != nil { // see erase
			return err
		}
		_ = c.log.grow(firstLogSize) // for deletions on a disk that is full later
	}
	return nil
}

// keepLogs leaves the logs as they are, because they have documents that cannot be written to their
// files. Commits go to the newer one.
func (b *backend) keepLogs(older, newer logContent) {
	b.active, b.spare = newer.log, older.log
	if len(older.records) > 0 {
		b.full, b.spare = older.log, nil
	}
}

// report logs the unused parts of a log.
func (b *backend) report(c logContent) {
	if c.torn {
		b.logger.Warn("incomplete write discarded: it was not acknowledged", "file", c.log.name, "offset", c.log.end,
			"write", c.log.number+1)
	}
	if c.headers < 2 {
		b.logger.Warn("one of the two headers of a log cannot be read, and is written again", "file", c.log.name)
	}
}

// restore updates the files of the documents to the history of the logs. It keeps a file that
// somebody else has changed. After a stuckError all other documents are in their files.
func (b *backend) restore(history map[string][]*logEntry, where keeper) error {
	if len(history) == 0 {
		return nil
	}
	var foreign []foundFile
	for _, path := range slices.Sorted(maps.Keys(history)) {
		versions := history[path]
		last := versions[len(versions)-1]
		file, err := b.files.Place(path, true)
		if err != nil && b.obstacle(path) == "" {
			return err
		}
		state, err := b.compare(file, last, versions)
		if err != nil {
			return err
		}
		if state == foreignFile {
			foreign = append(foreign, foundFile{path, file})
		}
		if state != currentFile {
			b.logRestored(last, state)
		}
		// Also a file that has the document is written again: it may be in the memory of the
		// kernel only, which gives up what it could not write to the disk, and reports that
		// once.
		if state != currentFile || !last.deleted {
			b.pending.Put(path, last)
		}
	}
	if err := b.keep(foreign, where, "its content is neither in the log nor the previous version"); err != nil {
		return err
	}
	stuck := b.layOut(b.waitingFor(true), nil)
	if stuck != nil && !isStuck(stuck) {
		return stuck
	}
	if err := b.keep(b.obstacles(), where, "it is in the way of a document"); err != nil {
		return err
	}
	if err := b.layOut(b.waitingFor(false), nil); isStuck(err) {
		stuck = err
	} else if err != nil {
		return err
	}
	return cmp.Or(b.disk.sync(), stuck)
}

// waitingFor returns the pending deletions or the pending writes.
func (b *backend) waitingFor(deletions bool) []*logEntry {
	return slices.DeleteFunc(b.waiting(), func(doc *logEntry) bool { return doc.deleted != deletions })
}

// fileCondition is the condition of a document's file after a crash.
type fileCondition string

const (
	currentFile fileCondition = "" // nothing is to be done
	missingFile fileCondition = "the file was missing"
	tornFile    fileCondition = "the file was incomplete"
	olderFile   fileCondition = "the file had an earlier version"
	datedFile   fileCondition = "the file had another time"
	foreignFile fileCondition = "the file was changed by hand"
)

func (b *backend) logRestored(doc *logEntry, state fileCondition) {
	what := "document restored from the log"
	if doc.deleted {
		what = "deletion of a document completed"
	}
	b.logger.Info(what, "path", doc.path, "why", string(state))
}

// compare compares the file of a document with all its versions in the logs. last is the last of
// the versions. Times do not decide, because clocks can be set, and files be restored.
func (b *backend) compare(file string, last *logEntry, versions []*logEntry) (fileCondition, error) {
	info, err := b.files.Root.Lstat(cmp.Or(file, last.path))
	switch {
	case err != nil && !store.IsNotFound(store.NoFile(err)) && b.obstacle(last.path) == "":
		return "", err
	case err != nil || info.IsDir(): // a directory can be left over, or be in the way
		if last.deleted {
			return currentFile, nil
		}
		return missingFile, nil
	case !info.Mode().IsRegular():
		return foreignFile, nil
	}
	found, sum, err := b.readFile(file, largest(versions))
	if errors.Is(err, fs.ErrPermission) {
		return foreignFile, nil
	}
	if err != nil {
		return "", err
	}
	state := foreignFile
	if len(found) == 0 && info.Size() == 0 {
		state = tornFile // nobody misses it
	}
	for _, v := range slices.Backward(versions) {
		if v.before.known && v.before == sum {
			state = olderFile
		}
		if v.deleted || info.Size() > v.size {
			continue
		}
		data, err := v.content()
		if err != nil {
			return "", err
		}
		switch whole := string(found) == string(data); {
		case whole && v == last && info.ModTime().Equal(v.when):
			return currentFile, nil
		case whole && v == last:
			return datedFile, nil
		case whole:
			state = olderFile
		case state == foreignFile && store.Torn(found, data):
			state = tornFile
		}
	}
	return state, nil
}

// largest returns the size of the largest version.
func largest(versions []*logEntry) (size int64) {
	for _, v := range versions {
		size = max(size, v.size)
	}
	return size
}

// readFile returns the content of a file, unless it is larger than limit, and its sum.
func (b *backend) readFile(name string, limit int64) (found []byte, sum fileSum, err error) {
	file, err := b.files.Root.Open(name)
	if err != nil {
		return nil, sum, err
	}
	defer file.Close()
	found, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(found)) <= limit {
		return found, sumOfBytes(found), err
	}
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		sum, err = sumOf(file, limit)
	}
	return nil, sum, err
}
