package pgcatalog_test

import (
	"flag"
	"os"
	"testing"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given { // each takes many commits
		_ = flag.Set("rapid.checks", "8")
	}
	longtest.Parallel(6) // most tests wait for a lease or a server
	os.Exit(postgrestest.Main(m))
}
