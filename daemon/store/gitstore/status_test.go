package gitstore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

// statusDirEnv makes the test binary run as the process of TestStatusAfterKill.
const statusDirEnv = "GITSTORE_STATUS_DIR"

func init() {
	children[statusDirEnv] = func(dir string) int {
		return inChild(dir, func(s *store.Store, out, errs io.Writer) int {
			if err := writeSome(context.Background(), s); err != nil {
				fmt.Fprintln(errs, err)
				return 1
			}
			fmt.Fprintln(out, "written")
			time.Sleep(time.Minute) // it is killed
			return 0
		})
	}
}

// writeSome makes commits of every kind.
func writeSome(ctx context.Context, s *store.Store) error {
	for _, do := range []func() error{
		func() error { return s.Write(ctx, "a.md", []byte("1")) },
		func() error { return s.Write(ctx, "d/é.md", []byte("2")) },
		func() error { return s.Write(ctx, "a.md", []byte("3")) },
		func() error { return s.Rename(ctx, "d/é.md", "b.md") },
		func() error { return s.Write(ctx, "d", []byte("a document in the place of the folder")) },
		func() error { return s.Write(ctx, ".gitignore", []byte("*.log\n")) },
		func() error { return s.Write(ctx, "x.log", []byte("ignored by git")) },
		func() error { return s.Delete(ctx, "a.md") },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// wantStatus checks that git sees no difference between HEAD, the index and the files.
func wantStatus(t *testing.T, dir string) {
	t.Helper()
	if out := git(t, dir, "status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("git status:\n%s", out)
	}
	if out := git(t, dir, "diff", "--cached", "--raw", "HEAD"); out != "" {
		t.Errorf("the index differs from HEAD:\n%s", out)
	}
	if ignore, err := os.ReadFile(filepath.Join(dir, ".git", "info", "exclude")); err == nil {
		t.Errorf("exclude: %s", ignore)
	}
}

// TestStatus: git status is clean while the store is open, after each of many commits.
func TestStatus(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	must(t, writeSome(t.Context(), r.Store))
	wantStatus(t, dir)
	for round := range 4 { // more changes than a split index has
		must(t, r.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
			for i := range 200 {
				if err := b.Write(t.Context(), fmt.Sprintf("many/%d/%d.md", i%7, i+100*round), fmt.Append(nil, round)); err != nil {
					return err
				}
			}
			return nil
		}))
		wantStatus(t, dir)
		must(t, r.Delete(t.Context(), fmt.Sprintf("many/0/%d.md", 7*round)))
		wantStatus(t, dir)
		must(t, r.Write(t.Context(), "b.md", fmt.Append(nil, "again ", round)))
		wantStatus(t, dir)
	}
	if out := git(t, dir, "ls-files"); strings.Count(out, "\n") < 400 {
		t.Errorf("the index has\n%s", out)
	}
	wantSound(t, r, dir)
	if shared, _ := filepath.Glob(filepath.Join(dir, ".git", "sharedindex.*")); len(shared) > 0 {
		t.Errorf("left behind: %q", shared)
	}
}

// TestStatusAfterKill: git status is clean after the process was killed, also before the store is
// opened again.
func TestStatusAfterKill(t *testing.T) {
	dir := storetest.MemoryDir(t)
	storetest.Kill(t, statusDirEnv, dir, 1, time.Millisecond)
	wantStatus(t, dir)
	r, err := gitstore.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, dir)
	must(t, r.Write(t.Context(), "new.md", []byte("1")))
	wantStatus(t, dir)
	wantSound(t, r, dir)
}
