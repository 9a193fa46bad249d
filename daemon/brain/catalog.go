package brain

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"evalctl/daemon/protocol"
)

// Folders that a crash may leave behind; no id can begin with a dot.
const (
	newPrefix     = ".new-"
	deletedPrefix = ".deleted-"
)

const (
	brainFile    = "brain.json"
	brainVersion = 1
)

// brainRecord is the content of a brain.json. Tenant owns the brain; it is
// missing when the daemon ran without keys.
type brainRecord struct {
	Version int            `json:"version"`
	Tenant  string         `json:"tenant,omitempty"`
	Brain   protocol.Brain `json:"brain"`
}

// catalog keeps the brains' records, one folder a brain, below one directory.
// A nil catalog keeps nothing. It is safe for concurrent use, but for one id
// callers add or retire one after the other.
type catalog struct {
	root *os.Root
	lock *flock.Flock
}

// lockFile is held by the one process that uses the directory.
const lockFile = ".lock"

// openCatalog creates dir when missing, clears away what a crash left, and
// reads every record. Entries whose name is no id are not ours: left alone.
func openCatalog(dir string) (*catalog, []brainRecord, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the brains directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if ok, err := lock.TryLock(); err != nil {
		return nil, nil, fmt.Errorf("lock the brains directory %s: %w", dir, err)
	} else if !ok {
		return nil, nil, fmt.Errorf("the brains directory %s is in use by another daemon: stop it, or choose another home", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the brains directory: %w", err), lock.Close())
	}
	c := &catalog{root: root, lock: lock}
	brains, err := c.load()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("brains directory %s: %w", dir, err), c.close())
	}
	return c, brains, nil
}

func (c *catalog) load() ([]brainRecord, error) {
	dir, err := c.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	var brains []brainRecord
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, deletedPrefix):
			if err := c.root.RemoveAll(name); err != nil {
				return nil, err
			}
		case checkID("id", name) == nil:
			b, err := c.read(name)
			if err != nil {
				return nil, err
			}
			brains = append(brains, b)
		}
	}
	return brains, nil
}

func (c *catalog) read(id string) (brainRecord, error) {
	name := id + "/" + brainFile
	data, err := c.root.ReadFile(name)
	if err != nil {
		return brainRecord{}, fmt.Errorf("%w: restore it, or move the folder %s away", err, id)
	}
	var r brainRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return brainRecord{}, fmt.Errorf("%s: %w: restore it, or move the folder %s away", name, err, id)
	}
	if r.Version != brainVersion {
		return brainRecord{}, fmt.Errorf("%s: version %d is not %d, the one this program reads", name, r.Version, brainVersion)
	}
	if r.Brain.ID != id {
		return brainRecord{}, fmt.Errorf("%s: names brain %q: rename the folder back", name, r.Brain.ID)
	}
	if err := checkBrain(r.Brain); err != nil {
		return brainRecord{}, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// add makes the brain's folder with its record inside, whole or not at all.
func (c *catalog) add(b protocol.Brain, tenant string) error {
	if c == nil {
		return nil
	}
	data, err := json.MarshalIndent(brainRecord{Version: brainVersion, Tenant: tenant, Brain: b}, "", "  ")
	if err != nil {
		return err
	}
	staged := newPrefix + b.ID
	if err := c.root.RemoveAll(staged); err != nil {
		return err
	}
	if err := c.root.Mkdir(staged, 0o700); err != nil {
		return err
	}
	if err := c.writeSynced(staged+"/"+brainFile, append(data, '\n')); err != nil {
		return err
	}
	if err := c.sync(staged); err != nil {
		return err
	}
	if err := c.root.Rename(staged, b.ID); err != nil {
		return err
	}
	return c.sync(".")
}

func (c *catalog) writeSynced(name string, data []byte) error {
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (c *catalog) sync(dir string) error {
	f, err := c.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// retire moves the brain out of the catalog in one step and returns the name
// to give to purge, which may take long.
func (c *catalog) retire(id string) (string, error) {
	if c == nil {
		return "", nil
	}
	retired := deletedPrefix + id + "-" + rand.Text()
	if err := c.root.Rename(id, retired); err != nil {
		return "", err
	}
	return retired, c.sync(".")
}

func (c *catalog) purge(retired string) error {
	if c == nil {
		return nil
	}
	return c.root.RemoveAll(retired)
}

func (c *catalog) close() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.root.Close(), c.lock.Close())
}
