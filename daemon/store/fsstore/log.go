package fsstore

import (
	"errors"
	"io/fs"
	"time"

	"evalctl/daemon/store"
)

const (
	// firstLogSize is the least size of a log after its first record. It grows by doubling, but by
	// at most maxLogGrowth at a time.
	firstLogSize = 32 << 10
	maxLogGrowth = 4 << 20
	// deleteReserve is the room at the end of a log that only deletions get, so that deleting is
	// possible on a full disk.
	deleteReserve = 16 << 10
	// keptLogSize is the space that an empty log keeps for its next records.
	keptLogSize = 1 << 20
)

// log is a file with the commits that may not be in the files of the documents yet. Its space is
// filled with zeros before use, and reused after the log was emptied. So a record needs no change
// to the file system's own data, and the disk has less to wait for.
type log struct {
	name   string // relative to the folder of the store
	file   logFile
	info   fs.FileInfo // of the file when it was opened
	header header      // as it was written last
	slot   int         // of header
	number uint64      // of the last record, also of those before the log was emptied
	end    int64       // of the last record
	size   int64       // of the file
}

// newLog opens a log, which the caller reads, or begins.
func newLog(d disk, name string) (*log, error) {
	file, err := d.openLog(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &log{name: name, file: file, info: info, end: slotsSize, size: info.Size()}, nil
}

func (l *log) empty() bool { return l.end == slotsSize }

// append makes a commit durable, and returns where the log has the contents. If it fails, the
// commit is not in the log, unless unclear is set.
func (l *log) append(number uint64, when time.Time, ops []store.Op, before []fileSum) (logged []loggedOp, unclear bool, err error) {
	pieces, logged := encodeRecord(l.header.salt, number, when, ops, before)
	size := int64(0)
	for _, p := range pieces {
		size += int64(len(p))
	}
	if err := l.makeRoom(size, ops); err != nil {
		return nil, false, err
	}
	at := l.end
	for _, p := range pieces {
		if _, err = l.file.WriteAt(p, at); err != nil {
			break
		}
		at += int64(len(p))
	}
	if err == nil {
		err = l.file.datasync()
	}
	if err != nil {
		eraseErr := l.erase(l.end)
		return nil, eraseErr != nil, errors.Join(err, eraseErr)
	}
	for i := range logged {
		logged[i].offset += l.end
	}
	l.end, l.number = l.end+size, number
	// The commit is durable without this, and the next one tries again.
	_ = l.writeHeader(header{salt: l.header.salt, number: number, end: l.end})
	return logged, false, nil
}

// makeRoom makes the file large enough for another record.
func (l *log) makeRoom(size int64, ops []store.Op) error {
	reserve := int64(0)
	for _, op := range ops {
		if op.Kind != store.OpDelete {
			reserve = deleteReserve
		}
	}
	need := l.end + size + reserve
	if need <= l.size {
		return nil
	}
	err := l.grow(max(need, firstLogSize, min(2*l.size, l.size+maxLogGrowth)))
	if err != nil {
		err = l.grow(need) // a full disk may have room for this
	}
	return err
}

func (l *log) grow(size int64) error {
	zeros := make([]byte, min(size-l.size, 256<<10))
	for at := l.size; at < size; at += int64(len(zeros)) {
		if _, err := l.file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return errors.Join(err, l.file.Truncate(l.size))
		}
	}
	l.size = size
	return nil
}

// erase makes the record at an offset, the last one, unreadable, durably. The next record gets new
// space: on ext4, what is written to space whose first write the disk refused is lost in a crash,
// although it is synced.
func (l *log) erase(offset int64) error {
	if _, err := l.file.WriteAt(make([]byte, recordHeader), offset); err != nil {
		return err
	}
	if err := l.file.datasync(); err != nil {
		return err
	}
	return l.shorten(offset)
}

// clear empties the log, durably.
func (l *log) clear() error {
	if l.empty() {
		return nil
	}
	if err := l.begin(); err != nil {
		return err
	}
	return l.shorten(keptLogSize)
}

// shorten limits the size of an empty log. It is not durable.
func (l *log) shorten(size int64) error {
	if l.size <= size {
		return nil
	}
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	l.size = size
	return nil
}

// content reads a part of the log.
func (l *log) content(offset, size int64) ([]byte, error) {
	data := make([]byte, size)
	if size == 0 {
		return data, nil
	}
	_, err := l.file.ReadAt(data, offset)
	return data, err
}
