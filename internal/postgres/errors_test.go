package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

// TestRetryable provokes failures at a server, and in the network before it.
func TestRetryable(t *testing.T) {
	t.Parallel()
	proxy, conn := postgrestest.Proxied(t)
	direct, err := postgres.Open(t.Context(), conn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	if _, err := direct.Exec(t.Context(), "CREATE TABLE a (n int PRIMARY KEY); INSERT INTO a VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) func(context.Context, *pgxpool.Pool) error {
		return func(ctx context.Context, pool *pgxpool.Pool) error {
			_, err := pool.Exec(ctx, sql)
			return err
		}
	}
	for _, tt := range []struct {
		name string
		fail func(ctx context.Context, pool *pgxpool.Pool) error
		want bool
	}{
		{"unique key", exec("INSERT INTO a VALUES (1)"), false},
		{"syntax", exec("no SQL"), false},
		{"no such table", exec("SELECT * FROM b"), false},
		{"session terminated", exec("SELECT pg_terminate_backend(pg_backend_pid())"), true},
		{"statement_timeout", exec("SET statement_timeout = 20; SELECT pg_sleep(60)"), true},
		{"lock_timeout", func(ctx context.Context, pool *pgxpool.Pool) error {
			tx, err := pool.Begin(ctx)
			if err != nil {
				return nil
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, "LOCK TABLE a"); err != nil {
				return nil
			}
			return exec("SET lock_timeout = 20; SELECT * FROM a")(ctx, pool)
		}, true},
		{"canceled", func(ctx context.Context, pool *pgxpool.Pool) error {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return exec("SELECT pg_sleep(60)")(ctx, pool)
		}, false},
		{"deadline", func(ctx context.Context, pool *pgxpool.Pool) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			return exec("SELECT pg_sleep(60)")(ctx, pool)
		}, true},
		{"answer lost", func(ctx context.Context, pool *pgxpool.Pool) error {
			proxy.CutAfter(postgrestest.FromServer, 0)
			return exec("SELECT 1")(ctx, pool)
		}, true},
		{"half an answer", func(ctx context.Context, pool *pgxpool.Pool) error {
			proxy.CutAfter(postgrestest.FromServer, 100)
			return exec("SELECT repeat('x', 1000)")(ctx, pool)
		}, true},
		{"half a statement", func(ctx context.Context, pool *pgxpool.Pool) error {
			proxy.CutAfter(postgrestest.FromClient, 100)
			return exec("SELECT '"+strings.Repeat("x", 1000)+"'")(ctx, pool)
		}, true},
		{"no network", func(ctx context.Context, pool *pgxpool.Pool) error {
			proxy.Cut()
			return exec("SELECT 1")(ctx, pool)
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer proxy.Restore()
			pool, err := postgres.Open(t.Context(), conn, postgres.Options{MaxConns: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			err = tt.fail(t.Context(), pool)
			if err == nil {
				t.Fatal("no error")
			}
			wrapped := fmt.Errorf("write: %w", err)
			if postgres.Retryable(err) != tt.want || postgres.Retryable(wrapped) != tt.want {
				t.Errorf("%v: retryable is %v, want %v", err, postgres.Retryable(err), tt.want)
			}
		})
	}
}

// TestRetryableConnecting checks servers that do not let a client in.
func TestRetryableConnecting(t *testing.T) {
	t.Parallel()
	c := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	conn := c.Database()
	open := func(conn string) error {
		pool, err := postgres.Open(t.Context(), conn, postgres.Options{})
		if err == nil {
			pool.Close()
		}
		return err
	}
	u, err := url.Parse(conn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/none"
	u.RawQuery = "" // so that TLS is tried first, which the server refuses
	err = open(u.String())
	if postgres.Retryable(err) || !strings.Contains(err.Error(), "createdb") {
		t.Errorf("a database that does not exist: %v, want advice and not retryable", err)
	}
	if text := err.Error(); strings.Contains(text, "\n") || strings.Contains(text, "TLS") || !strings.Contains(text, "user svc") {
		t.Errorf("a database that does not exist: %s, want the one reason in one line", text)
	}
	c.Stop("immediate")
	if err := open(conn); err == nil || !postgres.Retryable(err) {
		t.Errorf("stopped: %v", err)
	}
	c.Start()
	if err := open(conn); err != nil {
		t.Errorf("started again: %v", err)
	}
}

// TestRetryableCodes checks conditions that are hard to provoke.
func TestRetryableCodes(t *testing.T) {
	for code, want := range map[string]bool{
		"53100": true,  // disk full
		"53300": true,  // too many connections
		"57P03": true,  // starting up
		"40001": true,  // serialization failure
		"40P01": true,  // deadlock
		"58030": true,  // I/O error
		"25006": true,  // a standby
		"28P01": false, // wrong password
		"42P01": false, // no such table
		"23505": false, // unique key
		"22021": false, // text that is not UTF-8
		"":      false,
	} {
		if got := postgres.Retryable(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("%s: got %v, want %v", code, got, want)
		}
	}
	if postgres.Retryable(nil) || postgres.Retryable(errors.New("other")) {
		t.Error("an error that is not of PostgreSQL is retryable")
	}
}

// TestSupported checks servers and databases that are refused.
func TestSupported(t *testing.T) {
	for want, err := range map[string]error{
		"version 15 or newer": postgres.Supported(140022, "14.22 (Debian)", "UTF8"),
		"--encoding=UTF8":     postgres.Supported(150000, "15.0", "SQL_ASCII"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := postgres.Supported(150000, "15.0", "UTF8"); err != nil {
		t.Error(err)
	}
}

func TestLine(t *testing.T) {
	cause := errors.New("host one: a\n\thost two: b\n\thost one: a")
	err := postgres.Line(fmt.Errorf("connect:\n\t%w", cause))
	if got, want := err.Error(), "connect: host one: a; host two: b"; got != want || !errors.Is(err, cause) {
		t.Errorf("got %q, want %q with its cause", got, want)
	}
	if postgres.Line(cause) == cause || postgres.Line(io.EOF) != io.EOF || postgres.Line(nil) != nil { //nolint:errorlint // the same error
		t.Error("an error in one line is replaced, or one in several lines is not")
	}
	// A pool returns such an error once its server has gone.
	_, err = pgconn.Connect(t.Context(), "postgres://svc@127.0.0.1:1,127.0.0.1:2/none")
	text := postgres.Line(fmt.Errorf("write: %w", err)).Error()
	if !strings.HasPrefix(text, "write: cannot connect as user svc: 127.0.0.1:1 ") || strings.Contains(text, "\n") ||
		strings.Count(text, "127.0.0.1:2 ") != 1 {
		t.Errorf("no server: %s", text)
	}
}
