// Package postgrestest starts real PostgreSQL servers for tests: private clusters in temporary
// directories, on loopback.
package postgrestest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Required is the environment variable that makes tests fail, instead of skip, without the
// binaries of a server.
const Required = "EVALCTL_TEST_POSTGRES"

// Cluster is a running server. It is stopped and deleted when the test ends.
type Cluster struct {
	t    testing.TB
	bin  string // directory of the server's programs
	dir  string
	port int
}

var databases atomic.Int64

// shared is the cluster of Database.
var shared struct {
	sync.Mutex
	cluster *Cluster
}

// Main runs the tests of a package that uses Database, and stops its cluster afterwards. It returns
// the exit code.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.remove()
	}
	return code
}

// Database returns the connection URL of a new, empty database in a cluster that all tests of the
// process share. The package's TestMain must call Main.
func Database(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		shared.cluster = create(t)
		shared.cluster.t = nil // it outlives the test
	}
	return shared.cluster.database(t)
}

// New starts a cluster of the test's own, which it may stop and restart.
func New(t testing.TB) *Cluster {
	t.Helper()
	c := create(t)
	t.Cleanup(c.remove)
	return c
}

// Database returns the connection URL of a new, empty database.
func (c *Cluster) Database() string {
	c.t.Helper()
	return c.database(c.t)
}

func (c *Cluster) database(t testing.TB) string {
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
	return c.url(name)
}

func (c *Cluster) url(database string) string {
	return fmt.Sprintf("postgres://svc@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// Addr is the host and port of the server.
func (c *Cluster) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)) }

// Bin returns the path of a program of the server's distribution, such as pg_dump.
func (c *Cluster) Bin(name string) string { return filepath.Join(c.bin, name) }

// Stop stops the server. Mode is that of pg_ctl: fast, or immediate, which is a crash.
func (c *Cluster) Stop(mode string) {
	c.t.Helper()
	if out, err := c.run("pg_ctl", "-D", c.data(), "-m", mode, "-w", "stop"); err != nil {
		c.t.Fatalf("stop PostgreSQL: %v\n%s", err, out)
	}
}

// Start starts the server again after Stop, at the same address.
func (c *Cluster) Start() {
	c.t.Helper()
	if out, err := c.start(); err != nil {
		c.t.Fatalf("start PostgreSQL: %v\n%s", err, out)
	}
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func create(t testing.TB) *Cluster {
	t.Helper()
	bin := programs()
	if bin == "" {
		const missing = "no PostgreSQL server: initdb and pg_ctl are neither in PATH nor in /usr/lib/postgresql " +
			"(Debian: apt-get install postgresql)"
		if os.Getenv(Required) != "" { //nolint:forbidigo // a setting of the machine that runs the tests
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	dir, err := os.MkdirTemp("", "evalctl-postgres-") //nolint:usetesting // the server outlives the test
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, bin: bin, dir: dir, port: freePort(t)}
	if err := c.chown(); err != nil {
		t.Fatal(err)
	}
	out, err := c.run("initdb", "-D", c.data(), "-U", "svc", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
	if err == nil {
		out, err = c.start()
	}
	if err != nil {
		c.remove()
		t.Fatalf("start PostgreSQL: %v\n%s", err, out)
	}
	return c
}

func (c *Cluster) start() ([]byte, error) {
	options := fmt.Sprintf("-c listen_addresses=127.0.0.1 -c port=%d -c unix_socket_directories=%s -c max_connections=200",
		c.port, c.dir)
	return c.run("pg_ctl", "-D", c.data(), "-w", "-l", filepath.Join(c.dir, "log"), "-o", options, "start")
}

// run runs a program of the server in its directory and, if the tests run as root, as the user
// postgres, because the server refuses root.
func (c *Cluster) run(name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(context.Background(), c.Bin(name), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+c.dir)
	if err := c.demote(cmd); err != nil {
		return nil, err
	}
	// A file, because the server would keep a pipe open.
	log, err := os.CreateTemp(c.dir, "out-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(log.Name()) }()
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	out, _ := os.ReadFile(log.Name())
	return out, err
}

func (c *Cluster) remove() {
	_, _ = c.run("pg_ctl", "-D", c.data(), "-m", "immediate", "-w", "stop") // it may have been stopped
	_ = os.RemoveAll(c.dir)
}

// programs returns the directory of initdb, "" if there is none.
func programs() string {
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if n := len(installed); n > 0 {
		return filepath.Dir(installed[n-1])
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Dir(path)
}

// owner returns the user that runs the server, nil for the present one.
func owner() (*user.User, error) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	return u, err
}

func (c *Cluster) chown() error {
	u, err := owner()
	if u == nil || err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return os.Chown(c.dir, uid, gid)
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	n, _ := strconv.Atoi(port)
	return n
}
