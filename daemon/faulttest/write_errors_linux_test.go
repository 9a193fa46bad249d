package faulttest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/gitstore"
)

// TestWriteErrors: for a moment, a disk cannot write what a store has given to the kernel, and
// another store on the same file system is told first. If the document was acknowledged, it is
// there after the power has failed, and in any case the store can be opened.
func TestWriteErrors(t *testing.T) {
	d := newDevice(t)
	document := make([]byte, 4096) // that no compression changes
	for i := range document {
		document[i] = byte(rand.Uint32())
	}
	for _, kind := range []string{"fs", "git"} {
		t.Run(kind, func(t *testing.T) {
			told := openStore(t, kind, filepath.Join(d.folder, kind+"-told"), nil)
			// It has something to sync when it is closed.
			if err := told.Write(t.Context(), "x", nil); err != nil {
				t.Fatal(err)
			}
			strike := func() {
				d.spoil(document[1000:1020])
				defer d.spoil(nil)
				if err := told.Close(); !errors.Is(err, syscall.EIO) {
					t.Errorf("the store that is told first: %v", err)
				}
			}
			dir := filepath.Join(d.folder, kind+"-other")
			other := openStore(t, kind, dir, nil)
			if kind == "git" { // the object is written, and then synced before the write is acknowledged
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
				other = openStore(t, kind, dir, strike)
			}
			acknowledged := other.Write(t.Context(), "kettle", document) == nil
			if kind == "fs" { // the file is synced later
				strike()
			}
			closed := other.Close()
			t.Logf("acknowledged: %t; close: %v", acknowledged, closed)
			d.refuse()
			if err := d.restart(none); err != nil {
				t.Fatal(err)
			}
			other = openStore(t, kind, dir, nil)
			data, err := other.Read(t.Context(), "kettle")
			if acknowledged && !bytes.Equal(data, document) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if err := errors.Join(other.Write(t.Context(), "kettle", document), other.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// openStore opens a store. If it is one of git, during is called in each commit.
func openStore(t *testing.T, kind, dir string, during func()) *store.Store {
	t.Helper()
	quiet := store.Options{Logger: slog.New(slog.DiscardHandler)}
	if kind == "fs" {
		s, err := fsstore.Open(t.Context(), dir, &quiet)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	opts := gitstore.Options{Options: quiet}
	if during != nil {
		opts.Sign = func(context.Context, gitstore.SignRequest) (string, error) {
			during()
			return "signed", nil
		}
	}
	r, err := gitstore.Open(t.Context(), dir, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return r.Store
}
