package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Retention selects the changes to keep: the last Commits commits of each brain, unless they are
// older than Age.
type Retention struct {
	Age     time.Duration
	Commits int64
}

// kept is the retention of a daemon. A process that falls further behind reads the documents again
// instead of their changes. The outcome of a lost connection is looked up within seconds.
var kept = Retention{Age: 24 * time.Hour, Commits: 100_000}

const (
	pruneEvery  = time.Minute
	pruneAtOnce = 1000 // commits that one transaction deletes
	pruneBrains = 500  // brains that one query looks for
)

// prune prunes until ctx ends. Every process does it: they share the work.
func (db *DB) prune(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, err := db.Prune(ctx, kept); err != nil && ctx.Err() == nil {
			db.logger.Warn("old changes cannot be deleted; tried again", "because", err)
		}
	}
}

// Prune deletes the changes that need not be kept, in small transactions, and returns the number of
// commits. It can run in several processes at once. It continues with the other brains if one
// cannot be pruned.
func (db *DB) Prune(ctx context.Context, keep Retention) (commits int64, err error) {
	var errs []error
	for last := int64(-1); ; {
		brains, err := db.prunable(ctx, last, keep)
		if err != nil {
			return commits, errors.Join(append(errs, err)...)
		}
		for _, brain := range brains {
			n, err := db.pruneBrain(ctx, brain, keep)
			commits += n
			if err != nil {
				errs = append(errs, err)
			}
		}
		if len(brains) < pruneBrains {
			return commits, errors.Join(errs...)
		}
		last = brains[len(brains)-1]
	}
}

// prunable returns brains after last, in ascending order, that have changes to delete.
func (db *DB) prunable(ctx context.Context, last int64, keep Retention) (brains []int64, err error) {
	err = db.use(ctx, func(ctx context.Context, conn querier) error {
		rows, err := conn.Query(ctx, `SELECT h.brain FROM evalctl.heads h CROSS JOIN LATERAL (
				SELECT at FROM evalctl.changes c WHERE c.brain = h.brain AND c.seq > h.pruned ORDER BY c.seq LIMIT 1
			) AS oldest
			WHERE h.brain > $1 AND (oldest.at < $3 OR `+head+` - h.pruned > $2)
			ORDER BY h.brain LIMIT $4`, last, keep.Commits, before(keep), pruneBrains)
		if err != nil {
			return err
		}
		brains, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return brains, err
}

func before(keep Retention) int64 { return time.Now().Add(-keep.Age).UnixNano() }

func (db *DB) pruneBrain(ctx context.Context, brain int64, keep Retention) (commits int64, err error) {
	for {
		n, err := db.pruneSome(ctx, brain, keep)
		commits += n
		if n < pruneAtOnce || err != nil {
			return commits, err
		}
	}
}

// pruneSome deletes the oldest changes. It locks the brain last and briefly, and skips changes that
// another process deletes. It need not reach the disk: changes that a crash brings back are deleted
// again.
func (db *DB) pruneSome(ctx context.Context, brain int64, keep Retention) (commits int64, err error) {
	err = db.use(ctx, func(ctx context.Context, conn querier) error {
		return conn.QueryRow(ctx, `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
			cut AS MATERIALIZED (
				SELECT h.pruned AS start, max(c.seq) AS seq FROM quick, evalctl.heads h
				JOIN evalctl.changes c ON c.brain = h.brain AND c.seq > h.pruned AND c.seq <= h.pruned + $4
				WHERE h.brain = $1 AND (c.seq <= `+head+` - $2 OR c.at < $3) GROUP BY h.pruned),
			old AS MATERIALIZED (
				SELECT c.seq, c.n FROM cut, evalctl.changes c WHERE c.brain = $1 AND c.seq <= cut.seq
				FOR UPDATE OF c SKIP LOCKED),
			deleted AS (
				DELETE FROM evalctl.changes c USING old WHERE c.brain = $1 AND c.seq = old.seq AND c.n = old.n),
			moved AS (
				UPDATE evalctl.heads h SET pruned = cut.seq FROM cut WHERE h.brain = $1 AND h.pruned < cut.seq
				RETURNING cut.seq - cut.start AS commits)
			SELECT coalesce(sum(commits), 0)::bigint FROM moved`,
			brain, keep.Commits, before(keep), pruneAtOnce).Scan(&commits)
	})
	return commits, err
}
