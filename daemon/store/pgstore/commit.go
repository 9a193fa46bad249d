package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// copyFrom is the number of rows from which on COPY is faster than INSERT, although it takes one
// more round trip. Tests change it.
var copyFrom = 64

// Commit implements store.Transaction.
func (tx *transaction) Commit(ctx context.Context, c store.Commit, events []store.ChangeEvent) (uint64, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	for _, writes := range split(c.Ops) {
		if err := tx.write(limited, writes, c.When); err != nil {
			tx.Rollback()
			return 0, failure(ctx, err)
		}
	}
	id := newCommitID()
	err := tx.conn.SendBatch(limited, tx.ending(c, events, id)).Close()
	if unclear(err) {
		tx.release()
		found, err := tx.b.outcome(ctx, id, err)
		return found.seq, err
	}
	if err != nil {
		tx.Rollback()
		return 0, failure(context.WithoutCancel(ctx), err)
	}
	tx.release()
	tx.b.db.committed(tx.b.brain, tx.seq)
	return tx.seq, nil
}

// ending returns the last statements of a transaction, which cost one round trip. If one of them
// fails, the server skips the others, including COMMIT.
func (tx *transaction) ending(c store.Commit, events []store.ChangeEvent, id commitID) *pgx.Batch {
	statements := &pgx.Batch{}
	var deleted []string
	for _, op := range c.Ops {
		if op.Kind == store.OpDelete {
			deleted = append(deleted, op.Path)
		}
	}
	if deleted != nil {
		// Looked up one at a time, because the plan for a list of paths may read the whole brain.
		// Nobody moves the rows meanwhile, because the brain is locked.
		statements.Queue(`DELETE FROM evalctl.documents WHERE ctid = ANY (ARRAY (
			SELECT d.ctid FROM unnest($2::text[]) AS p, LATERAL (
				SELECT ctid FROM evalctl.documents WHERE brain = $1 AND path = p LIMIT 1) AS d))`, tx.b.brain, deleted)
	}
	kinds, paths, olds := make([]string, len(events)), make([]string, len(events)), make([]string, len(events))
	for i, ev := range events {
		kinds[i], paths[i], olds[i] = string(ev.Kind), ev.Path, ev.OldPath
	}
	statements.Queue(`INSERT INTO evalctl.changes (brain, seq, n, kind, path, old_path, reason, at, commit_id)
		SELECT $1, $2, n - 1, kind, path, old, $3, $4, CASE n WHEN 1 THEN $5::uuid END
		FROM unnest($6::text[], $7::text[], $8::text[]) WITH ORDINALITY AS e (kind, path, old, n)`,
		tx.b.brain, tx.seq, []byte(c.Reason), c.When.UnixNano(), id, kinds, paths, olds)
	statements.Queue("COMMIT")
	return statements
}

// write stores documents. Many that are known not to exist are copied.
func (tx *transaction) write(ctx context.Context, ops []store.Op, when time.Time) error {
	rest := make([]store.Op, 0, len(ops))
	created := make([]store.Op, 0, len(ops))
	for _, op := range ops {
		if op.Data == nil {
			op.Data = []byte{} // nil is NULL
		}
		if d, ok := tx.known[op.Path]; ok && d.size == nil {
			created = append(created, op)
		} else {
			rest = append(rest, op)
		}
	}
	if len(created) < copyFrom {
		return tx.replace(ctx, append(rest, created...), when)
	}
	if err := tx.create(ctx, created, when); err != nil || len(rest) == 0 {
		return err
	}
	return tx.replace(ctx, rest, when)
}

// create copies new documents. None of them may exist.
func (tx *transaction) create(ctx context.Context, ops []store.Op, when time.Time) error {
	_, err := tx.conn.CopyFrom(ctx, pgx.Identifier{"evalctl", "documents"},
		[]string{"brain", "path", "version", "modified", "size", "data"},
		pgx.CopyFromSlice(len(ops), func(i int) ([]any, error) {
			return []any{tx.b.brain, ops[i].Path, tx.seq, when.UnixNano(), len(ops[i].Data), ops[i].Data}, nil
		}))
	return err
}

// replace stores documents with one statement, whether they exist or not.
func (tx *transaction) replace(ctx context.Context, ops []store.Op, when time.Time) error {
	paths, data := make([]string, len(ops)), make([][]byte, len(ops))
	for i, op := range ops {
		paths[i], data[i] = op.Path, op.Data
	}
	_, err := tx.conn.Exec(ctx, `INSERT INTO evalctl.documents (brain, path, version, modified, size, data)
		SELECT $1, path, $2, $3, length(data), data FROM unnest($4::text[], $5::bytea[]) AS w (path, data)
		ON CONFLICT (brain, path) DO UPDATE SET version = excluded.version, modified = excluded.modified,
			size = excluded.size, data = excluded.data`,
		tx.b.brain, tx.seq, when.UnixNano(), paths, data)
	return err
}

// maxStatementBytes limits the content that one statement writes, unless a single document is
// larger.
const maxStatementBytes = 8 << 20

// split returns the writes among ops, divided into statements.
func split(ops []store.Op) [][]store.Op {
	var all [][]store.Op
	size := 0
	for _, op := range ops {
		if op.Kind != store.OpWrite {
			continue
		}
		if all == nil || size+len(op.Data) > maxStatementBytes {
			all, size = append(all, nil), 0
		}
		last := len(all) - 1
		all[last], size = append(all[last], op), size+len(op.Data)
	}
	return all
}
