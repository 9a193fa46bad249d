package pgcatalog_test

import (
	"os"
	"testing"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	longtest.Histories(8) // each takes many commits
	longtest.Parallel(6)  // most tests wait for a lease or a server
	os.Exit(postgrestest.Main(m))
}
