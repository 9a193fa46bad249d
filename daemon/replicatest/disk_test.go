package replicatest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

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

// fill writes until the disk is full, and for some time whenever it no longer is. The returned
// function makes room again.
func fill(dir string, d time.Duration) (free func() error, err error) {
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	free = func() error { return errors.Join(f.Close(), os.Remove(path)) }
	for begun := time.Now(); time.Since(begun) < d; time.Sleep(5 * time.Millisecond) {
		for _, size := range []int{1 << 20, 4 << 10} {
			for err == nil {
				_, err = io.Copy(f, bytes.NewReader(make([]byte, size)))
			}
			err = nil // the disk is full
		}
	}
	return free, nil
}

// TestFullDisk fills the disk of the database while clients write. The server then refuses some
// writes, and it crashes if it cannot write its log.
func TestFullDisk(t *testing.T) {
	onlyLong(t)
	dir := smallDisk(t)
	f := newFleet(t, postgrestest.Options{
		Dir: dir, Settings: []string{"fsync=off", "max_wal_size=32MB", "min_wal_size=32MB"},
	})
	crashes := 0
	f.test(rounds(1, 10), func() {
		unknown := f.counts.unknown.Load()
		free, err := fill(dir, time.Second)
		for begun := time.Now(); err == nil && f.counts.unknown.Load() == unknown; time.Sleep(20 * time.Millisecond) {
			if time.Since(begun) > f.settle {
				t.Error("the clients did not notice that the disk is full")
				break
			}
		}
		if err = errors.Join(err, free()); err != nil {
			t.Fatal(err)
		}
		// A server without a process does not come back by itself.
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			if !f.cluster.Running() {
				crashes++
				f.cluster.Start()
			}
		}
	})
	t.Logf("the server had to be started %d times", crashes)
}
