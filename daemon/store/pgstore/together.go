package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// MutateTogether implements an optional method of store.Backend. It is one round trip and one
// transaction, which waits for the lock of the brain.
func (b *backend) MutateTogether(ctx context.Context, ops []store.Op, when time.Time) ([]store.Mutation, error) {
	all := make([]*mutation, len(ops))
	for i, op := range ops {
		if op.Data == nil {
			op.Data = []byte{} // nil is NULL
		}
		all[i] = &mutation{b: b, op: op, when: when, id: newCommitID()}
	}
	sent, err := b.mutateTogether(ctx, all)
	lost := sent && unclear(err)
	if err != nil && !lost {
		return nil, failure(context.WithoutCancel(ctx), err)
	}
	outcomes := make([]store.Mutation, len(ops))
	for i, m := range all {
		if lost {
			outcomes[i].Event, outcomes[i].OK, outcomes[i].Err = b.mutated(ctx, m, err)
		} else {
			outcomes[i].Event, outcomes[i].OK = m.event, m.ok
		}
	}
	return outcomes, nil
}

// mutateTogether reports whether the operations were sent.
func (b *backend) mutateTogether(ctx context.Context, all []*mutation) (sent bool, err error) {
	conn, err := b.db.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	limited, cancel := limit(ctx)
	defer cancel()
	type result struct {
		number *int64
		event  *string
	}
	results := make([]result, len(all))
	statements := &pgx.Batch{} // the server makes one transaction of it
	for i, m := range all {
		statements.Queue(mutate, m.arguments()...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&results[i].number, &results[i].event)
		})
	}
	if err := conn.SendBatch(limited, statements).Close(); err != nil {
		return true, err
	}
	for i, m := range all {
		m.committed(results[i].number, results[i].event)
	}
	return true, nil
}
