package gitstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/longtest"
)

// openDirEnv makes the test binary run as the process that is killed while it creates
// repositories.
const openDirEnv = "GITSTORE_OPEN_DIR"

// openUntilKilled creates and closes one repository after the other.
func openUntilKilled(dir string) int {
	for n := 0; ; n++ {
		r, err := gitstore.Open(context.Background(), filepath.Join(dir, strconv.Itoa(n)), nil)
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("closed")
	}
}

// TestCrashInOpen kills a process that creates repositories. The next Open must finish the last
// one.
func TestCrashInOpen(t *testing.T) {
	rounds := storetest.Rounds(t, os.Getenv(crashRoundsEnv), longtest.Rounds(4, 10))
	unfinished := 0
	for round := range rounds {
		dir := storetest.MemoryDir(t)
		storetest.Kill(t, openDirEnv, dir, 1, 8*time.Millisecond)
		made, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, repo := range made {
			path := filepath.Join(dir, repo.Name())
			if _, err := os.Lstat(filepath.Join(path, ".git", "gitstore", "schema")); err != nil {
				unfinished++
			}
			r := openDir(t, path, nil)
			write(t, r, "a", "1")
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		r := openDir(t, filepath.Join(dir, strconv.Itoa(len(made)-1)), nil)
		wantDocs(t, r, map[string]string{"a": "1"})
		wantSound(t, r, filepath.Join(dir, strconv.Itoa(len(made)-1)))
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d repositories were not finished", unfinished)
}

// TestRemovedIndexLock: git recommends removing the lock of the index. A store whose lock is gone
// closes without an error.
func TestRemovedIndexLock(t *testing.T) {
	dir := storetest.MemoryDir(t)
	st := openDir(t, dir, nil)
	if err := os.Remove(filepath.Join(dir, ".git", "index.lock")); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestIndexLock: Open takes over a lock of the index only if it is certain that it is the store's
// own.
func TestIndexLock(t *testing.T) {
	const mark = "held by gitstore while the store is open\n"
	for _, c := range []struct {
		name, lock, left string // contents, "-" for no file
		linked, rejected bool   // linked: both are the same file
	}{
		{name: "killed before the mark was written", lock: "-", left: ""},
		{name: "killed while the mark was written", lock: "-", left: mark[:10]},
		{name: "killed before the mark was linked", lock: "-", left: mark},
		{name: "killed after the mark was linked", lock: mark, left: mark, linked: true},
		{name: "killed with the store open", lock: mark, left: "-"},
		{name: "a git program that has not written yet", lock: "", left: "-", rejected: true},
		{name: "a git program", lock: "DIRC", left: "-", rejected: true},
		{name: "a git program, and killed before", lock: "", left: mark, rejected: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := storetest.MemoryDir(t)
			if err := openDir(t, dir, nil).Close(); err != nil {
				t.Fatal(err)
			}
			lock, left := filepath.Join(dir, ".git", "index.lock"), filepath.Join(dir, ".git", "gitstore", "index.lock")
			if c.left != "-" {
				put(t, left, c.left)
			}
			if c.linked {
				if err := os.Link(left, lock); err != nil {
					t.Fatal(err)
				}
			} else if c.lock != "-" {
				put(t, lock, c.lock)
			}
			r, err := gitstore.Open(t.Context(), dir, nil)
			if c.rejected {
				if err == nil {
					t.Error("Open succeeded")
				}
				if text, err := os.ReadFile(lock); err != nil || string(text) != c.lock {
					t.Errorf("the lock of the git program contains %q, %v", text, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(lock); err != nil || string(text) != mark {
				t.Errorf("the lock contains %q, %v", text, err)
			}
			if _, err := os.Lstat(left); !os.IsNotExist(err) {
				t.Errorf("%s is left behind: %v", left, err)
			}
			wantSound(t, r, dir)
		})
	}
}
