package fsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"evalctl/daemon/store"
)

// olderDir has, in a folder that Salvage has made, earlier versions of documents: below the number
// of their write, or below olderFiles if they were in the folder of the documents.
const (
	olderDir   = "older"
	olderFiles = "files"
)

// SalvageReport is the result of Salvage.
type SalvageReport struct {
	Documents int      // that were copied
	FromLogs  int      // documents that were only in logs
	Older     int      // versions
	Lost      []string // what could not be read, a sentence each
}

// Salvage copies the readable documents of the store in dir to the folder out, which it creates,
// and which Open takes for a new store with these documents. It takes the last version of each
// document in the logs, otherwise its file. Other versions go to the folder older of out. It
// changes nothing in dir, and does not lock it: no program may have it open.
func Salvage(ctx context.Context, dir, out string) (SalvageReport, error) {
	s := &salvager{docs: map[string]version{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s.SalvageReport, err
	}
	defer root.Close()
	if err := s.readLogs(root); err != nil {
		return s.SalvageReport, err
	}
	if s.out, err = store.OpenDir(ctx, out); err != nil {
		return s.SalvageReport, err
	}
	defer s.out.Close()
	if err := s.out.Mkdir(documentsDir, dirMode); err != nil {
		return s.SalvageReport, err
	}
	if err := s.writeVersions(); err != nil {
		return s.SalvageReport, err
	}
	if err := s.copyFiles(ctx, root); err != nil {
		return s.SalvageReport, err
	}
	return s.SalvageReport, nil
}

type salvager struct {
	SalvageReport
	out      *os.Root
	versions []version          // in the order of their numbers
	docs     map[string]version // the last version that the logs have, of those that may not be in files
}

// version is an operation that a log has.
type version struct {
	path    string
	deleted bool
	number  uint64
	current bool // it may not be in the file of the document
	when    time.Time
	data    []byte
}

// readLogs finds all complete records, in whatever order they are.
func (s *salvager) readLogs(root *os.Root) error {
	for _, name := range logFiles {
		data, err := root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			s.Lost = append(s.Lost, name+" is missing")
			continue
		}
		if err != nil {
			return err
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
			s.Lost = append(s.Lost, err.Error())
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
	s.reportMissing()
	for _, v := range s.versions {
		if v.current {
			s.docs[v.path] = v
		}
	}
	return nil
}

// findRecords finds the complete records of a log, including those that are left from earlier
// times.
func (s *salvager) findRecords(data []byte) {
	header, _, headers := latestHeader(data)
	first, isFirst, _ := decodeRecord(oldRecordMagic, data)
	cleared := len(data) >= recordHeader && bytes.Count(data[:recordHeader], []byte{0}) == recordHeader
	for at := 0; at < len(data); {
		i := bytes.Index(data[at:], []byte(recordMagic[:3]))
		if i < 0 {
			return
		}
		at += i
		// current is set if the record may be missing in files. Without a header it is set.
		r, ok, err := decodeRecord(recordMagic, data[at:])
		current := headers == 0 || r.salt == header.salt
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
			s.Lost = append(s.Lost, fmt.Sprintf("none of the writes with the numbers %d to %d can be read", last+1, v.number-1))
		}
		if v.current {
			last = v.number
		}
	}
}

// writeVersions writes the versions in the logs.
func (s *salvager) writeVersions() error {
	for _, path := range slices.Sorted(maps.Keys(s.docs)) {
		if v := s.docs[path]; !v.deleted {
			if err := s.writeDocument(path, v.data, v.when); err != nil {
				return err
			}
			s.FromLogs++
		}
	}
	for _, v := range s.versions {
		if last, ok := s.docs[v.path]; v.deleted || ok && !last.deleted && bytes.Equal(last.data, v.data) {
			continue
		}
		if err := s.writeOlder(fmt.Sprint(v.number), v.path, v.data, v.when); err != nil {
			return err
		}
	}
	return nil
}

// copyFiles copies the files of documents. If the logs have a later, different version, the file is
// an older one.
func (s *salvager) copyFiles(ctx context.Context, root *os.Root) error {
	documents, err := root.OpenRoot(documentsDir)
	if err != nil {
		s.Lost = append(s.Lost, fmt.Sprintf("the folder %s cannot be read: %v", documentsDir, err))
		return nil
	}
	defer documents.Close()
	return fs.WalkDir(documents.FS(), ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return ctx.Err()
		}
		path, ok := store.DecodePath(file)
		if err == nil && (!d.Type().IsRegular() || !ok) {
			err = errors.New("it is not a document")
		}
		var data []byte
		var info fs.FileInfo
		if err == nil {
			if info, err = d.Info(); err == nil {
				data, err = documents.ReadFile(file)
			}
		}
		if err != nil {
			s.Lost = append(s.Lost, fmt.Sprintf("%s/%s was left out: %v", documentsDir, file, err))
			return nil
		}
		last, ok := s.docs[path]
		switch {
		case !ok:
			return s.writeDocument(path, data, info.ModTime())
		case !last.deleted && bytes.Equal(last.data, data):
			s.FromLogs--
			return nil
		}
		return s.writeOlder(olderFiles, path, data, info.ModTime())
	})
}

// writeDocument writes a document. A document above or below another one cannot be written, and
// becomes an older version.
func (s *salvager) writeDocument(path string, data []byte, when time.Time) error {
	s.Documents++
	err := s.write(documentsDir+"/"+store.EncodePath(path), data, when)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) {
		s.Documents--
		s.Lost = append(s.Lost, fmt.Sprintf("the place of %s, which is in %s/%s: there is another document", path, olderDir, olderFiles))
		return s.writeOlder(olderFiles, path, data, when)
	}
	return err
}

func (s *salvager) writeOlder(below, path string, data []byte, when time.Time) error {
	s.Older++
	return s.write(olderDir+"/"+below+"/"+path, data, when)
}

func (s *salvager) write(name string, data []byte, when time.Time) error {
	if err := s.out.MkdirAll(filepath.ToSlash(filepath.Dir(name)), dirMode); err != nil {
		return err
	}
	return errors.Join(s.out.WriteFile(name, data, fileMode), s.out.Chtimes(name, when, when))
}

// readOnlyLog is a logFile with a content that was read.
type readOnlyLog struct{ *bytes.Reader }

func (readOnlyLog) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (readOnlyLog) Truncate(int64) error               { return errors.ErrUnsupported }
func (readOnlyLog) Stat() (fs.FileInfo, error)         { return nil, errors.ErrUnsupported }
func (readOnlyLog) Close() error                       { return nil }
func (readOnlyLog) datasync() error                    { return errors.ErrUnsupported }
