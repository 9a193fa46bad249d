// Package pgstore keeps documents in a PostgreSQL database, which any number of processes share.
package pgstore

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/internal/postgres"
)

//go:embed migrations/1.sql
var migration1 string

// Schema has the tables of the reference daemon.
var Schema = postgres.Schema{Name: "evalctl", Migrations: []string{migration1}}

// DB is the database of a daemon. It is safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool
}

// Open connects to a database and creates its tables if there are none. The caller must Close it.
// Tables of another version are postgres.ErrSchema.
func Open(ctx context.Context, conn string) (*DB, error) {
	pool, err := postgres.Open(ctx, conn, postgres.Options{Name: "evalctl serve"})
	if err != nil {
		return nil, err
	}
	if err := Schema.Ensure(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return &DB{pool: pool}, nil
}

// Pool returns the connections, for what else the daemon keeps in the database.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Close closes the connections.
func (db *DB) Close() { db.pool.Close() }
