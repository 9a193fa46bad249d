package gitstore

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/awaittest"
)

// TestCrashInPullWithEdits kills a store between the renames of a pull that changes a file that
// was edited by hand. When the store is opened again, the edit is in the file, merged with the
// pulled change, or in git stash if that is not possible.
func TestCrashInPullWithEdits(t *testing.T) {
	const before, edited = "1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5 by hand\n"
	for name, c := range map[string]struct {
		theirs, want string
		stashed      bool
	}{
		"merged":  {theirs: "1 theirs\n2\n3\n4\n5\n", want: "1 theirs\n2\n3\n4\n5 by hand\n"},
		"stashed": {theirs: "1\n2\n3\n4\n5 theirs\n", want: "1\n2\n3\n4\n5 theirs\n", stashed: true},
	} {
		t.Run(name, func(t *testing.T) {
			killed := killedInPull(t, before, edited, c.theirs)
			// As apply makes them: one.md is backed up and replaced, two.md is only replaced.
			renames := [][2]string{
				{"one.md", ".git/gitstore/undo/0"}, {".git/gitstore/staged/0", "one.md"},
				{".git/gitstore/staged/1", "two.md"},
			}
			for steps := range len(renames) + 1 {
				dir := copied(t, killed)
				for _, r := range renames[:steps] {
					if err := os.Rename(filepath.Join(dir, r[0]), filepath.Join(dir, r[1])); err != nil {
						t.Fatal(err)
					}
				}
				wantReopened(t, dir, c.want, c.stashed)
				wantFile(t, dir, "two.md", "theirs")
				if !c.stashed {
					continue
				}
				entry, err := runProgram(t.Context(), dir, false, "show", "stash@{0}:one.md")
				if err != nil || string(entry) != edited {
					t.Errorf("after %d renames: git stash has %q, %v", steps, entry, err)
				}
			}
			dir := copied(t, killed) // killed before the branch was moved
			if _, err := runProgram(t.Context(), dir, false, "update-ref", "refs/heads/main", "main~1"); err != nil {
				t.Fatal(err)
			}
			wantReopened(t, dir, edited, false)
			wantFile(t, dir, "two.md", before)
		})
	}
}

// wantReopened opens a store in which one.md should have some content, by hand unless it is
// clean.
func wantReopened(t *testing.T, dir, want string, clean bool) {
	t.Helper()
	b, err := open(t.Context(), dir, Options{Options: quiet()})
	if err == nil {
		err = b.Close()
	}
	if clean && err != nil || !clean && !errors.Is(err, store.ErrDamaged) {
		t.Errorf("open: %v", err)
	}
	wantFile(t, dir, "one.md", want)
}

func wantFile(t *testing.T, dir, name, want string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
		t.Errorf("%s has %q, %v", name, data, err)
	}
}

func quiet() store.Options { return store.Options{Logger: slog.New(slog.DiscardHandler)} }

// killedInPull returns the folder of a store that was killed during a pull, after it had moved
// the branch and before it renamed a file.
func killedInPull(t *testing.T, before, edited, theirs string) string {
	t.Helper()
	base := storetest.MemoryDir(t)
	remote, dir := filepath.Join(base, "remote.git"), filepath.Join(base, "two")
	if _, err := runProgram(t.Context(), "", false, "init", "-q", "--bare", "-b", "main", remote); err != nil {
		t.Fatal(err)
	}
	opts := Options{Options: quiet(), RemoteURL: remote}
	one, err := Open(t.Context(), filepath.Join(base, "one"), &opts)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	push := func(first, second string) {
		t.Helper()
		if err := errors.Join(one.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
			return errors.Join(b.Write(t.Context(), "one.md", []byte(first)), b.Write(t.Context(), "two.md", []byte(second)))
		}), one.Push(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	push(before, before)
	two, err := Open(t.Context(), dir, &opts)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if err := errors.Join(two.Pull(t.Context()), os.WriteFile(filepath.Join(dir, "one.md"), []byte(edited), 0o600)); err != nil {
		t.Fatal(err)
	}
	push(theirs, "theirs")
	two.backend.RLock() // the pull waits for it before it changes files
	pulled := make(chan error)
	go func() { pulled <- two.Pull(t.Context()) }()
	awaittest.Until(t, "the branch is moved", func() bool {
		now, err := os.ReadFile(filepath.Join(dir, ".git", "refs", "heads", "main"))
		return err == nil && strings.TrimSpace(string(now)) == one.backend.head.commit.String()
	})
	killed := copied(t, dir)
	two.backend.RUnlock()
	if err := <-pulled; err != nil && !errors.Is(err, ErrStashed) {
		t.Error(err)
	}
	return killed
}

// copied returns a copy of a folder.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(storetest.MemoryDir(t), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
