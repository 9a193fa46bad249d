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
// changes nothing in dir, and does not lock it: no program may have it open. What it has copied
// is durable when it returns. An error is one of the new folder, or of the context.
func Salvage(ctx context.Context, dir, out string) (SalvageReport, error) {
	s := &salvager{docs: map[string]version{}}
	var err error
	if s.out, err = store.OpenDir(ctx, out); err != nil {
		return s.SalvageReport, err
	}
	defer s.out.Close()
	top, err := s.out.Open(".")
	if err != nil {
		return s.SalvageReport, err
	}
	defer top.Close()
	if err := s.copyStore(ctx, dir); err != nil {
		return s.SalvageReport, err
	}
	return s.SalvageReport, syncAll(s.out, top)
}

func (s *salvager) copyStore(ctx context.Context, dir string) error {
	if err := s.out.Mkdir(documentsDir, dirMode); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		s.lose("the folder cannot be read: %v", err)
		return nil
	}
	defer root.Close()
	s.readLogs(root)
	if err := s.writeVersions(); err != nil {
		return err
	}
	return s.copyFiles(ctx, root)
}

type salvager struct {
	SalvageReport
	out      *os.Root
	versions []version          // in the order of their numbers
	docs     map[string]version // the last version that the logs have, of those that may not be in files
	emptied  uint64             // the last write before a log was emptied: it and all before are in files
}

func (s *salvager) lose(format string, args ...any) {
	s.Lost = append(s.Lost, fmt.Sprintf(format, args...))
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
		s.lose("the folder %s cannot be read: %v", documentsDir, err)
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
			s.lose("%s/%s was left out: %v", documentsDir, file, err)
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
	if isTaken(err) {
		s.Documents--
		s.lose("the place of %s, which is in %s/%s: there is another document", path, olderDir, olderFiles)
		return s.writeOlder(olderFiles, path, data, when)
	}
	return err
}

// isTaken reports whether a file cannot be written because of another one above or below it.
func isTaken(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist)
}

// writeOlder writes an older version below a folder, or below a further one if it has no place
// there.
func (s *salvager) writeOlder(below, path string, data []byte, when time.Time) error {
	s.Older++
	err := s.write(olderDir+"/"+below+"/"+path, data, when)
	for n := 2; isTaken(err); n++ {
		err = s.write(fmt.Sprintf("%s/%s-%d/%s", olderDir, below, n, path), data, when)
	}
	return err
}

func (s *salvager) write(name string, data []byte, when time.Time) error {
	if err := s.out.MkdirAll(filepath.ToSlash(filepath.Dir(name)), dirMode); err != nil {
		return err
	}
	return errors.Join(s.out.WriteFile(name, data, fileMode), s.out.Chtimes(name, when, when))
}
