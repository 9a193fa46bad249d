package fsstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"

	"evalctl/daemon/store"
)

const (
	// firstLogSize is the least that a log occupies once it was written to. It grows by doubling, but
	// by at most maxLogGrowth at a time.
	firstLogSize = 32 << 10
	maxLogGrowth = 4 << 20
	// deleteReserve is the room at the end of a log that only deletions get, so that there can be some
	// on a full disk.
	deleteReserve = 16 << 10
	// keptLogSize is what an empty log keeps for its next records.
	keptLogSize = 1 << 20
)

// log is a file with the commits that may not be in the files of the documents yet. Its space is
// written with zeros before it is used, and used again after the log was emptied: so a record needs
// no change to the file system's own data, and the disk has less to wait for.
type log struct {
	name string // relative to the folder of the store
	file logFile
	info fs.FileInfo // of the file when it was opened
	salt uint64
	end  int64 // of the last record
	// first is the number of the first record that readRecords has found.
	first uint64
	size  int64 // of the file
}

// newLog opens a log whose content was read before, or is to be overwritten.
func newLog(d disk, name string) (*log, error) {
	file, err := d.openLog(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &log{name: name, file: file, info: info, salt: rand.Uint64(), size: info.Size()}, nil
}

// append makes a commit durable, and returns where the log has the contents. If it fails, the commit
// is not in the log, unless unclear is set.
func (l *log) append(number uint64, when time.Time, ops []store.Op) (logged []loggedOp, unclear bool, err error) {
	pieces, logged := encodeRecord(l.salt, number, when, ops)
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
	l.end += size
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

// erase makes what is at an offset no record, durably.
func (l *log) erase(offset int64) error {
	if _, err := l.file.WriteAt(make([]byte, recordHeader), offset); err != nil {
		return err
	}
	return l.file.datasync()
}

// clear empties the log, durably.
func (l *log) clear() error {
	if l.end == 0 {
		return nil
	}
	if err := l.erase(0); err != nil {
		return err
	}
	if l.size > keptLogSize {
		if err := l.file.Truncate(keptLogSize); err != nil {
			return err
		}
		l.size = keptLogSize
	}
	l.end, l.salt = 0, rand.Uint64()
	return nil
}

// content reads what the log has of an operation.
func (l *log) content(offset, size int64) ([]byte, error) {
	data := make([]byte, size)
	_, err := l.file.ReadAt(data, offset)
	return data, err
}

// readRecords returns the records of a log. The contents of their operations are at offsets of the
// file.
func readRecords(l *log) (found []record, err error) {
	data, err := l.content(0, l.size)
	if err != nil {
		return nil, err
	}
	l.end = 0
	for {
		r, ok, err := decodeRecord(data[l.end:])
		if err != nil {
			return nil, damagedLog(l.name, l.end, err)
		}
		if !ok || len(found) > 0 && (r.salt != l.salt || r.number <= found[len(found)-1].number) {
			break
		}
		for i := range r.ops {
			r.ops[i].offset += l.end
		}
		if len(found) == 0 {
			l.salt, l.first = r.salt, r.number
		}
		l.end += r.size
		found = append(found, r)
	}
	salt := l.salt
	if len(found) == 0 && len(data) >= recordHeader && string(data[:4]) == recordMagic {
		salt = binary.BigEndian.Uint64(data[8:])
	}
	if hasLater(data[min(l.end+recordHeader, l.size):], salt) {
		return nil, damagedLog(l.name, l.end, nil)
	}
	return found, nil
}

// hasLater reports whether there is a complete record with a salt. Records are written one after the
// other, each once the one before it is on disk, so what precedes it was complete too.
func hasLater(data []byte, salt uint64) bool {
	mark := binary.BigEndian.AppendUint64(nil, salt)
	for at := 0; ; {
		i := bytes.Index(data[at:], mark)
		if i < 0 {
			return false
		}
		if at += i; at >= 8 {
			if _, ok, err := decodeRecord(data[at-8:]); ok && err == nil {
				return true
			}
		}
		at += len(mark)
	}
}

func damagedLog(name string, offset int64, cause error) error {
	return store.Damaged(cause, "the file %s of the store is damaged at byte %d, and has writes that are not in the files of "+
		"the documents yet: restore the store; or, to lose these writes, delete %s and %s of the store", name, offset,
		logFiles[0], logFiles[1])
}

// empty shortens the log to nothing, which Open does not wait for to be durable.
func (l *log) empty() error {
	err := l.file.Truncate(0)
	if err == nil {
		l.size, l.end = 0, 0
	}
	return err
}
