package postgrestest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// asChild is the environment variable that has TestMain run what TestKilled kills.
const asChild = "POSTGRESTEST_CHILD"

func TestMain(m *testing.M) {
	longtest.Parallel(4) // they wait for servers
	os.Exit(postgrestest.Main(m))
}

// ask returns the one value of a query.
func ask(t *testing.T, url, query string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// open returns a temporary folder in which, as in /tmp, every user may create files.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "postgrestest-") //nolint:usetesting // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDurability checks that only tests save the time of waiting for the disk.
func TestDurability(t *testing.T) {
	t.Parallel()
	if got := ask(t, postgrestest.Database(t), "SHOW fsync"); got != "off" {
		t.Errorf("shared by tests: fsync = %s", got)
	}
	if got := ask(t, postgrestest.New(t).Database(), "SHOW fsync"); got != "on" {
		t.Errorf("a test's own: fsync = %s", got)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	c := postgrestest.NewWith(t, postgrestest.Options{
		Dir: open(t), Fast: true, Settings: []string{"work_mem=7MB"}, Files: map[string]string{"given.conf": "one"},
	})
	url := c.Database()
	if got := ask(t, url, "SHOW work_mem"); got != "7MB" {
		t.Errorf("work_mem = %s", got)
	}
	if got := ask(t, url, "SELECT pg_read_file('given.conf')"); got != "one" {
		t.Errorf("the file has %q", got)
	}
	restored := c.Restored("CREATE TABLE a (n text); INSERT INTO a VALUES ('kept');")
	if got := ask(t, restored, "SELECT n FROM a"); got != "kept" {
		t.Errorf("restored %q", got)
	}
}

// TestRestart checks that a crashed server comes back at its address, with its data, though a
// client tries to reach it all the time.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	url := c.Restored("CREATE TABLE a (n text); INSERT INTO a VALUES ('kept');")
	c.Stop("immediate")
	if c.Running() {
		t.Error("it runs after Stop")
	}
	for range 200 {
		if conn, err := net.Dial("tcp", c.Addr()); err == nil {
			conn.Close()
			t.Fatalf("somebody answers at %s", c.Addr())
		}
	}
	c.Start()
	if got := ask(t, url, "SELECT n FROM a"); got != "kept" {
		t.Errorf("kept %q", got)
	}
}

// TestKilled checks that a killed test leaves neither a server nor its directory.
func TestKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(asChild) != "" {
		fmt.Printf("child %s\n", postgrestest.New(t).Addr())
		select {} // until it is killed
	}
	postgrestest.Database(t) // skips without a server
	dir := open(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), asChild+"=1", "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	for sc := bufio.NewScanner(out); addr == "" && sc.Scan(); {
		addr, _ = strings.CutPrefix(sc.Text(), "child ")
	}
	if clusters, err := filepath.Glob(dir + "/evalctl-postgres-*"); len(clusters) != 1 || err != nil {
		t.Fatalf("clusters %q, error %v", clusters, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		clusters, _ := filepath.Glob(dir + "/evalctl-postgres-*")
		if err != nil && len(clusters) == 0 {
			break
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("30 s later the server answers (%v) or has a directory %q", err, clusters)
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder above is gone too")
	}
}
