package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// changesAtOnce is how many commits Changes returns.
const changesAtOnce = 64

// head is the number of the last commit of the brain in a row h of heads. It is no max, which would
// read all changes of the brain as long as the server knows of few.
const head = `coalesce((SELECT l.seq FROM evalctl.changes l WHERE l.brain = h.brain ORDER BY l.seq DESC LIMIT 1), h.pruned)`

// Head implements an optional method of store.Backend.
func (b *backend) Head(ctx context.Context) (seq uint64, err error) {
	err = b.row(ctx, "SELECT "+head+" FROM evalctl.heads h WHERE h.brain = $1", []any{b.brain}, &seq)
	return seq, err
}

// Changes implements an optional method of store.Backend.
func (b *backend) Changes(ctx context.Context, after uint64) (events []store.ChangeEvent, err error) {
	err = b.db.use(ctx, func(ctx context.Context, conn querier) error {
		rows, err := conn.Query(ctx, `SELECT h.pruned, c.seq, c.kind, c.path, c.old_path, c.reason, c.at
			FROM evalctl.heads h LEFT JOIN evalctl.changes c ON c.brain = h.brain AND c.seq > $2 AND c.seq <= $3
			WHERE h.brain = $1 ORDER BY c.seq, c.n`, b.brain, after, after+changesAtOnce)
		if err != nil {
			return err
		}
		events, err = readChanges(rows, after)
		return err
	})
	return events, err
}

func readChanges(rows pgx.Rows, after uint64) (events []store.ChangeEvent, err error) {
	exists := false
	var pruned uint64
	var seq *uint64
	var kind, path, old *string
	var reason []byte
	var at *int64
	_, err = pgx.ForEachRow(rows, []any{&pruned, &seq, &kind, &path, &old, &reason, &at}, func() error {
		exists = true
		if pruned > after {
			return store.ErrPruned
		}
		if seq == nil {
			return nil // the one row without changes
		}
		if n := len(events); n > 0 {
			events[n-1].Last = events[n-1].Seq != *seq
		}
		events = append(events, store.ChangeEvent{
			Seq: *seq, Last: true, Kind: store.ChangeKind(*kind), Path: *path, OldPath: *old,
			Reason: string(reason), When: time.Unix(0, *at).UTC(),
		})
		return nil
	})
	if err == nil && !exists {
		err = store.ErrGone
	}
	return events, err
}
