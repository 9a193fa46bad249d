package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/store"
	"evalctl/daemon/store/gitremote"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres"
)

// maxDatabaseStores limits the stores that are open at a time. A store in a database only takes
// memory: the connections are shared.
const maxDatabaseStores = 1024

// database is storage for brains in the PostgreSQL database cfg.Store.
func database(ctx context.Context, cfg Config, remote *gitremote.Remote, logger *slog.Logger) (brain.Config, error) {
	switch {
	case cfg.Home != "":
		return brain.Config{}, fmt.Errorf("store %s would not write to home %s: unset the home (--home, SVC_HOME)",
			StorePostgres, cfg.Home)
	case cfg.Git.Sign != nil || remote != nil:
		return brain.Config{}, fmt.Errorf("store %s has no commits to sign or push: choose store %s", StorePostgres, StoreGit)
	}
	db, err := pgstore.Open(ctx, cfg.Store, logger)
	if err != nil {
		return brain.Config{}, err
	}
	logger.Info("brains are in a database", "store", StorePostgres, "server", postgres.Address(cfg.Store))
	options := store.Options{Logger: logger}
	return brain.Config{
		Catalog: pgcatalog.New(db, logger), Snapshots: pgcatalog.NewSnapshots(db.Pool()),
		Leases: pgcatalog.NewLeases(db.Pool(), pgcatalog.LeaseTime, logger),
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return db.Open(ctx, r.UID, &options)
		},
		Persistent: true, OpenStores: maxDatabaseStores,
	}, nil
}
