// Package postgres connects to PostgreSQL: connection pools with timeouts, versioned schemas, and
// errors that say whether trying again helps. It does not depend on the content of the tables.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// MinVersion is the oldest server version that is supported, as server_version_num has it.
const MinVersion = 150000

// Timeouts of every session of a pool. The server enforces them.
const (
	statementTimeout = 30 * time.Second
	lockTimeout      = 5 * time.Second
	// idleInTransaction ends transactions of a client that has vanished without closing.
	idleInTransaction = 60 * time.Second
	connectTimeout    = 5 * time.Second
)

// Options configures Open.
type Options struct {
	// MaxConns is the largest number of connections; 0 means the larger of 16 and four times the
	// number of CPUs, unless the connection string has pool_max_conns.
	MaxConns int
	// MinConns is the smallest number of connections with which the program works. Otherwise it
	// would wait for itself.
	MinConns int
	// Name is the application_name that the server shows, unless the connection string has one.
	Name string
	// Connected is called for each new connection, before it is used, including connections made
	// with the configuration of the pool. server identifies the database and the server. It changes
	// after a failover, a restart of the server, or the exchange of the database.
	Connected func(server string)
}

// IsURL reports whether s is a connection string in the form of a URL.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// HasPassword reports whether a connection string contains a password. Such strings belong in the
// environment, because other users of the machine can read a process's arguments.
func HasPassword(conn string) bool {
	if !IsURL(conn) {
		return passwordKey.MatchString(conn)
	}
	_, rest, _ := strings.Cut(conn, "//")
	// Not url.User, because the password may not be escaped as it must.
	if user, _, found := strings.Cut(rest, "@"); found && strings.Contains(user, ":") {
		return true
	}
	u, err := url.Parse(conn)
	if err != nil {
		return passwordKey.MatchString(conn)
	}
	return u.Query().Has("password") || u.Query().Has("sslpassword")
}

// passwordKey finds password and sslpassword in a list of keywords and values.
var passwordKey = regexp.MustCompile(`(?i)password\s*=`)

// Address describes the server and database of a connection string, without user and password.
func Address(conn string) string {
	cfg, err := pgx.ParseConfig(conn)
	if err != nil || cutShort(conn) {
		return "postgres"
	}
	return fmt.Sprintf("postgres://%s/%s", net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)), cfg.Database)
}

// Open returns a pool of connections, which the caller must close. It checks that the server
// answers and that its version is supported. TLS follows sslmode and the other parameters of the
// connection string, as libpq does. Errors never contain the password.
func Open(ctx context.Context, conn string, opts Options) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(conn)
	if err != nil || cutShort(conn) {
		return nil, invalid(err)
	}
	configure(cfg, conn, opts)
	if n := int(cfg.MaxConns); n < opts.MinConns {
		return nil, fmt.Errorf("%s: pool_max_conns=%d is too small: set it to %d or more", Address(conn), n, opts.MinConns)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Address(conn), advise(err))
	}
	if err := check(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("%s: %w", Address(conn), advise(err))
	}
	return pool, nil
}

// invalid describes why pgx rejected a connection string. The text of pgx repeats the string, with
// the password masked as far as pgx can recognize it.
func invalid(err error) error {
	const text = "the PostgreSQL connection string is invalid"
	if path, ok := errors.AsType[*fs.PathError](err); ok { // of a certificate or a key
		return fmt.Errorf("%s: %w", text, path)
	}
	return errors.New(text + ": it must be like postgres://user@host:5432/database?sslmode=verify-full, " +
		"and a password has / as %2F, ? as %3F, # as %23, @ as %40 and % as %25")
}

// cutShort reports whether a URL has an @ that is not before the host. The user or the password
// then has an unescaped character that ends the host. The rest would be taken for the name of a
// database or a parameter, which messages repeat.
func cutShort(conn string) bool {
	if !IsURL(conn) {
		return false
	}
	_, rest, _ := strings.Cut(conn, "://")
	host := strings.IndexAny(rest, "/?#")
	if host < 0 {
		return false
	}
	path, query, _ := strings.Cut(rest[host:], "?")
	key, _, _ := strings.Cut(query, "=")
	return strings.Contains(path+key, "@") || strings.Contains(rest[host:], "#")
}

func configure(cfg *pgxpool.Config, conn string, opts Options) {
	if !strings.Contains(conn, "pool_max_conns") {
		cfg.MaxConns = max(16, 4*cfg.MaxConns) // pgx has the number of CPUs, at least 4
		if opts.MaxConns > 0 {
			cfg.MaxConns = int32(opts.MaxConns)
		}
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	if _, set := cfg.ConnConfig.RuntimeParams["application_name"]; !set && opts.Name != "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = opts.Name
	}
	begin := session{settings: settings(cfg.ConnConfig.RuntimeParams), connected: opts.Connected}
	cfg.ConnConfig.AfterConnect = begin.set
	cfg.ConnConfig.OnPgError = keepAfter
}

func check(ctx context.Context, pool *pgxpool.Pool) error {
	if err := checkPooler(ctx, pool); err != nil {
		return err
	}
	var version int
	var name, encoding string
	err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		current_setting('server_encoding')`).Scan(&version, &name, &encoding)
	if err != nil {
		return err
	}
	return supported(version, name, encoding)
}

func supported(version int, name, encoding string) error {
	if version < MinVersion {
		return fmt.Errorf("the server runs PostgreSQL %s: version %d or newer is needed", name, MinVersion/10000)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s, UTF8 is needed: "+
			"create the database with createdb --encoding=UTF8 --template=template0", encoding)
	}
	return nil
}
