package faulttest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// table is the truth of the table of changes. It copies them all the time, because old ones are
// deleted.
type table struct {
	t   testing.TB
	url string // of the database itself, past all proxies

	mu  sync.Mutex
	all map[string][]change
}

func newTable(t testing.TB, url string) *table {
	return &table{t: t, url: url, all: map[string][]change{}}
}

func (d *table) open(ctx context.Context, brain string) error {
	go func() {
		for ctx.Err() == nil {
			_ = d.read(ctx, brain) // the next one reads what is missing
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return d.read(ctx, brain)
}

// read copies the changes since the last read.
func (d *table) read(ctx context.Context, brain string) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all[brain]
	last := int64(0)
	if len(all) > 0 {
		last = all[len(all)-1].seq
	}
	rows, err := conn.Query(ctx, `SELECT c.seq, c.kind, c.path, c.old_path, convert_from(c.reason, 'UTF8')
		FROM evalctl.changes c JOIN evalctl.brains b ON b.uid = c.brain
		WHERE b.id = $1 AND c.seq > $2 ORDER BY c.seq, c.n`, brain, last)
	if err != nil {
		return err
	}
	added, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c change, err error) {
		return c, row.Scan(&c.seq, &c.kind, &c.path, &c.oldPath, &c.note)
	})
	if err == nil { // or a part of a commit may be missing
		d.all[brain] = append(all, added...)
	}
	return err
}

func (d *table) head(ctx context.Context, brain string) int64 {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return -1
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var seq int64
	err = conn.QueryRow(ctx, `SELECT coalesce((SELECT max(c.seq) FROM evalctl.changes c WHERE c.brain = h.brain), h.pruned)
		FROM evalctl.heads h JOIN evalctl.brains b ON b.uid = h.brain
		WHERE b.id = $1`, brain).Scan(&seq)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0
	case err != nil:
		return -1
	}
	return seq
}

// shared returns the number of transactions with changes of several brains.
func (d *table) shared(ctx context.Context) (n int) {
	d.t.Helper()
	conn, err := pgx.Connect(ctx, d.url)
	if err == nil {
		defer conn.Close(context.WithoutCancel(ctx))
		err = conn.QueryRow(ctx, `SELECT count(*) FROM (
			SELECT FROM evalctl.changes GROUP BY xmin::text HAVING count(DISTINCT brain) > 1) AS groups`).Scan(&n)
	}
	if err != nil {
		d.t.Errorf("read the transactions: %v", err)
	}
	return n
}

func (d *table) changes(brain string) []change {
	d.t.Helper()
	if err := d.read(context.Background(), brain); err != nil {
		d.t.Errorf("read the changes: %v", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all[brain])
}
