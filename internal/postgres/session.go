package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// session configures each connection.
type session struct {
	settings  string // statements
	connected func(server string)
}

// settings returns statements for the settings that the program relies on, whatever the defaults of
// the role or the database, unless the connection string has them. They are statements, because
// PgBouncer rejects such parameters of a connection, or ignores them.
func settings(params map[string]string) string {
	milliseconds := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	var sql strings.Builder
	// Not even the connection string may set it: functions rely on seeing commits made while they
	// waited for a lock.
	sql.WriteString("SET default_transaction_isolation = 'read committed'; ")
	for _, setting := range [][2]string{
		{"statement_timeout", milliseconds(statementTimeout)},
		{"lock_timeout", milliseconds(lockTimeout)},
		{"idle_in_transaction_session_timeout", milliseconds(idleInTransaction)},
		// A plan from a time when the tables were small would read large ones as a whole, until the
		// server has analyzed them. There is an index for every frequent query.
		{"enable_seqscan", "off"},
		{"enable_bitmapscan", "off"},
		// Such a plan would also join a few rows with all of a table that it took for small.
		{"enable_hashjoin", "off"},
		{"enable_mergejoin", "off"},
		{"jit", "off"}, // which the cost of a scan that is not wanted would cause
	} {
		if _, set := params[setting[0]]; !set && !strings.Contains(params["options"], setting[0]) {
			fmt.Fprintf(&sql, "SET %s = %s; ", setting[0], setting[1])
		}
	}
	return sql.String()
}

// serverIdentity changes when a server starts, and is another one for each database.
const serverIdentity = `SELECT extract(epoch FROM pg_postmaster_start_time()) || ' ' ||
	(SELECT oid FROM pg_database WHERE datname = current_database())`

// set is a pgconn.AfterConnectFunc. It takes one round trip.
func (s session) set(ctx context.Context, conn *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout) // the pool sets no limit
	defer cancel()
	results, err := conn.Exec(ctx, s.settings+serverIdentity).ReadAll()
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	if s.connected != nil {
		s.connected(string(results[len(results)-1].Rows[0][0]))
	}
	return nil
}

// keepAfter reports whether a connection can be used further after an error. A connection to a
// read-only server cannot: the next one may reach a writable server.
func keepAfter(_ *pgconn.PgConn, err *pgconn.PgError) bool {
	return err.SeverityUnlocalized != "FATAL" && err.SeverityUnlocalized != "PANIC" &&
		err.Code != readOnlyTransaction
}
