package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/memstore"
)

// The engines that keep documents, as in Config.Store.
const (
	StoreMemory = "memory" // gone at the end
	StoreFS     = "fs"     // plain files
	StoreGit    = "git"    // a repository for each brain, a commit for each change
)

// engineFile names the engine of a home: another one would not find its
// documents.
const engineFile = "store"

// openStore is how a brain's documents are opened.
type openStore = func(ctx context.Context, id string) (*store.Store, error)

// engine gives the directory of the brains, empty for memory, and how their
// documents are opened.
func engine(cfg Config, logger *slog.Logger) (dir string, open openStore, err error) {
	kind := cfg.Store
	if kind == "" {
		kind = StoreMemory
		if cfg.Home != "" {
			kind = StoreFS
		}
	}
	options := store.Options{Logger: logger}
	dir = filepath.Join(cfg.Home, "brains")
	switch kind {
	case StoreMemory:
		if cfg.Home != "" {
			return "", nil, fmt.Errorf("store %s would keep nothing in home %s: leave the home out (--home, SVC_HOME), or choose store %s or %s", kind, cfg.Home, StoreFS, StoreGit)
		}
		return "", func(context.Context, string) (*store.Store, error) { return memstore.Open(&options), nil }, nil
	case StoreFS:
		open = func(ctx context.Context, id string) (*store.Store, error) {
			return fsstore.Open(ctx, filepath.Join(dir, id), &options)
		}
	case StoreGit:
		open = func(ctx context.Context, id string) (*store.Store, error) {
			repo, err := gitstore.Open(ctx, filepath.Join(dir, id, "repository"), &gitstore.Options{Options: options})
			if err != nil {
				return nil, err
			}
			return repo.Store, nil
		}
	default:
		return "", nil, fmt.Errorf("unknown store %q: choose %s, %s or %s", kind, StoreMemory, StoreFS, StoreGit)
	}
	if cfg.Home == "" {
		return "", nil, fmt.Errorf("store %s needs a home to keep documents in", kind)
	}
	return dir, open, claim(cfg.Home, kind)
}

// maxOpenStores bounds the stores that are open at once: one takes 4 files, and all
// together a quarter of what the process may have open, as connections need
// some too. 0 is the default.
func maxOpenStores() int {
	limit := fileLimit()
	if limit == 0 {
		return 0
	}
	return int(min(max(limit/16, 8), 1024))
}

// claim notes the engine of a new home, and refuses a home of another engine.
func claim(home, kind string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	file := filepath.Join(home, engineFile)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(kind + "\n")
		return errors.Join(err, f.Sync(), f.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// A crash may have left the file empty, before any brain was made.
	if had := cmp.Or(strings.TrimSpace(string(was)), kind); had != kind {
		return fmt.Errorf("home %s keeps its documents with store %s, not %s: open it with that store, or choose another home", home, had, kind)
	}
	return nil
}
