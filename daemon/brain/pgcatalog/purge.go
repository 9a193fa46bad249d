package pgcatalog

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// purgeInterval is how often a process looks for retired brains that others have not purged.
	purgeInterval = time.Minute
	// purgeRows is how many rows of a table are deleted in one transaction.
	purgeRows = 500
)

// purgeRetired deletes the data of retired brains, until ctx ends.
func (c *Catalog) purgeRetired(ctx context.Context) {
	ticker := time.NewTicker(purgeInterval)
	defer ticker.Stop()
	for {
		for more := true; more; {
			var err error
			if more, err = c.purgeSome(ctx); err != nil && ctx.Err() == nil {
				c.logger.Warn("cannot purge a deleted brain; trying again later", "because", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-ticker.C:
		}
	}
}

// purgeSome deletes some rows of a retired brain that no other process is purging. It reports
// whether there may be more.
func (c *Catalog) purgeSome(ctx context.Context) (more bool, err error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		var uid int64
		err := tx.QueryRow(ctx, "SELECT uid FROM evalctl.retired ORDER BY at LIMIT 1 FOR UPDATE SKIP LOCKED").Scan(&uid)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		more = true
		for _, table := range []string{"documents", "changes", "snapshot_parts", "snapshots"} {
			tag, err := tx.Exec(ctx, "DELETE FROM evalctl."+table+" WHERE ctid = ANY(ARRAY("+
				"SELECT ctid FROM evalctl."+table+" WHERE brain = $1 LIMIT $2))", uid, purgeRows)
			if err != nil || tag.RowsAffected() > 0 {
				return err
			}
		}
		_, err = tx.Exec(ctx, "DELETE FROM evalctl.retired WHERE uid = $1", uid)
		return err
	})
	return more && err == nil, err
}
