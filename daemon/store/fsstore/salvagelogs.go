package fsstore

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// readLogs finds all complete records, in whatever order they are.
func (s *salvager) readLogs(root *os.Root) {
	for _, name := range logFiles {
		data, err := readDamaged(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			s.lose("%s is missing", name)
			continue
		}
		if err != nil {
			s.lose("%s cannot be read, or not all of it: %v", name, err)
		}
		if data == nil {
			continue
		}
		if batch, ok, err := decodeOldBatch(data); ok && err == nil {
			for _, doc := range batch {
				s.versions = append(s.versions, version{doc.path, doc.deleted, 1, true, doc.when, doc.data})
			}
			continue
		}
		if bytes.HasPrefix(data, []byte(oldRecordMagic)) || len(data) == 0 {
			_, err = readOldLog(name, data)
		} else {
			l := &log{name: name, file: readOnlyLog{bytes.NewReader(data)}, size: int64(len(data))}
			_, err = readLog(l)
		}
		if err != nil {
			s.lose("%v", err)
		}
		s.findRecords(data)
	}
	slices.SortStableFunc(s.versions, func(a, b version) int {
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	})
	for i := range s.versions {
		v := &s.versions[i]
		v.current = v.current && v.number > s.emptied
	}
	s.reportMissing()
	for _, v := range s.versions {
		if v.current {
			s.docs[v.path] = v
		}
	}
}

// readDamaged reads a file. Without an error it is complete; otherwise zeros are in the place of
// what cannot be read, or there is no data at all.
func readDamaged(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBlocks(f, info.Size())
}

// readBlocks reads a file block by block, because a disk that cannot read one may read the
// others.
func readBlocks(file io.ReaderAt, size int64) (data []byte, err error) {
	data = make([]byte, size)
	for at := int64(0); at < size; at += slotSize {
		block := data[at:min(at+slotSize, size)]
		if n, readErr := file.ReadAt(block, at); n < len(block) {
			err = cmp.Or(err, readErr)
			clear(block)
		}
	}
	return data, err
}

// findRecords finds the complete records of a log, including those that are left from earlier
// times.
func (s *salvager) findRecords(data []byte) {
	header, _, headers := latestHeader(data)
	if header.end == slotsSize {
		s.emptied = max(s.emptied, header.number)
	}
	first, isFirst, _ := decodeRecord(oldRecordMagic, data)
	cleared := len(data) >= recordHeader && bytes.Count(data[:recordHeader], []byte{0}) == recordHeader
	for at := 0; at < len(data); {
		i := bytes.Index(data[at:], []byte(recordMagic[:3]))
		if i < 0 {
			return
		}
		at += i
		// current is set if the record may be missing in files. Without a header it is set, and
		// for a number that the log cannot have been emptied after.
		r, ok, err := decodeRecord(recordMagic, data[at:])
		current := headers == 0 || r.salt == header.salt || r.number > header.number
		if !ok {
			r, ok, err = decodeRecord(oldRecordMagic, data[at:])
			current = !cleared && (!isFirst || r.salt == first.salt)
		}
		if !ok || err != nil {
			at++
			continue
		}
		for _, op := range r.ops {
			content := data[at:][op.offset : op.offset+op.size]
			s.versions = append(s.versions, version{op.path, op.deleted, r.number, current, r.when, content})
		}
		at += int(r.size)
	}
}

// reportMissing reports writes whose numbers are missing among the current ones.
func (s *salvager) reportMissing() {
	last := uint64(0)
	for _, v := range s.versions {
		if v.current && last > 0 && v.number > last+1 {
			s.lose("none of the writes with the numbers %d to %d can be read", last+1, v.number-1)
		}
		if v.current {
			last = v.number
		}
	}
}

// readOnlyLog is a logFile with a content that was read.
type readOnlyLog struct{ *bytes.Reader }

func (readOnlyLog) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (readOnlyLog) Truncate(int64) error               { return errors.ErrUnsupported }
func (readOnlyLog) Stat() (fs.FileInfo, error)         { return nil, errors.ErrUnsupported }
func (readOnlyLog) Close() error                       { return nil }
func (readOnlyLog) datasync() error                    { return errors.ErrUnsupported }
