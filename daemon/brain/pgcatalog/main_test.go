package pgcatalog_test

import (
	"os"
	"testing"

	"evalctl/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }
