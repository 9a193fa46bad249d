package gitstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
)

// TestDiskFull fills a small filesystem with single writes and with batches.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("cannot mount a small filesystem here: %v", err)
	}
	// The store closes first: cleanups run last to first.
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	r := openDir(t, dir, nil)
	ctx := t.Context()
	big := make([]byte, 20_000)
	if _, err := rand.NewChaCha8([32]byte{}).Read(big); err != nil {
		t.Fatal(err)
	}
	// Different content each time, which no object is there for yet.
	fresh := func(i int) []byte { return append(fmt.Append(nil, i), big...) }
	writes := map[string]func(i int) error{
		"single": func(i int) error { return r.Write(ctx, fmt.Sprintf("s/%d/doc", i), fresh(i)) },
		"batch": func(i int) error {
			return r.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
				return errors.Join(b.Write(ctx, "same", fmt.Append(nil, i)), b.Write(ctx, fmt.Sprintf("b/%d/1", i), fresh(1000+i)), b.Write(ctx, fmt.Sprintf("b/%d/2", i), fresh(2000+i)))
			})
		},
	}
	for _, kind := range []string{"batch", "single", "batch"} {
		done, err := 0, error(nil)
		for ; err == nil && done < 100; done++ {
			before := state(t, r, dir)
			if err = writes[kind](done); err != nil && state(t, r, dir) != before {
				t.Errorf("%s: was %s, is %s", kind, before, state(t, r, dir))
			}
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("%s: %v after %d", kind, err, done)
		}
		t.Logf("%s: %v", kind, err)
	}
	// A history does not shrink: room comes from outside.
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	write(t, r, "small", string(bytes.Repeat([]byte("x"), 10)))
	wantSound(t, r, dir)
}

// TestDiskFullAtOpen makes a repository on filesystems that have room for more and more
// of it: where Open fails it succeeds once there is room.
func TestDiskFullAtOpen(t *testing.T) {
	for _, limit := range []string{"size=%dk", "nr_inodes=%d"} {
		failed := 0
		for n, full := 2, true; full; n++ {
			options := fmt.Sprintf(limit, n)
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
				t.Skipf("cannot mount a small filesystem here: %v", err)
			}
			r, err := gitstore.Open(t.Context(), dir, nil)
			if full = err != nil; full {
				failed++
				if !errors.Is(err, unix.ENOSPC) {
					t.Errorf("%s: %v", options, err)
				}
				if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=2m,nr_inodes=1000"); err != nil {
					t.Fatal(err)
				}
				if r, err = gitstore.Open(t.Context(), dir, nil); err != nil {
					t.Errorf("%s, after making room: %v", options, err)
				}
			}
			if r != nil && full {
				write(t, r, "a", "1")
				wantSound(t, r, dir)
			} else if r != nil {
				_ = r.Close() // can find the disk full
			}
			if err := unix.Unmount(dir, 0); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: failed %d times", limit, failed)
	}
}

func state(t *testing.T, r *gitstore.Repo, dir string) string {
	t.Helper()
	files, err := r.List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := r.List(t.Context(), "b", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(files, len(dirs), git(t, dir, "rev-parse", "HEAD"))
}
