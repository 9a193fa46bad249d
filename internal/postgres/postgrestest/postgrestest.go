// Package postgrestest starts real PostgreSQL servers for tests: private clusters in temporary
// directories, on loopback. They end with the process of the tests, however it ends.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Required is the environment variable that makes tests fail, instead of skip, without the
// binaries of a server.
const Required = "EVALCTL_TEST_POSTGRES"

var databases atomic.Int64

// shared has the clusters of Database.
var shared struct {
	sync.Mutex
	clusters map[bool]*Cluster // by whether they wait for the disk
}

// Main runs the tests of a package that uses Database, and stops its cluster afterwards. It returns
// the exit code.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	for _, c := range shared.clusters {
		c.remove()
	}
	return code
}

// Database returns the connection URL of a new, empty database in a cluster that all tests of the
// process share. The package's TestMain must call Main. The server waits for the disk, as a real
// one does, only in benchmarks.
func Database(t testing.TB) string {
	t.Helper()
	_, durable := t.(*testing.B)
	shared.Lock()
	defer shared.Unlock()
	if shared.clusters == nil {
		shared.clusters = map[bool]*Cluster{}
	}
	if shared.clusters[durable] == nil {
		c := create(t, Options{Fast: !durable})
		c.t = nil // the cluster outlives the test
		shared.clusters[durable] = c
	}
	return shared.clusters[durable].database(t, "")
}

// New starts a cluster of the test's own, which it may stop and restart. It waits for the disk, as
// a real one does.
func New(t testing.TB) *Cluster { return NewWith(t, Options{}) }

// NewWith is New with options.
func NewWith(t testing.TB, options Options) *Cluster {
	t.Helper()
	c := create(t, options)
	t.Cleanup(c.remove)
	return c
}

// Database returns the connection URL of a new, empty database.
func (c *Cluster) Database() string {
	c.t.Helper()
	return c.database(c.t, "")
}

// Restored returns the connection URL of a new database and fails the test unless a script in SQL,
// such as the output of pg_dump, runs in it without an error.
func (c *Cluster) Restored(script string) string {
	c.t.Helper()
	return c.database(c.t, script)
}

func (c *Cluster) database(t testing.TB, script string) string {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	conn, err := pgx.Connect(context.Background(), c.url("postgres"))
	if err == nil {
		_, err = conn.Exec(context.Background(), "CREATE DATABASE "+name)
		_ = conn.Close(context.Background())
	}
	if err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	if script != "" {
		if out, err := c.restore(name, script); err != nil {
			t.Fatalf("restore a database: %v\n%s", err, out)
		}
	}
	return c.url(name)
}

func (c *Cluster) restore(database, script string) ([]byte, error) {
	f, err := os.CreateTemp(c.dir, "restore-*.sql")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	if _, err := f.WriteString(script); err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		return nil, err
	}
	return c.run("psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-f", f.Name(), c.url(database))
}
