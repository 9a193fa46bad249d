package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// keptHomes is the number of homes kept for an SDK.
const keptHomes = 3

// Folder is the home of a daemon started by replays. It is kept for later replays, and locked until
// Close.
type Folder struct {
	dir  string
	lock *flock.Flock
}

// Home returns a home below cacheDir for the daemon of an SDK with a build, see Build: the last
// used home of that build, or a new one. If another process uses it, Home tries further homes of
// the same build, up to three. Home also deletes unused homes of the SDK except the last three
// used.
func Home(cacheDir, sdk, build string) (*Folder, error) {
	base := filepath.Join(cacheDir, "homes")
	sum := sha256.Sum256([]byte(build))
	name := safe(sdk) + "-" + hex.EncodeToString(sum[:6])
	for n := range keptHomes {
		dir := filepath.Join(base, name)
		if n > 0 {
			dir += fmt.Sprintf("-%d", n+1)
		}
		f, err := openFolder(dir)
		if err != nil {
			return nil, fmt.Errorf("home for the daemon of %s: %w", sdk, err)
		}
		if f == nil {
			continue
		}
		if err := prune(base, safe(sdk)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return nil, fmt.Errorf("home for the daemon of %s: %d other replays of the same build use %s; "+
		"wait for one of them, or give this one another --cache-dir",
		sdk, keptHomes, filepath.Join(base, name))
}

// Dir returns the daemon's home.
func (f *Folder) Dir() string { return filepath.Join(f.dir, "data") }

// New reports whether the home is empty and has no record of brains.
func (f *Folder) New() bool {
	_, err := os.Stat(f.Record())
	entries, readErr := os.ReadDir(f.Dir())
	return errors.Is(err, fs.ErrNotExist) && readErr == nil && len(entries) == 0
}

// Record returns the path of the record of the home's brains, for Config.Record.
func (f *Folder) Record() string { return filepath.Join(f.dir, "brains.json") }

// Failed reports whether the last attempt to fill brains in this home failed, see SetFailed.
func (f *Folder) Failed() bool {
	_, err := os.Stat(f.failed())
	return err == nil
}

// SetFailed records for later processes whether filling the brains failed.
func (f *Folder) SetFailed(failed bool) error {
	if failed {
		return os.WriteFile(f.failed(), nil, 0o600)
	}
	if err := os.Remove(f.failed()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *Folder) failed() string { return filepath.Join(f.dir, "failed") }

// Close lets other processes use the home.
func (f *Folder) Close() error { return f.lock.Close() }

// EndpointRecord returns the path of the record of an endpoint's brains, for Config.Record.
func EndpointRecord(cacheDir, url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(cacheDir, "endpoints", hex.EncodeToString(sum[:6])+".json")
}

// openFolder creates and locks a folder. It returns nil if another process has locked it.
func openFolder(dir string) (*Folder, error) {
	path := filepath.Join(dir, "lock")
	var err error
	for range maxOpens {
		l := flock.New(path)
		ok := false
		if err = os.MkdirAll(filepath.Join(dir, "data"), 0o700); err == nil {
			ok, err = l.TryLock()
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has deleted the folder, which has no lock yet
		}
		if err != nil || !ok {
			return nil, errors.Join(err, l.Close())
		}
		locked, errL := l.Stat()
		named, errN := os.Stat(path)
		if errL == nil && errN == nil && os.SameFile(locked, named) {
			now := time.Now() // the time of the last use
			return &Folder{dir: dir, lock: l}, os.Chtimes(path, now, now)
		}
		err = errors.Join(errL, errN)
		_ = l.Close()
	}
	return nil, err
}

// maxOpens limits how often a folder is created again because other processes delete it.
const maxOpens = 100

// prune deletes unused homes of an SDK except the last three used.
func prune(base, sdk string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	type home struct {
		dir  string
		used time.Time
	}
	var homes []home
	mine := regexp.MustCompile(`^` + regexp.QuoteMeta(sdk) + `-[0-9a-f]{12}(-\d)?$`)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), deletedPrefix) {
			if err := removeLeft(filepath.Join(base, e.Name())); err != nil {
				return err
			}
		}
		if !mine.MatchString(e.Name()) {
			continue
		}
		h := home{dir: filepath.Join(base, e.Name())}
		if info, err := os.Stat(filepath.Join(h.dir, "lock")); err == nil {
			h.used = info.ModTime()
		}
		homes = append(homes, h)
	}
	slices.SortFunc(homes, func(a, b home) int { return b.used.Compare(a.used) })
	for _, h := range homes[min(keptHomes, len(homes)):] {
		if err := remove(h.dir); err != nil {
			return fmt.Errorf("delete the unused home %s: %w", h.dir, err)
		}
	}
	return nil
}

// deletedPrefix begins the names of folders with homes that are being deleted.
const deletedPrefix = "deleted-"

// removeLeft deletes such a folder if a killed process left it.
func removeLeft(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < time.Hour {
		return nil
	}
	return os.RemoveAll(dir)
}

// remove deletes a home, unless another process uses it or deletes it first. The home is renamed at
// once. Files that cannot be deleted under the new name, because another process was about to lock
// the home, are left to removeLeft.
func remove(dir string) error {
	l := flock.New(filepath.Join(dir, "lock"))
	ok, err := l.TryLock()
	if err == nil && ok {
		var away string
		if away, err = os.MkdirTemp(filepath.Dir(dir), deletedPrefix); err == nil {
			err = os.Rename(dir, filepath.Join(away, "home"))
			_ = os.RemoveAll(away)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.Close())
}

// safe returns the name of an SDK as part of a file name.
func safe(sdk string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(sdk))
}
