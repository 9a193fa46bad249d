package postgres_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	longtest.Parallel(4) // most tests wait for servers
	os.Exit(postgrestest.Main(m))
}

func TestSchemaVersions(t *testing.T) {
	ctx := context.Background()
	pool, err := postgres.Open(ctx, postgrestest.Database(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	one := postgres.Schema{Name: "things", Migrations: []string{"CREATE TABLE thing (id int)"}}
	two := postgres.Schema{Name: "things", Migrations: append(one.Migrations, "ALTER TABLE thing ADD name text")}
	for range 2 {
		if err := one.Ensure(ctx, pool); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.Ensure(ctx, pool); !errors.Is(err, postgres.ErrSchema) {
		t.Errorf("older schema: got %v, want ErrSchema", err)
	}
	if from, err := two.Migrate(ctx, pool); from != 1 || err != nil {
		t.Errorf("migrated from version %d with error %v, want from 1", from, err)
	}
	if err := two.Ensure(ctx, pool); err != nil {
		t.Error(err)
	}
	if err := one.Ensure(ctx, pool); !errors.Is(err, postgres.ErrSchema) {
		t.Errorf("newer schema: got %v, want ErrSchema", err)
	}
	if _, err := pool.Exec(ctx, "INSERT INTO things.thing (id, name) VALUES (1, 'a')"); err != nil {
		t.Error(err)
	}
}
