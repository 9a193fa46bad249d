package postgrestest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// standbyTimeout is how long a standby may take to receive missing commits.
const standbyTimeout = time.Minute

// Standby starts a server that follows the cluster at an address: Addr, or the address of a Proxy,
// which can then keep commits from it. It returns once the standby has all earlier commits.
func (c *Cluster) Standby(address string) *Cluster {
	c.t.Helper()
	s := NewWith(c.t, Options{Dir: c.options.Dir, Fast: c.options.Fast, Settings: c.options.Settings, primary: address})
	c.CatchUp(s)
	return s
}

// copyPrimary makes the directory of a standby.
func (c *Cluster) copyPrimary() (out []byte, err error) {
	host, port, err := net.SplitHostPort(c.options.primary)
	if err != nil {
		return nil, err
	}
	return c.run("pg_basebackup", "-N", "-D", c.Data(), "-R", "-X", "stream", "-c", "fast",
		"-d", fmt.Sprintf("host=%s port=%s user=svc sslmode=disable", host, port))
}

// CatchUp waits until a standby has all present commits.
func (c *Cluster) CatchUp(standby *Cluster) {
	c.t.Helper()
	end := c.ask("SELECT pg_current_wal_lsn()::text")
	begun := time.Now()
	for standby.ask("SELECT coalesce(pg_last_wal_replay_lsn() >= '"+end+"', false)::text") != "true" {
		if time.Since(begun) > standbyTimeout {
			c.t.Fatalf("the standby has not received %s:\n%s", end, standby.Log())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// WaitForStandbys makes each commit wait, from now on, until a standby has it.
func (c *Cluster) WaitForStandbys() {
	c.t.Helper()
	c.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
	c.ask("SELECT pg_reload_conf()::text")
	begun := time.Now()
	for c.ask("SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
		if time.Since(begun) > standbyTimeout {
			c.t.Fatalf("no standby is waited for:\n%s", c.Log())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Promote makes a standby a primary server.
func (c *Cluster) Promote() {
	c.t.Helper()
	if out, err := c.run("pg_ctl", "-D", c.Data(), "-w", "promote"); err != nil {
		c.t.Fatalf("promote PostgreSQL: %v\n%s", err, out)
	}
}

// Either returns a connection URL that leads to whichever of two servers is the primary. conn is
// one of the cluster's.
func (c *Cluster) Either(conn string, other *Cluster) string {
	c.t.Helper()
	u, err := url.Parse(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	u.Host = c.Addr() + "," + other.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	return u.String()
}

// ask returns the one text of a query's result, "" if it has none.
func (c *Cluster) ask(sql string) (text string) {
	c.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	_, err = pgx.ForEachRow(rows, []any{&text}, func() error { return nil })
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return text
}
