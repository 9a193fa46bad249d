package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// diskSize is in MiB: what a new cluster needs, and some for documents.
const diskSize = "160m"

// smallDisk returns a folder with a file system of its own. It is gone when the test ends, also if
// it is killed.
func smallDisk(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root on Linux can mount a disk that is small enough to fill")
	}
	dir, err := os.MkdirTemp("", "evalctl-disk-") //nolint:usetesting // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0777,size="+diskSize, "evalctl-test", dir).CombinedOutput()
	if err != nil {
		_ = os.Remove(dir)
		t.Skipf("cannot mount a small disk here: %v: %s", err, out)
	}
	// It ends when its input does.
	keeper := exec.Command("sh", "-c", `cat; sleep 1; umount -l "$1" && rmdir "$1"`, "sh", dir)
	alive, err := keeper.StdinPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = alive.Close()
		if err := keeper.Wait(); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill writes until the disk is full, and whenever it no longer is. The returned function ends that
// and makes room again.
func fill(dir string) (free func() error, err error) {
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	stop, stopped, full := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tries := 0; ; tries++ {
			for _, size := range []int{1 << 20, 4 << 10} {
				for err := error(nil); err == nil; { // until the disk is full
					_, err = f.Write(make([]byte, size))
				}
			}
			if tries == 0 {
				close(full)
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	<-full
	return func() error {
		close(stop)
		<-stopped
		return errors.Join(f.Close(), os.Remove(path))
	}, nil
}

// crash has the server write its log, on a connection from before the disk was full, until there is
// no room for it. The server does not survive that, which shows on a connection that is not used.
func crash(ctx context.Context, conn, idle *pgx.Conn) error {
	var err error
	for begun := time.Now(); time.Since(begun) < settleTime && !conn.IsClosed(); {
		// A segment of the log that is not empty ends, and the next one begins.
		_, err = conn.Exec(ctx, "SELECT pg_logical_emit_message(false, 'test', 'x'), pg_switch_wal()", pgx.QueryExecModeExec)
	}
	// Its other sessions end a moment later.
	for begun := time.Now(); idle.Ping(ctx) == nil; time.Sleep(time.Millisecond) {
		if time.Since(begun) > settleTime {
			return fmt.Errorf("the server did not crash: %w", err)
		}
	}
	return nil
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// TestFullDisk fills the disk of the database while clients write. The server first refuses some
// writes, and crashes when it cannot write its log.
func TestFullDisk(t *testing.T) {
	longtest.Skip(t)
	onlyLong(t)
	dir := smallDisk(t)
	f := newFleet(t, postgrestest.Options{
		Dir: dir, Fast: true, Settings: []string{"max_wal_size=32MB", "min_wal_size=32MB"},
	})
	url := f.truth.(*table).url
	f.test(rounds(1, 10), func() {
		unknown := f.counts.unknown.Load()
		conn, idle := connect(t, url), connect(t, url)
		free, err := fill(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.rest()
		if err := crash(t.Context(), conn, idle); err != nil {
			t.Error(err)
		}
		f.rest()
		if f.counts.unknown.Load() == unknown {
			t.Error("the clients did not notice that the disk is full")
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			conn, err := pgx.Connect(t.Context(), url)
			if err == nil {
				_ = conn.Close(t.Context())
				return
			}
			if !f.cluster.Running() { // it does not come back by itself
				f.cluster.Start()
			}
			if time.Since(begun) > f.settle {
				t.Fatalf("there is room again, but the server does not answer: %v", err)
			}
		}
	})
}
