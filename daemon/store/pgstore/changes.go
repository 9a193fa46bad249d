package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// changesAtOnce is how many commits Changes returns.
const changesAtOnce = 64

// head is the number of the last commit of the brain in a row h of heads. It does not use max,
// which would read all changes of the brain as long as the server's statistics say that there are
// few.
const head = `coalesce((SELECT l.seq FROM evalctl.changes l WHERE l.brain = h.brain ORDER BY l.seq DESC LIMIT 1), h.pruned)`

// commitTime is the time of the commit with a number, given as the expression seq, of the brain in
// a row h of heads; NULL if there is none.
func commitTime(seq string) string {
	return "(SELECT k.at FROM evalctl.changes k WHERE k.brain = h.brain AND k.seq = " + seq + " AND k.n = 0)"
}

// undone reports whether a commit is no longer there. at is the time of the present commit with its
// number.
func undone(known store.Position, head, pruned uint64, at *int64) bool {
	switch {
	case known.Seq > head:
		return true
	case known.Seq <= pruned || known.When.IsZero():
		return false
	}
	return at == nil || *at != known.When.UnixNano()
}

// Head implements an optional method of store.Backend.
func (b *backend) Head(ctx context.Context, known store.Position) (seq uint64, err error) {
	var pruned uint64
	var at *int64
	err = b.row(ctx, "SELECT "+head+", h.pruned, "+commitTime("$2")+" FROM evalctl.heads h WHERE h.brain = $1",
		[]any{b.brain, known.Seq}, &seq, &pruned, &at)
	if err == nil && undone(known, seq, pruned, at) {
		err = store.ErrPruned
	}
	return seq, err
}

// Changes implements an optional method of store.Backend.
func (b *backend) Changes(ctx context.Context, after store.Position) (events []store.ChangeEvent, err error) {
	err = b.db.use(ctx, func(ctx context.Context, conn querier) error {
		rows, err := conn.Query(ctx, "SELECT "+head+", h.pruned, "+commitTime("$2")+`,
				c.seq, c.kind, c.path, c.old_path, c.reason, c.at
			FROM evalctl.heads h LEFT JOIN evalctl.changes c ON c.brain = h.brain AND c.seq > $2 AND c.seq <= $3
			WHERE h.brain = $1 ORDER BY c.seq, c.n`, b.brain, after.Seq, after.Seq+changesAtOnce)
		if err != nil {
			return err
		}
		events, err = readChanges(rows, after)
		return err
	})
	return events, err
}

func readChanges(rows pgx.Rows, after store.Position) (events []store.ChangeEvent, err error) {
	exists := false
	var head, pruned uint64
	var seq *uint64
	var kind, path, old *string
	var reason []byte
	var known, at *int64
	_, err = pgx.ForEachRow(rows, []any{&head, &pruned, &known, &seq, &kind, &path, &old, &reason, &at}, func() error {
		exists = true
		if pruned > after.Seq || undone(after, head, pruned, known) {
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
