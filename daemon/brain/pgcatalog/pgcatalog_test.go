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

// openCatalog opens the catalog in a database. The caller must close it.
func openCatalog(t testing.TB, url string) *pgcatalog.Catalog {
	t.Helper()
	db, err := pgstore.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return pgcatalog.New(db, slog.New(slog.DiscardHandler))
}

func TestCatalog(t *testing.T) {
	braintest.Catalog(t, func(t *testing.T) func() brain.Catalog {
		url := postgrestest.Database(t)
		return func() brain.Catalog { return openCatalog(t, url) }
	})
}
