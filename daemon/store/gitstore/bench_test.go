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

// filled makes a closed repository of so many files of 1 KiB.
func filled(b *testing.B, files int) string {
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

// BenchmarkCommit compares a commit of one document, which is durable, with git
// add and git commit, as they are and made durable too, in repositories of two
// sizes. Compare within one run: the disk decides, and who else uses it.
func BenchmarkCommit(b *testing.B) {
	for _, files := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("gitstore/%d", files), func(b *testing.B) {
			r, err := gitstore.Open(b.Context(), filled(b, files), nil)
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
				dir := filled(b, files)
				if durable {
					benchGit(b, dir, "config", "core.fsync", "committed,reference")
				}
				benchGit(b, dir, "status") // so that the index knows the files
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

// BenchmarkBatch is 100 documents a commit.
func BenchmarkBatch(b *testing.B) {
	for _, files := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			r, err := gitstore.Open(b.Context(), filled(b, files), nil)
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

// BenchmarkOpen reads every file to see whether it is what HEAD says.
func BenchmarkOpen(b *testing.B) {
	dir := filled(b, 10_000)
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
	cmd := exec.CommandContext(b.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %q: %v: %s", args, err, out)
	}
}
