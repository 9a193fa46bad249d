package storetest

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"evalctl/daemon/store"
)

// SmallDisk mounts a file system in memory until the test ends and returns its directory. limit is
// a mount option such as "size=256k". It skips the test if mounting is not permitted.
func SmallDisk(t *testing.T, limit string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, limit); err != nil {
		t.Skipf("cannot mount a small filesystem: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// RunDiskFull fills the disk of s with single writes and with batches. A write that fails for lack
// of space must leave the listings of s and the result of state unchanged. content returns the
// content of document i.
func RunDiskFull(t *testing.T, s *store.Store, content func(i int) []byte, state func() string) {
	t.Helper()
	p := &probe{T: t, Store: s, ctx: t.Context()}
	writes := map[string]func(i int) error{
		"single": func(i int) error { return p.Write(p.ctx, fmt.Sprintf("s/%d/doc", i), content(i)) },
		"batch": func(i int) error {
			return p.Batch(p.ctx, store.BatchOptions{}, func(b *store.Batch) error {
				return errors.Join(
					b.Write(p.ctx, "same", fmt.Append(nil, i)),
					b.Write(p.ctx, fmt.Sprintf("b/%d/1", i), content(1000+i)),
					b.Write(p.ctx, fmt.Sprintf("b/%d/2", i), content(2000+i)))
			})
		},
	}
	for _, kind := range []string{"batch", "single", "batch"} {
		done, err := 0, error(nil)
		for ; err == nil && done < 100; done++ {
			before := p.listings() + state()
			if err = writes[kind](done); err != nil && p.listings()+state() != before {
				t.Errorf("%s: before %s, after %s", kind, before, p.listings()+state())
			}
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("%s: %v after %d", kind, err, done)
		}
		t.Logf("%s: %v", kind, err)
	}
}

// listings returns all documents, and the number of directories that the batches have created.
func (p *probe) listings() string {
	p.Helper()
	files, err := p.List(p.ctx, "", store.ListOptions{Recursive: true})
	if err != nil {
		p.Fatal(err)
	}
	dirs, err := p.List(p.ctx, "b", store.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return fmt.Sprint(files, len(dirs))
}
