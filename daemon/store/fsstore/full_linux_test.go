package fsstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"evalctl/daemon/store"
)

// TestDiskFull fills a small filesystem with single writes and with batches.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a small filesystem here: %v", err)
	}
	// The store closes first: cleanups run last to first.
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := openDir(t, dir)
	ctx := t.Context()
	big := bytes.Repeat([]byte("x"), 20_000)
	writes := map[string]func(i int) error{
		"single": func(i int) error { return s.Write(ctx, fmt.Sprintf("s/%d/doc", i), big) },
		"batch": func(i int) error {
			return s.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
				return errors.Join(b.Write(ctx, "same", fmt.Append(nil, i)), b.Write(ctx, fmt.Sprintf("b/%d/1", i), big), b.Write(ctx, fmt.Sprintf("b/%d/2", i), big))
			})
		},
	}
	for _, kind := range []string{"batch", "single", "batch"} {
		done, err := 0, error(nil)
		for ; err == nil && done < 100; done++ {
			before := listing(t, s)
			if err = writes[kind](done); err != nil && listing(t, s) != before {
				t.Errorf("%s: was %s, is %s", kind, before, listing(t, s))
			}
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("%s: %v after %d", kind, err, done)
		}
		t.Logf("%s: %v", kind, err)
	}
	if err := s.Delete(ctx, "b/0/1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, "small", big[:10]); err != nil {
		t.Fatalf("after making room: %v", err)
	}
}

func listing(t *testing.T, s *store.Store) string {
	t.Helper()
	files, err := s.List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := s.List(t.Context(), "b", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(files, len(dirs))
}
