package faulttest

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
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
	document := incompressible(t)
	for _, kind := range []string{"fs", "git"} {
		t.Run(kind, func(t *testing.T) {
			told := openStore(t, kind, filepath.Join(d.folder, kind+"-told"), nil)
			// It has something to sync when it is closed.
			if err := told.Write(t.Context(), "x", nil); err != nil {
				t.Fatal(err)
			}
			strike := func() {
				d.spoil(spoilt(document))
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

// spoilt is the part of a document that the disk cannot write.
func spoilt(document []byte) []byte { return document[1000:1020] }

// incompressible returns a document whose part spoilt is in the git object, too.
func incompressible(t *testing.T) []byte {
	t.Helper()
	for {
		document := make([]byte, 4096)
		for i := range document {
			document[i] = byte(rand.Uint32())
		}
		var packed bytes.Buffer
		w, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(w, "blob %d\x00%s", len(document), document)
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(packed.Bytes(), spoilt(document)) {
			return document
		}
	}
}

// openStore opens a store. If it is one of git, during is called in each commit.
func openStore(t *testing.T, kind, dir string, during func()) *store.Store {
	t.Helper()
	if kind == "fs" {
		quiet := store.Options{Logger: slog.New(slog.DiscardHandler)}
		s, err := fsstore.Open(t.Context(), dir, &quiet)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return openRepo(t, dir, during).Store
}

// openRepo opens a git store. It calls during in each commit.
func openRepo(t *testing.T, dir string, during func()) *gitstore.Repo {
	t.Helper()
	opts := gitstore.Options{Options: store.Options{Logger: slog.New(slog.DiscardHandler)}}
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
	return r
}

// TestRewriteErrors: a document is written with the content of another one. For a moment, the disk
// cannot write what the store has given to the kernel, and then the power fails. What was
// acknowledged before is there.
func TestRewriteErrors(t *testing.T) {
	d := newDevice(t)
	document := incompressible(t)
	for _, kind := range []string{"fs", "git"} {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(d.folder, kind+"-again")
			s := openStore(t, kind, dir, nil)
			if err := errors.Join(s.Write(t.Context(), "kettle", document), s.Close()); err != nil {
				t.Fatal(err)
			}
			strike := func() { // the kernel writes everything, as it does from time to time
				_ = run("sync", "-f", d.folder)
				d.spoil(nil)
			}
			s = openStore(t, kind, dir, strike)
			d.spoil(spoilt(document))
			err := s.Write(t.Context(), "pot", document)
			strike()
			t.Logf("write: %v", err)
			d.refuse()
			_ = s.Close() // after the power has failed
			if err := d.restart(none); err != nil {
				t.Fatal(err)
			}
			checkObjects(t, dir)
			s = openStore(t, kind, dir, nil)
			data, err := s.Read(t.Context(), "kettle")
			if !bytes.Equal(data, document) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if err := errors.Join(s.Write(t.Context(), "kettle", document), s.Close()); err != nil {
				t.Error(err)
			}
			checkObjects(t, dir)
		})
	}
}

// TestUnfinishedObjects: a commit fails because the disk cannot write one of its objects, or
// because the power fails. Then another clone makes the same object, and a pull gets it, and is
// durable.
func TestUnfinishedObjects(t *testing.T) {
	d := newDevice(t)
	document := incompressible(t)
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprint("power fails ", cut), func(t *testing.T) {
			dir, other := filepath.Join(d.folder, fmt.Sprint("clone-", cut)), emptyRepo(t)
			if err := run("git", "clone", "-q", filepath.Join(other, ".git"), dir); err != nil {
				t.Fatal(err)
			}
			d.sync()
			r := openRepo(t, dir, func() {
				if cut { // the names of the files are on the disk, but not their contents
					syncAlone(t, filepath.Join(d.folder, "another"))
					d.refuse()
				}
			})
			d.spoil(spoilt(document))
			if err := r.Write(t.Context(), "pot", document); err == nil {
				t.Fatal("the commit succeeded")
			}
			d.spoil(nil)
			if cut {
				_ = r.Close()
				if err := d.restart(none); err != nil {
					t.Fatal(err)
				}
				r = openRepo(t, dir, nil)
			}
			o := openRepo(t, other, nil)
			if err := errors.Join(o.Write(t.Context(), "kettle", document), o.Close(), r.Pull(t.Context())); err != nil {
				t.Error(err)
			}
			d.refuse()
			_ = r.Close() // after the power has failed
			if err := d.restart(none); err != nil {
				t.Fatal(err)
			}
			checkObjects(t, dir)
			r = openRepo(t, dir, nil)
			if data, err := r.Read(t.Context(), "kettle"); !bytes.Equal(data, document) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// emptyRepo returns the folder of an empty store of git on another disk.
func emptyRepo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := openRepo(t, dir, nil).Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// syncAlone makes a new file durable, for which the file system also writes its journal.
func syncAlone(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// checkObjects checks the repository in dir, if there is one.
func checkObjects(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return
	}
	if err := run("git", "-C", dir, "fsck", "--full"); err != nil {
		t.Error(err)
	}
}
