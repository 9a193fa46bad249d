package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"
)

// probes is how often two connections are compared. A pooler gives a server that has just become
// free to the next statement, unless another client is faster.
const probes = 5

// checkPooler returns an error for a pooler that gives each transaction another session of the
// server: settings, prepared statements and notifications belong to sessions.
func checkPooler(ctx context.Context, pool *pgxpool.Pool) error {
	one, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer one.Release()
	first, err := backend(ctx, one)
	if err != nil || first == one.Conn().PgConn().PID() { // without a pooler, or a transparent one
		return err
	}
	if pool.Config().MaxConns < 2 {
		return errors.New("a connection pooler is between here and the server: set pool_max_conns to 2 or more")
	}
	two, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer two.Release()
	for range probes {
		a, err := backend(ctx, one)
		if err != nil {
			return err
		}
		b, err := backend(ctx, two)
		if err != nil {
			return err
		}
		if a == b || a != first {
			return errors.New("the connection pooler gives each transaction another session of the server: " +
				"set its pool_mode to session, or connect to the server without it")
		}
	}
	return nil
}

// backend returns the process of the server that runs a statement. The statement is not prepared:
// that would fail instead.
func backend(ctx context.Context, conn *pgxpool.Conn) (pid uint32, err error) {
	results, err := conn.Conn().PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(results[0].Rows[0][0]), 10, 32)
	return uint32(n), err
}
