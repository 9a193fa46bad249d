package postgrestest

import (
	"context"
	"errors"
	"evalctl/internal/longtest"
	"evalctl/internal/porttest"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Options configures a cluster.
type Options struct {
	// Dir is the folder for the directory of the cluster; empty means the folder of temporary
	// files. If the tests run as root, the user postgres must be able to enter it.
	Dir string
	// Fast is a server that does not wait for the disk and, if Dir is empty, is in memory if there
	// is enough. A crash of the server loses nothing, because the machine goes on. Tests take a
	// fraction of the time.
	Fast bool
	// Settings are the settings of the server, each as name=value.
	Settings []string
	// Files are written to the directory of the data before the server starts, such as pg_hba.conf.
	// Only the server's user may read them.
	Files map[string]string

	primary string // address of the server that this one follows; empty for one of its own
}

// Cluster is a running server. It is stopped and deleted when the test ends.
type Cluster struct {
	t       testing.TB
	bin     string // directory of the server's programs
	dir     string
	port    int
	release func() // of the port
	killed  bool   // and not started since
	options Options
	// keeper ends the server and deletes its directory when its input is closed, at the latest when
	// this process ends.
	keeper *exec.Cmd
	alive  io.Closer
}

// startTries is how often a new cluster tries to find a free port.
const startTries = 5

func create(t testing.TB, options Options) *Cluster {
	t.Helper()
	bin := programs()
	if bin == "" {
		const missing = "no PostgreSQL server: initdb and pg_ctl are neither in PATH nor in /usr/lib/postgresql " +
			"(Debian: apt-get install postgresql)"
		if os.Getenv(Required) != "" { //nolint:forbidigo // only tests use it
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	parent := options.Dir
	if options.Fast && parent == "" {
		parent = longtest.MemoryDir()
	}
	dir, err := os.MkdirTemp(parent, "evalctl-postgres-") //nolint:usetesting // the server's user could not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, bin: bin, dir: dir, options: options}
	if err := c.keep(); err != nil {
		_ = os.RemoveAll(dir)
		t.Fatalf("watch over PostgreSQL: %v", err)
	}
	if out, err := c.initialize(); err != nil {
		c.remove()
		t.Fatalf("start PostgreSQL: %v\n%s", err, out)
	}
	return c
}

// initialize makes the cluster and starts it for the first time.
func (c *Cluster) initialize() (out []byte, err error) {
	if c.options.primary != "" {
		out, err = c.copyPrimary()
	} else {
		out, err = c.run("initdb", "-N", "-D", c.Data(), "-U", "svc", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
	}
	if err != nil {
		return out, err
	}
	for name, text := range c.options.Files {
		path := filepath.Join(c.Data(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if err := chown(path); err != nil {
			return nil, err
		}
	}
	for range startTries {
		// A port that outgoing connections do not get either: one would keep a stopped server from
		// starting again, even a client's attempt to reach that server.
		if c.port, c.release, err = porttest.Reserve(1); err != nil {
			return nil, err
		}
		if out, err = c.start(); err == nil || !strings.Contains(string(out), "could not create any TCP/IP sockets") {
			break
		}
		c.release()
	}
	return out, err
}

// keep starts the process that deletes the cluster when this process ends.
func (c *Cluster) keep() error {
	if err := chown(c.dir); err != nil {
		return err
	}
	const script = `cat; "$1" -D "$2/data" -m immediate -w stop; cd /; rm -rf "$2"`
	c.keeper = exec.Command("sh", "-c", script, "sh", c.Bin("pg_ctl"), c.dir) //nolint:noctx // it ends with its input
	if err := demote(c.keeper); err != nil {
		return err
	}
	var err error
	if c.alive, err = c.keeper.StdinPipe(); err != nil {
		return err
	}
	return c.keeper.Start()
}

// remove has the keeper end the cluster. It deletes the files in a directory that the server's user
// may not change.
func (c *Cluster) remove() {
	_ = c.alive.Close()
	_ = c.keeper.Wait() // pg_ctl fails if the test has stopped the server
	_ = os.RemoveAll(c.dir)
	if c.release != nil {
		c.release()
	}
}

func (c *Cluster) url(database string) string {
	return fmt.Sprintf("postgres://svc@%s/%s?sslmode=disable", c.Addr(), database)
}

// Addr is the host and port of the server.
func (c *Cluster) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)) }

// Bin returns the path of a program of the server's distribution, such as pg_dump.
func (c *Cluster) Bin(name string) string { return filepath.Join(c.bin, name) }

// Stop stops the server. Mode is pg_ctl's: fast, or immediate, which is a crash.
func (c *Cluster) Stop(mode string) {
	c.t.Helper()
	if out, err := c.run("pg_ctl", "-D", c.Data(), "-m", mode, "-w", "stop"); err != nil {
		c.t.Fatalf("stop PostgreSQL: %v\n%s", err, out)
	}
}

// Kill ends every process of the server with SIGKILL, and returns once they have ended.
func (c *Cluster) Kill() {
	c.t.Helper()
	if err := c.kill(); err != nil {
		c.t.Fatalf("kill PostgreSQL: %v", err)
	}
	c.killed = true
	_ = c.forget() // or Start does it, on a disk that can be written to again
}

// forget removes the files that say that the server runs, after Kill. The killed process may be a
// zombie for a while, for which a new server would wait.
func (c *Cluster) forget() error {
	socket := filepath.Join(c.dir, fmt.Sprintf(".s.PGSQL.%d.lock", c.port))
	for _, file := range []string{c.pidFile(), socket} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c *Cluster) pidFile() string { return filepath.Join(c.Data(), "postmaster.pid") }

// Start starts the server again after Stop or Kill, at the same address.
func (c *Cluster) Start() {
	c.t.Helper()
	if err := c.Launch(); err != nil {
		c.t.Fatal(err)
	}
}

// Launch is Start for a server that may refuse to start. The error has its log.
func (c *Cluster) Launch() error {
	if out, err := c.start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w\n%s", err, out)
	}
	return nil
}

// Running reports whether the server has a process. One that has crashed has none.
func (c *Cluster) Running() bool {
	if c.killed {
		return false
	}
	_, err := c.run("pg_ctl", "-D", c.Data(), "status")
	return err == nil
}

// Log returns the log of the server.
func (c *Cluster) Log() string {
	log, _ := os.ReadFile(c.log())
	return string(log)
}

func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

// Data is the directory of the server's data.
func (c *Cluster) Data() string { return filepath.Join(c.dir, "data") }

// start returns the server's log if it does not start.
func (c *Cluster) start() ([]byte, error) {
	if c.killed {
		if err := c.forget(); err != nil {
			return nil, err
		}
		c.killed = false
	}
	settings := []string{
		"listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", c.port),
		"unix_socket_directories=" + c.dir, "max_connections=200",
		// A server that stops waits this long for connections on which nothing was sent.
		"authentication_timeout=5s",
	}
	if c.options.Fast {
		settings = append(settings, "fsync=off", "max_wal_size=128MB")
	}
	settings = append(settings, c.options.Settings...)
	out, err := c.run("pg_ctl", "-D", c.Data(), "-w", "-l", c.log(), "-o", "-c "+strings.Join(settings, " -c "), "start")
	if err != nil {
		out = append(out, c.Log()...)
	}
	return out, err
}

// runTimeout is for programs of the server. A start after a crash takes longest.
const runTimeout = 5 * time.Minute

// run runs a program of the server in its directory and, if the tests run as root, as the user
// postgres, because the server refuses root.
func (c *Cluster) run(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Bin(name), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+c.dir)
	if err := demote(cmd); err != nil {
		return nil, err
	}
	// A file, because the server would keep a pipe open. Not in the cluster, whose disk may be full.
	log, err := os.CreateTemp("", "evalctl-postgres-out-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(log.Close(), os.Remove(log.Name())) }()
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	out, _ := os.ReadFile(log.Name())
	return out, err
}
