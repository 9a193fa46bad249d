package pgcatalog_test

import (
	"log/slog"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/braintest"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

// openDB opens a database. It is closed when the test ends.
func openDB(t testing.TB, url string) *pgstore.DB {
	t.Helper()
	db, err := pgstore.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestCatalog(t *testing.T) {
	braintest.Catalog(t, func(t *testing.T) func() brain.Catalog {
		db := openDB(t, postgrestest.Database(t))
		return func() brain.Catalog { return pgcatalog.Open(db.Pool(), slog.New(slog.DiscardHandler)) }
	})
}
