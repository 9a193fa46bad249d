package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

// TestPlans makes every operation of a store on small tables, whose plans the server keeps, and
// then on large ones that it knows nothing of. No statement may read more rows than it needs.
func TestPlans(t *testing.T) {
	t.Parallel()
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true, Settings: []string{
		"autovacuum=off", "session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0",
		"auto_explain.log_analyze=on", "auto_explain.log_timing=off", "auto_explain.log_nested_statements=on",
	}})
	db := openDB(t, cluster.Database()+"&pool_max_conns=4")
	ctx := t.Context()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Pool().Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	small, large := newBrain(t, db), newBrain(t, db)
	operate(t, db, small, 0)
	exec("ANALYZE evalctl.documents, evalctl.changes, evalctl.heads")
	for i := range 40 { // the server considers keeping a plan of a connection after five
		operate(t, db, small, i+1)
	}
	exec(`INSERT INTO evalctl.documents SELECT $1, 'large/' || i % 100 || '/' || i, 1, 1, 0, '' FROM generate_series(1, 20000) i`, large)
	exec(`INSERT INTO evalctl.changes SELECT $1, i, 0, 'created', 'large/' || i % 100 || '/' || i, '', '', i FROM generate_series(1, 20000) i`, large)
	exec(`INSERT INTO evalctl.heads SELECT 1000000 + i FROM generate_series(1, 20000) i`)
	before := len(cluster.Log())
	operate(t, db, large, 0)
	operate(t, db, small, 100)
	plans := strings.Split(cluster.Log()[before:], " LOG: ")
	if len(plans) < 50 {
		t.Fatalf("the server has reported %d plans", len(plans))
	}
	for _, plan := range plans {
		for _, n := range rows.FindAllStringSubmatch(plan, -1) {
			if len(n[1]) >= 3 {
				t.Errorf("%s rows were read:\n%s", n[1], plan)
			}
		}
	}
}

// rows finds how many rows a step of a plan has returned or rejected.
var rows = regexp.MustCompile(`(?:actual rows=|Removed by Filter: )([0-9]+)`)

// operate makes every operation that does not concern all documents.
func operate(t *testing.T, db *pgstore.DB, brain int64, n int) {
	t.Helper()
	ctx := context.Background()
	s := openStore(t, db, brain)
	defer s.Close()
	dir := fmt.Sprintf("dir/%d", n)
	name := func(i int) string { return fmt.Sprintf("%s/%d", dir, i) }
	var c store.Commit
	for i := range 5 {
		c.Ops = append(c.Ops, store.Op{Kind: store.OpWrite, Path: name(i)})
	}
	group := []func() error{func() error { return s.Write(ctx, name(7), nil) }}
	for range 3 {
		other := openStore(t, db, newBrain(t, db))
		defer other.Close()
		group = append(group, func() error { return other.Write(ctx, "a/b", nil) })
	}
	_, missing := s.Read(ctx, "none")
	if !store.IsNotFound(missing) {
		t.Fatal(missing)
	}
	for i, operation := range []func() error{
		func() error { return s.Apply(ctx, c) },
		func() error { return s.Write(ctx, name(6), nil) },
		func() error { return s.Append(ctx, name(6), []byte("x")) },
		func() error { return errors.Join(together(t, db, group)...) },
		func() error { return s.Rename(ctx, name(6), name(8)) },
		func() error { return s.Delete(ctx, name(8)) },
		func() error { _, err := s.Read(ctx, name(1)); return err },
		func() error { _, err := s.Stat(ctx, name(1)); return err },
		func() error {
			content, _, err := s.Open(ctx, name(1))
			if err == nil {
				err = content.Close()
			}
			return err
		},
		func() error {
			_, err := s.ReadMany(ctx, []store.FileInfo{{Path: name(0)}, {Path: name(1)}, {Path: "none"}})
			return err
		},
		func() error { _, err := s.List(ctx, dir, store.ListOptions{}); return err },
		func() error { _, err := s.ChangesAfter(ctx, s.Seq()-1); return err },
		func() error { return s.Sync(ctx) },
	} {
		if err := operation(); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
	}
}
