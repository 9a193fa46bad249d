package fsstore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"evalctl/daemon/store"
)

// folder creates documents of a batch. It keeps the directory of the last one
// open, since to walk there costs more than to create a file, and most batches
// fill few directories. That directory stays: a batch has one operation a path, so
// none removes what was created in it.
type folder struct {
	docs *os.Root
	dir  string
	open *os.Root // of dir; nil when there is none
}

// create makes a document that does not exist, or fails with fs.ErrExist and
// has done nothing. It reports whether there is a file now, also one that could
// not be filled; directories can be there in either case.
func (f *folder) create(name string, data []byte, when time.Time) (created bool, err error) {
	if err := f.enter(store.FileDir(name)); err != nil {
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

func (f *folder) enter(dir string) error {
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

func (f *folder) close() {
	if f.open != nil {
		f.open.Close()
		f.open = nil
	}
}
