package postgres

import (
	"context"
	"errors"
	"net"
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
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connect || network || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "unexpected EOF")
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
		code == "25006" // a server that has become a standby
}

// IsCode reports whether err is the server's error with a SQLSTATE.
func IsCode(err error, code string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == code
}
