package fsstore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"evalctl/daemon/store"
)

// disk makes all changes to the files of a store, except to schemaFile and closedFile. Names are
// relative to the folder of the store. A test exchanges it to record them. Methods are not called
// concurrently, except openLog, lstat, sync and the methods of logs.
type disk interface {
	// openLog opens a log, and creates it durably if it does not exist.
	openLog(name string) (logFile, error)
	// create creates a file, and its directories. If the name exists, it fails with fs.ErrExist.
	// After another error the file can exist and be incomplete.
	create(name string, data []byte, when time.Time) error
	rename(from, to string) error
	remove(name string) error
	// lstat describes a file.
	lstat(name string) (fs.FileInfo, error)
	// prune removes a directory below documentsDir and its parents as long as they are empty.
	prune(dir string)
	// sync makes all changes durable.
	sync() error
	// release frees the descriptors that are kept from one call to the next.
	release()
}

// logFile is a file whose content and size datasync makes durable.
type logFile interface {
	ReadAt(data []byte, offset int64) (int, error)
	WriteAt(data []byte, offset int64) (int, error)
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
	datasync() error
}

// realDisk keeps the directory of the last document open, because opening it costs more than
// creating a file, and most documents that are laid out together are in few directories.
type realDisk struct {
	home *os.Root
	top  *os.File // the same; see backend
	docs *store.Files
	dir  string
	open *os.Root // of dir; nil if none is open
}

func (d *realDisk) openLog(name string) (logFile, error) {
	f, err := d.home.OpenFile(name, os.O_RDWR, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = d.home.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode); err == nil {
			err = syncDir(d.home, stateDir)
		}
	}
	if err != nil {
		return nil, errors.Join(err, closeFile(f))
	}
	return syncedFile{f}, nil
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

func (d *realDisk) create(name string, data []byte, when time.Time) error {
	if err := d.openDir(store.FileDir(name)); err != nil {
		return err
	}
	base := path.Base(name)
	file, err := d.open.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close(), d.open.Chtimes(base, when, when))
}

// openDir opens dir unless it is open, and creates it if it does not exist.
func (d *realDisk) openDir(dir string) error {
	if d.open != nil && d.dir == dir {
		return nil
	}
	d.release()
	root, name := d.home, dir
	if dir == documentsDir {
		root, name = d.docs.Root, "."
	} else if below, ok := strings.CutPrefix(dir, documentsDir+"/"); ok {
		root, name = d.docs.Root, below // no link leads out of it
	}
	open, err := root.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = root.MkdirAll(name, dirMode); err == nil {
			open, err = root.OpenRoot(name)
		}
	}
	if err == nil {
		d.dir, d.open = dir, open
	}
	return err
}

func (d *realDisk) release() {
	if d.open != nil {
		d.open.Close()
		d.open = nil
	}
}

func (d *realDisk) rename(from, to string) error { return d.home.Rename(from, to) }

func (d *realDisk) remove(name string) error { return d.home.Remove(name) }

func (d *realDisk) lstat(name string) (fs.FileInfo, error) {
	if below, ok := strings.CutPrefix(name, documentsDir+"/"); ok {
		return d.docs.Root.Lstat(below)
	}
	return d.home.Lstat(name)
}

func (d *realDisk) prune(dir string) {
	d.release() // it may be the one that is removed
	d.docs.Prune(dir)
}

func (d *realDisk) sync() error { return syncAll(d.home, d.top) }
