package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"evalctl/daemon/store"
	"evalctl/internal/postgres"
)

// failure returns the error of a statement that has changed nothing, as a store reports it. ctx is
// the caller's.
func failure(ctx context.Context, err error) error {
	err = postgres.Line(err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrUnavailable):
		return err
	case isTimeout(err) && !postgres.ReadOnly(err):
		return store.Unavailable(err, "the database took too long: try again")
	}
	return Unavailable(err)
}

// Unavailable marks an error of the database after which the same may succeed later as
// store.ErrUnavailable. It returns others unchanged.
func Unavailable(err error) error {
	switch {
	case postgres.ReadOnly(err):
		return store.Unavailable(err, "the database can only be read at present: try again")
	case postgres.Retryable(err):
		return store.Unavailable(err, "the database does not answer or is overloaded: try again")
	case postgres.Unconnected(err):
		return store.Unavailable(err, "the database refuses connections: try again")
	}
	return err
}

// isTimeout reports whether a lock, a statement, or an answer took too long.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) ||
		postgres.IsCode(err, "55P03") || postgres.IsCode(err, "57014")
}

// unclear reports whether a statement that ends a transaction may have succeeded although it
// returned an error: the connection was lost after the statement had been sent and before the
// server answered.
func unclear(err error) bool {
	if err == nil || pgconn.SafeToRetry(err) {
		return false
	}
	// With any other severity the server closes the connection, perhaps after the commit.
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || pg.SeverityUnlocalized != "ERROR"
}
