package fsstore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"evalctl/daemon/store"
)

// dirWriter creates the documents of a batch. It keeps the directory of the last document open,
// because opening it costs more than creating a file, and most batches write to few directories.
// The batch cannot remove that directory meanwhile: it has one operation for each path, so it
// does not delete the documents that it creates.
type dirWriter struct {
	docs *os.Root
	dir  string
	open *os.Root // of dir; nil if none is open
}

// create creates a document. If there is one already, it fails with fs.ErrExist and changes
// nothing. created reports whether there is a new file, even one with incomplete content.
// Directories can have been created in either case.
func (f *dirWriter) create(name string, data []byte, when time.Time) (created bool, err error) {
	if err := f.openDir(store.FileDir(name)); err != nil {
		return false, err
	}
	base := path.Base(name)
	file, err := f.open.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return false, err
	}
	_, err = file.Write(data)
	return true, errors.Join(err, file.Close(), f.open.Chtimes(base, when, when))
}

// openDir opens dir unless it is open, and creates it if it does not exist.
func (f *dirWriter) openDir(dir string) error {
	if f.open != nil && f.dir == dir {
		return nil
	}
	f.close()
	open, err := f.docs.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.docs.MkdirAll(dir, dirMode); err == nil {
			open, err = f.docs.OpenRoot(dir)
		}
	}
	f.dir, f.open = dir, open
	return err
}

func (f *dirWriter) close() {
	if f.open != nil {
		f.open.Close()
		f.open = nil
	}
}
