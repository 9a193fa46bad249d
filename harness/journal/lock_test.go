package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
)

// TestLockOutput checks that a folder is locked for one SDK until it is released.
func TestLockOutput(t *testing.T) {
	dir := t.TempDir()
	release, err := LockOutput(dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockOutput(dir, "go"); !errors.Is(err, errBusy) ||
		!strings.Contains(err.Error(), "another --output") {
		t.Errorf("got %v", err)
	}
	other, err := LockOutput(dir, "py")
	if err != nil {
		t.Fatalf("another SDK: %v", err)
	}
	other()
	release()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	again, err := LockOutput(dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// TestLockOutputHasOneHolder checks that two holders never overlap, although a release removes the
// lock's file.
func TestLockOutputHasOneHolder(t *testing.T) {
	dir := t.TempDir()
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for held := 0; held < 200; {
				release, err := LockOutput(dir, "go")
				if errors.Is(err, errBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				if _, err := os.Stat(filepath.Join(dir, "go.lock")); err != nil {
					t.Errorf("the locked file does not exist: %v", err)
				}
				held++
				holders.Add(-1)
				release()
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
}

// TestDaemonLogKeepsBackup checks that each run has a log of its own.
func TestDaemonLogKeepsBackup(t *testing.T) {
	dir := t.TempDir()
	log, err := DaemonLog(dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, log, "of the first run")
	if again, err := DaemonLog(dir, "go"); err != nil || again != log {
		t.Error(again, err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "go.daemon.*.log"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != "of the first run" {
		t.Errorf("the backup contains %q, %v", data, err)
	}
}
