package pgstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

// roles counts roles, which all databases share.
var roles int

// managed returns the connection URL of a new role that is no superuser, in a new database, after
// SQL in which %s is the role.
func managed(t *testing.T, sql ...string) (conn, role string, admin func(sql string)) {
	t.Helper()
	u, err := url.Parse(postgrestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), u.String(), postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	roles++
	role = fmt.Sprintf("managed%d", roles)
	admin = func(sql string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), strings.ReplaceAll(sql, "%s", role)); err != nil {
			t.Fatal(err)
		}
	}
	admin("CREATE ROLE %s LOGIN")
	for _, s := range sql {
		admin(s)
	}
	u.User = url.User(role)
	return u.String(), role, admin
}

const ownSchema = "CREATE SCHEMA evalctl AUTHORIZATION %s"

// TestManaged works as a user that a provider of databases gives to its clients, with defaults for
// sessions that others have chosen.
func TestManaged(t *testing.T) {
	settings := []string{ownSchema}
	for _, setting := range []string{
		"search_path = nowhere", "default_transaction_isolation = serializable", "statement_timeout = 200", "lock_timeout = 1",
		"client_encoding = 'LATIN1'", "bytea_output = 'escape'", "datestyle = 'German'", "timezone = 'Asia/Kathmandu'",
		"standard_conforming_strings = off", "array_nulls = off",
	} {
		settings = append(settings, "ALTER ROLE %s SET "+setting)
	}
	conn, _, _ := managed(t, settings...)
	conn += "&default_transaction_isolation=serializable"
	db := openDB(t, conn)
	brain := newBrain(t, db)
	s := [2]*store.Store{openStore(t, db, brain), openStore(t, openDB(t, conn), brain)}
	ctx := t.Context()
	const each = 30
	var wg sync.WaitGroup
	for i := range s {
		wg.Go(func() {
			for range each {
				ops := []store.Op{{Kind: store.OpAppend, Path: "log", Data: []byte("é")}, {Kind: store.OpWrite, Path: "ß", Data: nil}}
				err := errors.Join(s[i].Append(ctx, "log", []byte("é")), s[i].Apply(ctx, store.Commit{Ops: ops}))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	var timeout string
	err := db.Pool().QueryRow(ctx, "SHOW statement_timeout").Scan(&timeout)
	if timeout == "200ms" || err != nil {
		t.Errorf("statement_timeout = %s, error %v", timeout, err)
	}
	data, err := s[0].Read(ctx, "log")
	if want := strings.Repeat("é", 4*each); string(data) != want || err != nil {
		t.Errorf("read %d bytes, want %d; error %v", len(data), len(want), err)
	}
}

// TestManagedRefused has databases that cannot be used. The error says what to do, in one line.
func TestManagedRefused(t *testing.T) {
	t.Parallel()
	open := func(conn string) error {
		db, err := pgstore.Open(t.Context(), conn, slog.New(slog.DiscardHandler))
		if err == nil {
			db.Close()
		}
		return err
	}
	encoded := func(admin func(string), encoding string) {
		admin("CREATE DATABASE %s OWNER %s ENCODING '" + encoding + "' LOCALE 'C' TEMPLATE template0")
	}
	for name, tt := range map[string]struct {
		sql  string
		want string
		// database is an encoding of another database, empty for none.
		database string
	}{
		"no right to create a schema": {"SELECT 1", "GRANT CREATE ON DATABASE", ""},
		"schema of somebody else":     {"CREATE SCHEMA evalctl", "GRANT", ""},
		"read-only":                   {ownSchema + "; ALTER ROLE %s SET default_transaction_read_only = on", "default_transaction_read_only", ""},
		"no connections":              {ownSchema + "; ALTER ROLE %s CONNECTION LIMIT 0", "pool_max_conns", ""},
		"no text":                     {"SELECT 1", "--encoding=UTF8", "SQL_ASCII"},
		"other text":                  {"SELECT 1", "--encoding=UTF8", "LATIN1"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, role, admin := managed(t, tt.sql)
			if tt.database != "" {
				encoded(admin, tt.database)
				u, err := url.Parse(conn)
				if err != nil {
					t.Fatal(err)
				}
				u.Path = "/" + role
				conn = u.String()
			}
			err := open(conn)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s in one line", err, tt.want)
			}
		})
	}
	// All of several servers are named.
	err := open("postgres://svc@127.0.0.1:9,127.0.0.1:7/d")
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "127.0.0.1:9") || !strings.Contains(err.Error(), "127.0.0.1:7") {
		t.Errorf("got %v, want both servers in one line", err)
	}
}

// TestManagedLater takes connections, and the right to write, from a daemon that runs.
func TestManagedLater(t *testing.T) {
	pgstore.Hurry(t, 500*time.Millisecond)
	conn, _, admin := managed(t, ownSchema)
	db := openDB(t, conn)
	s := openStore(t, db, newBrain(t, db))
	for _, tt := range []struct{ take, give string }{
		{"ALTER ROLE %s CONNECTION LIMIT 0", "ALTER ROLE %s CONNECTION LIMIT -1"},
		{"ALTER ROLE %s NOLOGIN", "ALTER ROLE %s LOGIN"},
		{"ALTER ROLE %s SET default_transaction_read_only = on", "ALTER ROLE %s RESET default_transaction_read_only"},
	} {
		admin(tt.take)
		admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s'")
		var err error
		awaittest.Until(t, tt.take, func() bool { // not only the first error, that of a closed connection
			err = s.Write(t.Context(), "a", nil)
			return err != nil && (postgres.IsCode(err, "53300") || postgres.IsCode(err, "28000") || postgres.ReadOnly(err))
		})
		if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a store that is unavailable, in one line", tt.take, err)
		}
		admin(tt.give)
		awaittest.Until(t, tt.give, func() bool { return s.Write(t.Context(), "a", nil) == nil })
	}
}
