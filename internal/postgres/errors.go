package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Retryable reports whether the same request may succeed later: the server cannot be reached, is
// starting or stopping, is out of connections, disk or memory, or a lock or statement took too
// long. It says nothing about whether the failed request had an effect.
func Retryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return retryableCode(pg.Code)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // which is a net.Error as well
		return false
	}
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connect || network || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "unexpected EOF")
}

// Unconnected reports whether err is a failed attempt to connect. A database that was in use before
// may be renamed, restored or locked for a while: then the server refuses connections for reasons
// that are mistakes at the start of a program.
func Unconnected(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok && !errors.Is(err, context.Canceled)
}

// retryableCode decides by SQLSTATE, see appendix A of the PostgreSQL manual.
func retryableCode(code string) bool {
	switch class := code[:min(2, len(code))]; class {
	case "08", // connection exceptions
		"40", // serialization failures and deadlocks
		"53", // insufficient resources: disk, memory, connections
		"57", // operator intervention: shutdown, starting up, cancelled by a timeout
		"58": // errors of the operating system
		return true
	}
	return code == "55P03" || // lock_timeout
		code == "25P03" || // idle_in_transaction_session_timeout
		code == readOnlyTransaction
}

// readOnlyTransaction is the SQLSTATE of a write on a standby, or in a database or for a user with
// default_transaction_read_only, which providers set when a disk is almost full.
const readOnlyTransaction = "25006"

// ReadOnly reports whether err is a rejected write to a read-only server or database.
func ReadOnly(err error) bool { return IsCode(err, readOnlyTransaction) }

// Line returns an error with the text of err in one line. The text of a connection error has a line
// for each address that was tried.
func Line(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if c, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		reasons := fmt.Sprintf("cannot connect as user %s:\n%v", c.Config.User, c.Unwrap())
		text = strings.Replace(text, c.Error(), reasons, 1)
	}
	if text = oneLine(text); text == err.Error() {
		return err
	}
	return lineError{err, text}
}

type lineError struct {
	error
	text string
}

func (e lineError) Error() string { return e.text }

func (e lineError) Unwrap() error { return e.error }

// oneLine joins the lines of a text, without those that another one contains. Without sslmode, a
// connection is tried with TLS first, which a server without TLS refuses. This line is left out if
// there is another one.
func oneLine(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, line) }) {
			lines = append(lines, line)
		}
	}
	others := slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		return strings.Contains(l, "server refused TLS connection")
	})
	if len(others) > 1 { // the first line does not give a reason
		lines = others
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// advise adds advice to the error of a connection or of the creation of tables, in one line.
func advise(err error) error {
	advice := map[string]string{
		"28P01": "set the password in PGPASSWORD, ~/.pgpass or the URL in the environment",
		"28000": "check the user in the URL, and what pg_hba.conf of the server permits",
		"3D000": "create the database with createdb, or correct its name in the URL",
		"42501": "give the user the right to create a schema, with GRANT CREATE ON DATABASE, or a schema of its own, " +
			"with CREATE SCHEMA ... AUTHORIZATION; if the schema exists, connect as its owner",
		"42704": "remove or correct the parameters of the URL",
		readOnlyTransaction: "connect to the primary server, for example with target_session_attrs=read-write in the URL; " +
			"if it is the primary, something has set default_transaction_read_only, perhaps because its disk is full",
		"53300": "lower pool_max_conns of the URL, or raise max_connections of the server",
	}
	what := ""
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	pg, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case answered:
		what = advice[pg.Code]
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		what = "no server of the URL can be written to: promote a standby, or correct the URL; " +
			"on a primary, something has set default_transaction_read_only, perhaps because its disk is full"
	case connecting:
		what = "check that the server runs, and the host, port and sslmode of the URL"
	}
	err = Line(err)
	if what != "" {
		err = fmt.Errorf("%w: %s", err, what)
	}
	return err
}

// IsCode reports whether err is the server's error with a SQLSTATE.
func IsCode(err error, code string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == code
}
