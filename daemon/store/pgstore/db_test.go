package pgstore_test

import (
	"context"
	"os"
	"testing"

	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

func TestOpenTwice(t *testing.T) {
	url := postgrestest.Database(t)
	for range 2 {
		db, err := pgstore.Open(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
	}
}
