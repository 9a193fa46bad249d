package gitstore_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
)

const benchDirs = 100

func benchPath(i int) string { return fmt.Sprintf("d%02d/%d.md", i%benchDirs, i) }

// newRepo creates a repository with a number of files of 1 KiB, and closes it.
func newRepo(b *testing.B, files int) string {
	b.Helper()
	dir := b.TempDir()
	r, err := gitstore.Open(b.Context(), dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	err = r.Batch(b.Context(), store.BatchOptions{}, func(t *store.Batch) error {
		for i := range files {
			if err := t.Write(b.Context(), benchPath(i), bytes.Repeat([]byte{byte('a' + i%26)}, 1024)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkCommit compares a durable commit of one document with git add and git commit, both
// with git's default settings and with durable ones. Compare numbers of the same run only,
// because they depend on the disk and its load.
func BenchmarkCommit(b *testing.B) {
	for _, files := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("gitstore/%d", files), func(b *testing.B) {
			r, err := gitstore.Open(b.Context(), newRepo(b, files), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for i := 0; b.Loop(); i++ {
				if err := r.Write(b.Context(), benchPath(i*7%files), fmt.Append(nil, i)); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, durable := range []bool{false, true} {
			b.Run(fmt.Sprintf("git/durable=%t/%d", durable, files), func(b *testing.B) {
				dir := newRepo(b, files)
				if durable {
					benchGit(b, dir, "config", "core.fsync", "committed,reference")
				}
				benchGit(b, dir, "status") // adds the files' times to the index
				for i := 0; b.Loop(); i++ {
					path := benchPath(i * 7 % files)
					if err := os.WriteFile(filepath.Join(dir, path), fmt.Append(nil, i), 0o600); err != nil {
						b.Fatal(err)
					}
					benchGit(b, dir, "add", path)
					benchGit(b, dir, "commit", "-q", "-m", "write "+path)
				}
			})
		}
	}
}

// BenchmarkBatch writes 100 documents in each commit.
func BenchmarkBatch(b *testing.B) {
	for _, files := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			r, err := gitstore.Open(b.Context(), newRepo(b, files), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for i := 0; b.Loop(); i++ {
				err := r.Batch(b.Context(), store.BatchOptions{}, func(t *store.Batch) error {
					for n := range 100 {
						if err := t.Write(b.Context(), benchPath((i*100+n)*7%files), fmt.Append(nil, i)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen measures Open, which compares every file with HEAD.
func BenchmarkOpen(b *testing.B) {
	dir := newRepo(b, 10_000)
	for b.Loop() {
		r, err := gitstore.Open(b.Context(), dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchGit(b *testing.B, dir string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "git",
		append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %q: %v: %s", args, err, out)
	}
}
