package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrSchema is returned for a database with the tables of another version of the program.
var ErrSchema = errors.New("unsupported database schema")

// Schema is a PostgreSQL schema, which has all tables of one purpose.
type Schema struct {
	// Name is the name of the PostgreSQL schema. It needs no quotes.
	Name string
	// Migrations lead from version i to version i+1, each in one transaction whose search_path is
	// Name. They never change once released.
	Migrations []string
}

// Version is the version that the program works with.
func (s Schema) Version() int { return len(s.Migrations) }

// Ensure creates the schema in a database that has none, under an advisory lock, so that several
// processes may start at once. A schema of another version is ErrSchema.
func (s Schema) Ensure(ctx context.Context, pool *pgxpool.Pool) error {
	return s.locked(ctx, pool, func(tx pgx.Tx, version int) error {
		switch {
		case version == 0:
			return s.migrate(ctx, tx, 0)
		case version < s.Version():
			return fmt.Errorf("%w: the tables have version %d, this program needs version %d: "+
				"stop the older programs, then run evalctl serve --migrate", ErrSchema, version, s.Version())
		}
		return nil
	})
}

// Migrate brings the schema to the version of the program and returns the version it had. A newer
// schema is ErrSchema.
func (s Schema) Migrate(ctx context.Context, pool *pgxpool.Pool) (from int, err error) {
	err = s.locked(ctx, pool, func(tx pgx.Tx, version int) error {
		from = version
		return s.migrate(ctx, tx, version)
	})
	return from, err
}

// locked calls use in a transaction in which no other process looks at or changes the version.
func (s Schema) locked(ctx context.Context, pool *pgxpool.Pool, use func(tx pgx.Tx, version int) error) error {
	return advise(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "evalctl schema "+s.Name)
		if err != nil {
			return err
		}
		version, err := s.current(ctx, tx)
		if err != nil {
			return err
		}
		if version > s.Version() {
			return fmt.Errorf("%w: the tables have version %d, this program knows versions up to %d: "+
				"use the newer program", ErrSchema, version, s.Version())
		}
		return use(tx, version)
	}))
}

// current returns 0 if there is no schema.
func (s Schema) current(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var exists bool
	err = tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.Name+".schema_version").Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT version FROM "+s.Name+".schema_version").Scan(&version)
	return version, err
}

func (s Schema) migrate(ctx context.Context, tx pgx.Tx, from int) error {
	if from == 0 {
		if err := s.create(ctx, tx); err != nil {
			return err
		}
	}
	// Changing large tables may take longer than a statement usually may.
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = "+s.Name+"; SET LOCAL statement_timeout = 0"); err != nil {
		return err
	}
	for i, sql := range s.Migrations[from:] {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("migrate schema %s to version %d: %w", s.Name, from+i+1, err)
		}
	}
	if from == s.Version() {
		return nil // this user may not be allowed to write it
	}
	_, err := tx.Exec(ctx, "UPDATE "+s.Name+".schema_version SET version = $1", s.Version())
	return err
}

// create creates the schema, unless it was created for a user who may not do that.
func (s Schema) create(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", s.Name).Scan(&exists); err != nil {
		return err
	}
	sql := ""
	if !exists {
		sql = "CREATE SCHEMA " + s.Name + "; "
	}
	_, err := tx.Exec(ctx, sql+"CREATE TABLE "+s.Name+".schema_version (version int NOT NULL)"+
		"; INSERT INTO "+s.Name+".schema_version VALUES (0)")
	return err
}
