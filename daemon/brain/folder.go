package brain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
)

// Prefixes of folders that a crash may leave behind. No id can begin with a dot.
const (
	newPrefix     = ".new-"
	deletedPrefix = ".deleted-"
)

const (
	brainFile = "brain.json"
	// updatedFile is a brainFile that is being written.
	updatedFile = brainFile + ".new"
	// lockFile is locked by the one process that uses the directory.
	lockFile = ".lock"
)

// Folder is a Catalog on disk: a directory with one folder per brain, named by its id, with a
// brain.json. If several tenants have a brain with the same id, all folders but the first have a
// suffix. Other files in these folders, such as a brain's documents, belong to the caller until the
// brain is purged.
type Folder struct {
	// Logger gets the files that Load could not delete. Nil: nothing is logged.
	Logger *slog.Logger

	root *os.Root
	lock *flock.Flock
	// syncDir makes the entries of a directory durable. A test exchanges it.
	syncDir func(dir *os.File) error

	mu      sync.Mutex
	taken   map[ownName]bool // the ids of brains
	folders map[string]bool  // of brains
}

// OpenFolder opens the catalog in dir, which it creates if it is missing, and locks it against
// other processes. The caller must Close it.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the brains directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the brains directory %s: %w", dir, err)
	} else if !ok {
		return nil, fmt.Errorf(
			"the brains directory %s is %w: stop it, or choose another home", dir, ErrInUse)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the brains directory: %w", err), lock.Close())
	}
	return &Folder{
		root: root, lock: lock, syncDir: syncDir,
		taken: map[ownName]bool{}, folders: map[string]bool{},
	}, nil
}

// syncDir syncs a directory, if its file system can.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// Load implements Catalog. It deletes the remains of a crash, as far as it can: the next Load tries
// again. It ignores entries whose name is not an id.
func (f *Folder) Load(context.Context) ([]Record, error) {
	records, err := f.load()
	if err != nil {
		return nil, fmt.Errorf("brains directory %s: %w", f.root.Name(), err)
	}
	return records, nil
}

func (f *Folder) load() ([]Record, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	// A process that was killed may have renamed folders without a sync. A crash of the machine
	// must not bring back a brain whose files are deleted below, nor undo one that is written
	// to.
	if err := errors.Join(err, f.syncDir(dir), dir.Close()); err != nil {
		return nil, err
	}
	var records []Record
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, deletedPrefix):
			if err := f.root.RemoveAll(name); err != nil && f.Logger != nil {
				f.Logger.Warn("the rest of a deleted brain cannot be removed: it is tried again at the next start",
					"folder", filepath.Join(f.root.Name(), name), "because", err)
			}
		case ValidID(name):
			records = append(records, f.read(name))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		f.taken[idOf(r)], f.folders[r.Key()] = true, true
	}
	return records, nil
}

// Add implements Catalog. It creates the brain's folder.
func (f *Folder) Add(_ context.Context, r Record) (Record, error) {
	r, ok := f.take(r)
	if !ok {
		return Record{}, fmt.Errorf("%w: %s", ErrExists, r.Brain.ID)
	}
	added, err := f.create(r)
	if !added {
		f.free(r) // otherwise the next Load returns the brain, also after an error
	}
	return r, err
}

// take chooses a folder for a new brain, and reports whether its id was free.
func (f *Folder) take(r Record) (Record, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.taken[idOf(r)] {
		return r, false
	}
	if f.folders[r.Brain.ID] {
		r.Folder = uniqueName(r.Brain.ID)
	}
	f.taken[idOf(r)], f.folders[r.Key()] = true, true
	return r, true
}

func (f *Folder) free(r Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.taken, idOf(r))
	delete(f.folders, r.Key())
}

// create reports whether there is a new folder, also after an error. It takes away a folder that
// cannot be synced.
func (f *Folder) create(r Record) (added bool, err error) {
	data, err := encodeRecord(r)
	if err != nil {
		return false, err
	}
	staged := newPrefix + r.Key()
	if err := f.root.RemoveAll(staged); err != nil {
		return false, err
	}
	if err := f.root.Mkdir(staged, 0o700); err != nil {
		return false, err
	}
	if err := f.writeSynced(staged+"/"+brainFile, data); err != nil {
		return false, err
	}
	if err := f.sync(staged); err != nil {
		return false, err
	}
	added, err = f.rename(".", staged, r.Key())
	if added && err != nil {
		back, _ := f.rename(".", r.Key(), staged)
		added = !back
	}
	return added, err
}

// Update implements Catalog. It replaces the brain's file by renaming a new one.
func (f *Folder) Update(_ context.Context, r Record) error {
	data, err := encodeRecord(r)
	if err != nil {
		return err
	}
	file, updated := r.Key()+"/"+brainFile, r.Key()+"/"+updatedFile
	if _, err := f.root.Lstat(file); err != nil {
		return err
	}
	if err := f.root.Remove(updated); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.writeSynced(updated, data); err != nil {
		return err
	}
	_, err = f.rename(r.Key(), updated, file)
	return err
}

func (f *Folder) writeSynced(name string, data []byte) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

func (f *Folder) sync(dir string) error {
	file, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.syncDir(file), file.Close())
}

// rename renames a file or a folder of dir durably. An error after which renamed is true is one
// of the sync: a crash of the machine may undo the renaming. Dir is opened first, so that
// nothing is renamed if there is no file descriptor left.
func (f *Folder) rename(dir, from, to string) (renamed bool, err error) {
	parent, err := f.root.Open(dir)
	if err != nil {
		return false, err
	}
	defer parent.Close()
	if err := f.root.Rename(from, to); err != nil {
		return false, err
	}
	return true, f.syncDir(parent)
}

// Retire implements Catalog. It renames the brain's folder. Its name is free afterwards also if
// the sync has failed: the sync of the next brain that gets the name makes both changes durable.
func (f *Folder) Retire(_ context.Context, r Record) (string, error) {
	retired := deletedPrefix + r.Key() + "-" + rand.Text()
	renamed, err := f.rename(".", r.Key(), retired)
	if !renamed {
		return "", err
	}
	f.free(r)
	return retired, err
}

// Purge implements Catalog. It deletes the brain's folder with everything in it.
func (f *Folder) Purge(_ context.Context, retired string) error {
	return f.root.RemoveAll(retired)
}

// Close implements Catalog. It unlocks the directory.
func (f *Folder) Close() error {
	return errors.Join(f.root.Close(), f.lock.Close())
}
