package fsstore

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"evalctl/daemon/store"
)

// Version 1 of the layout has one batch in its journal: oldBatchMagic, the CRC-32C and the length of
// an encoded oldBatch (4 and 8 bytes, big-endian), and the batch. While it was applied, the documents
// that it replaced were in undoDir.
//
// Version 2 has the two logs, which begin with their first record. Records have oldRecordMagic, and
// nothing about the files before. A log was emptied by writing zeros over the header of its first
// record.
const (
	oldBatchMagic   = "fsjrnl1\n"
	oldBatchHeader  = len(oldBatchMagic) + 4 + 8
	oldRecordMagic  = "fsl2"
	undoDir         = stateDir + "/undo"
	oldBatchWritten = "write"
	oldBatchDeleted = "delete"
)

type oldBatch struct {
	When time.Time
	Ops  []oldOp
}

type oldOp struct {
	Kind, Path string
	Data       []byte
}

// upgrade completes the files of the documents that the logs of an older layout have, and creates new
// logs. Until the new version is written, an interrupted upgrade is repeated.
func (b *backend) upgrade() (err error) {
	history := map[string][]*logEntry{}
	var logs []*log // the older one first
	for i, l := range []**log{&b.active, &b.spare} {
		if *l, err = newLog(b.disk, logFiles[i]); err != nil {
			return err
		}
		logs = append(logs, *l)
	}
	records, err := b.readOldLogs(logs)
	if err != nil {
		return err
	}
	for _, doc := range records {
		history[doc.path] = append(history[doc.path], doc)
	}
	if err := b.restore(history, b.aside); err != nil {
		return fmt.Errorf("finish interrupted writes: %w", err)
	}
	if len(records) > 0 && records[0].log == b.spare {
		slices.Reverse(logs)
	}
	// The older one first: without the newer one, it would bring back documents that the newer one
	// has replaced.
	for _, l := range logs {
		if err := errors.Join(l.shorten(0), l.file.datasync()); err != nil {
			return err
		}
	}
	for _, l := range logs {
		if err := l.create(); err != nil {
			return err
		}
	}
	return b.home.RemoveAll(undoDir)
}

// readOldLogs returns the operations in the logs of an older layout, in the order of their commits.
func (b *backend) readOldLogs(logs []*log) ([]*logEntry, error) {
	var docs []*logEntry
	type numbered struct {
		record
		log *log
	}
	var all []numbered
	for _, l := range logs {
		data, err := l.content(0, l.size)
		if err != nil {
			return nil, err
		}
		batch, ok, err := decodeOldBatch(data)
		if err != nil {
			return nil, &logError{l.name, 0, "the batch in it cannot be decoded", err}
		}
		if ok {
			return batch, nil
		}
		records, err := readOldLog(l.name, data)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			all = append(all, numbered{r, l})
		}
	}
	slices.SortStableFunc(all, func(a, b numbered) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	for _, r := range all {
		for _, op := range r.ops {
			docs = append(docs, &logEntry{loggedOp: op, log: r.log, when: r.when})
		}
	}
	return docs, nil
}

// decodeOldBatch returns the operations of a batch. ok is false if there is no complete one: then it
// was not committed.
func decodeOldBatch(data []byte) (docs []*logEntry, ok bool, err error) {
	if len(data) < oldBatchHeader || string(data[:len(oldBatchMagic)]) != oldBatchMagic {
		return nil, false, nil
	}
	sum := binary.BigEndian.Uint32(data[len(oldBatchMagic):])
	size := binary.BigEndian.Uint64(data[len(oldBatchMagic)+4:])
	body := data[oldBatchHeader:]
	if size != uint64(len(body)) || sum != crc32.Checksum(body, castagnoli()) {
		return nil, false, nil
	}
	var batch oldBatch
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&batch); err != nil {
		return nil, false, err
	}
	for _, op := range batch.Ops {
		if err := store.ValidPath(op.Path); err != nil {
			return nil, false, &store.Error{Op: "apply", Path: op.Path, Err: err}
		}
		if op.Kind != oldBatchWritten && op.Kind != oldBatchDeleted {
			return nil, false, errOperation
		}
		docs = append(docs, &logEntry{when: batch.When, data: op.Data, loggedOp: loggedOp{
			path: op.Path, deleted: op.Kind == oldBatchDeleted, size: int64(len(op.Data)),
		}})
	}
	return docs, true, nil
}

// readOldLog returns the records of a log of version 2. The contents of their operations are at
// offsets of the file.
func readOldLog(name string, data []byte) (found []record, err error) {
	end := int64(0)
	for {
		r, ok, err := decodeRecord(oldRecordMagic, data[end:])
		if err != nil {
			return nil, &logError{name, end, fmt.Sprintf("record %d cannot be decoded", len(found)+1), err}
		}
		if !ok || len(found) > 0 && (r.salt != found[0].salt || r.number <= found[len(found)-1].number) {
			break
		}
		for i := range r.ops {
			r.ops[i].offset += end
		}
		end += r.size
		found = append(found, r)
	}
	rest := data[end:]
	if len(rest) < recordHeader || len(found) == 0 && string(rest[:4]) != oldRecordMagic {
		return found, nil
	}
	salt, number := binary.BigEndian.Uint64(rest[8:]), uint64(0)
	if len(found) > 0 {
		salt, number = found[0].salt, found[len(found)-1].number
	}
	if hasLater(oldRecordMagic, rest[recordHeader:], salt, number) {
		return nil, &logError{name, end, fmt.Sprintf("record %d is incomplete", len(found)+1), nil}
	}
	return found, nil
}
