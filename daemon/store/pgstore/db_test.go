package pgstore_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// cluster removes the server of the tests before goroutines are counted.
type cluster struct{ m *testing.M }

func (c cluster) Run() int {
	longtest.Parallel(8)                         // most tests wait for the server
	longtest.Histories(longtest.Rounds(40, 100)) // memstore and fsstore have 100 of the shared rules
	return postgrestest.Main(c.m)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(cluster{m}) }

var brains atomic.Int64

// newBrain adds a brain without documents.
func newBrain(t testing.TB, db *pgstore.DB) int64 {
	t.Helper()
	uid := brains.Add(1)
	if _, err := db.Pool().Exec(context.Background(), "INSERT INTO evalctl.heads (brain) VALUES ($1)", uid); err != nil {
		t.Fatal(err)
	}
	return uid
}

// onlyBrain returns the brain of a database that has one.
func onlyBrain(t testing.TB, db *pgstore.DB) (brain int64) {
	t.Helper()
	if err := db.Pool().QueryRow(context.Background(), "SELECT brain FROM evalctl.heads").Scan(&brain); err != nil {
		t.Fatal(err)
	}
	return brain
}

func openDB(t testing.TB, url string) *pgstore.DB {
	t.Helper()
	db, err := pgstore.Open(context.Background(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func openStore(t testing.TB, db *pgstore.DB, brain int64) *store.Store {
	t.Helper()
	s, err := db.Open(context.Background(), brain, &store.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSmallPool(t *testing.T) {
	t.Parallel()
	db, err := pgstore.Open(t.Context(), postgrestest.Database(t)+"&pool_max_conns=3", slog.New(slog.DiscardHandler))
	if err == nil {
		db.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "set it to 4 or more") {
		t.Errorf("got %v, want what to set", err)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	db := openDB(t, postgrestest.Database(t)+"&synchronous_commit=off")
	storetest.Run(t, func(t *testing.T) *store.Store { return openStore(t, db, newBrain(t, db)) })
}

func TestModel(t *testing.T) {
	pgstore.CopyAll(t)
	db := openDB(t, postgrestest.Database(t)+"&synchronous_commit=off")
	storetest.RunModel(t, func(t *testing.T) *store.Store { return openStore(t, db, newBrain(t, db)) })
}

func TestOpenTwice(t *testing.T) {
	url := postgrestest.Database(t)
	openDB(t, url)
	openDB(t, url)
}
