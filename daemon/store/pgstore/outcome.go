package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// resolveWithin is how long to look for the outcome of a commit after the connection was lost.
// Tests change it.
var resolveWithin = 15 * time.Second

// mutated finds out whether an operation happened, after an error that leaves it open. If it did
// not, it never will.
func (b *backend) mutated(ctx context.Context, m *mutation, cause error) (store.ChangeEvent, bool, error) {
	found, err := b.outcome(ctx, m.id, cause)
	if err != nil {
		return store.ChangeEvent{}, false, err
	}
	return event(m.op.Path, found.seq, found.kind, m.when), true, nil
}

// commitRecord is a commit that happened.
type commitRecord struct {
	seq  uint64
	kind store.ChangeKind // of its first event
}

// outcome returns the commit with an id, after an error that leaves open whether it happened. If it
// did not happen, it never will, and the error says that nothing was changed. If the outcome cannot
// be found out in time, the error says that it is unknown.
func (b *backend) outcome(ctx context.Context, id commitID, cause error) (commitRecord, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveWithin)
	defer cancel()
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		found, err := b.find(ctx, id)
		switch {
		case err == nil:
			b.db.committed(b.brain, found.seq)
			return found, nil
		case errors.Is(err, pgx.ErrNoRows):
			return found, store.Unavailable(cause,
				"the connection to the database was lost: nothing was changed, try again")
		case errors.Is(err, store.ErrGone):
			return found, err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return found, store.Unavailable(errors.Join(cause, err), "the connection to the database was lost "+
				"during a commit, whose outcome is unknown: read the documents before you try again")
		}
	}
}

// find looks for a commit. If it returns pgx.ErrNoRows, the commit will not happen later either: a
// transaction that held the lock of the brain has ended before, and a statement that arrives later
// has an old fence.
func (b *backend) find(ctx context.Context, id commitID) (found commitRecord, err error) {
	var fence int64
	var missing error
	err = pgx.BeginFunc(ctx, b.db.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "UPDATE evalctl.heads SET fence = fence + 1 WHERE brain = $1 RETURNING fence", b.brain).
			Scan(&fence)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.ErrGone
		}
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `SELECT seq, kind FROM evalctl.changes
			WHERE brain = $1 AND n = 0 AND commit_id = $2 ORDER BY seq DESC LIMIT 1`, b.brain, id).
			Scan(&found.seq, &found.kind)
		if errors.Is(err, pgx.ErrNoRows) {
			missing, err = err, nil // the fence must be committed
		}
		return err
	})
	if err != nil {
		return found, err
	}
	b.fence.Store(fence)
	return found, missing
}
