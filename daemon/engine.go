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
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/gitremote"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/postgres"
)

// The storage engines, see Config.Store.
const (
	StoreMemory = "memory" // in memory only: lost when the daemon ends
	StoreFS     = "fs"     // plain files
	StoreGit    = "git"    // a repository per brain, a commit per change
	// StorePostgres is a PostgreSQL database. Config.Store is its URL instead.
	StorePostgres = "postgres"
)

// GitConfig configures the repositories of brains.
type GitConfig struct {
	// Sign signs every commit, see gitstore.Options. Nil means that commits are not signed.
	Sign func(context.Context, gitstore.SignRequest) (string, error)
	// Remote is where the repositories are pulled from and pushed to, nil for nowhere.
	Remote *gitremote.Address
	// PullInterval is the time between two pulls; 0 means DefaultPullInterval.
	PullInterval time.Duration
}

// DefaultPullInterval is the default of GitConfig.PullInterval.
const DefaultPullInterval = time.Minute

// engineFile is the file in which a home records its engine. Another engine would not find the
// documents.
const engineFile = "store"

// storage returns the part of the brains' configuration that depends on the engine. remote is nil
// unless there is one.
func storage(ctx context.Context, cfg Config, remote *gitremote.Remote, logger *slog.Logger) (brain.Config, error) {
	if postgres.IsURL(cfg.Store) {
		return database(ctx, cfg, remote, logger)
	}
	kind := cfg.Store
	if kind == "" {
		kind = StoreMemory
		if cfg.Home != "" {
			kind = StoreFS
		}
	}
	options := store.Options{Logger: logger}
	dir := filepath.Join(cfg.Home, "brains")
	var open func(context.Context, brain.Record) (*store.Store, error)
	if kind != StoreGit && (cfg.Git.Sign != nil || remote != nil) {
		return brain.Config{}, fmt.Errorf("store %s has no commits to sign or push: choose store %s", kind, StoreGit)
	}
	var parts []string // of the folder of a brain: while one is there, so is its store
	switch kind {
	case StoreMemory:
		if cfg.Home != "" {
			return brain.Config{}, fmt.Errorf("store %s would not write to home %s: "+
				"unset the home (--home, SVC_HOME), or choose store %s or %s", kind, cfg.Home, StoreFS, StoreGit)
		}
		open = func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(&options), nil }
		return brain.Config{Catalog: new(brain.MemoryCatalog), OpenStore: open}, nil
	case StoreFS:
		parts = []string{"documents", ".store"}
		open = func(ctx context.Context, r brain.Record) (*store.Store, error) {
			options := options
			options.Logger = logger.With("brain", r.Brain.ID)
			return fsstore.Open(ctx, filepath.Join(dir, r.Key()), &options)
		}
	case StoreGit:
		parts = []string{"repository/.git"}
		open = func(ctx context.Context, r brain.Record) (*store.Store, error) {
			dir := filepath.Join(dir, r.Key(), "repository")
			options := gitstore.Options{Options: options, Sign: cfg.Git.Sign}
			options.Logger = logger.With("brain", r.Brain.ID)
			if remote != nil {
				name := r.Brain.ID
				if !cfg.Git.Remote.PerTenant() {
					name = r.Key() // another tenant's brain may have the id
				}
				return remote.Open(ctx, dir, name, r.Tenant, options)
			}
			repo, err := gitstore.Open(ctx, dir, &options)
			if err != nil {
				return nil, err
			}
			return repo.Store, nil
		}
	default:
		return brain.Config{}, fmt.Errorf("unknown store %q: choose %s, %s, %s or the URL of a PostgreSQL database",
			kind, StoreMemory, StoreFS, StoreGit)
	}
	if cfg.Home == "" {
		return brain.Config{}, fmt.Errorf("store %s needs a home to keep documents in", kind)
	}
	if err := claim(cfg.Home, kind); err != nil {
		return brain.Config{}, err
	}
	folder, err := brain.OpenFolder(dir)
	if err != nil {
		return brain.Config{}, err
	}
	folder.Logger = logger
	var catalog brain.Catalog = folder
	if remote != nil && cfg.Git.Remote.Shared() {
		catalog = &oneBrain{Catalog: folder}
	}
	return brain.Config{
		Catalog: catalog, Snapshots: folder.Snapshots(), OpenStore: open, HasStore: hasAny(dir, parts), Persistent: true,
		OpenStores: maxOpenStores(),
	}, nil
}

// hasAny is a brain.Config.HasStore.
func hasAny(dir string, parts []string) func(key string) (bool, error) {
	return func(key string) (bool, error) {
		for _, part := range parts {
			_, err := os.Lstat(filepath.Join(dir, key, filepath.FromSlash(part)))
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return err == nil, err
			}
		}
		return false, nil
	}
}

// maxOpenStores returns a limit for open stores, 0 for the default. Each uses 5 files. All together
// may use a quarter of the files that the process may open, because connections also need some.
func maxOpenStores() int {
	limit := fileLimit()
	if limit == 0 {
		return 0
	}
	return int(min(max(limit/20, 8), 1024))
}

// claim records the engine of a new home, and returns an error for the home of another engine.
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
	// A crash may have left the file empty, before any brain was created.
	if had := cmp.Or(strings.TrimSpace(string(was)), kind); had != kind {
		return fmt.Errorf("home %s was created with store %s, not %s: "+
			"choose that store, or another home", home, had, kind)
	}
	return nil
}
