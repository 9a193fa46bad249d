package gitstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

func TestDiskFull(t *testing.T) {
	dir := storetest.SmallDisk(t, "size=512k")
	r := openDir(t, dir, nil)
	big := make([]byte, 20_000)
	if _, err := rand.NewChaCha8([32]byte{}).Read(big); err != nil {
		t.Fatal(err)
	}
	// Different content each time, for which there is no object yet.
	content := func(i int) []byte { return append(fmt.Append(nil, i), big...) }
	storetest.RunDiskFull(t, r.Store, content, func() string { return git(t, dir, "rev-parse", "HEAD") })
	// Deleting documents frees no space, because the history keeps them.
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	write(t, r, "small", "xxxxxxxxxx")
	wantSound(t, r, dir)
}

// TestDiskFullAtOpen creates a repository on larger and larger filesystems. Where Open fails, it
// must succeed after the filesystem has been enlarged.
func TestDiskFullAtOpen(t *testing.T) {
	for _, limit := range []string{"size=%dk", "nr_inodes=%d"} {
		failed := 0
		for n, full := 2, true; full; n++ {
			options := fmt.Sprintf(limit, n)
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
				t.Skipf("cannot mount a small filesystem: %v", err)
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
					t.Errorf("%s, after enlarging: %v", options, err)
				}
			}
			if r != nil && full {
				write(t, r, "a", "1")
				wantSound(t, r, dir)
			} else if r != nil {
				_ = r.Close() // can fail because the disk is full
			}
			if err := unix.Unmount(dir, 0); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: failed %d times", limit, failed)
	}
}
