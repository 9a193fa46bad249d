package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

var errBusy = errors.New("busy")

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := Open(path, os.O_RDWR, errBusy); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	f, err := Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, errBusy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, os.O_RDWR, errBusy); !errors.Is(err, errBusy) {
		t.Errorf("a file with an owner: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, os.O_RDWR, errBusy)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestSameFile checks the case that between opening and locking a file its owner removes it and
// another process creates a new one.
func TestSameFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Open(path, os.O_RDWR|os.O_CREATE, errBusy)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if sameFile(path, f.File, f.lock) {
		t.Error("a file that was moved was taken for the one at its path")
	}
	other, err := Open(path, os.O_RDWR|os.O_CREATE, errBusy)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if sameFile(path, f.File, other.lock) || sameFile(path, other.File, f.lock) ||
		!sameFile(path, other.File, other.lock) {
		t.Error("locks do not match their files")
	}
}

// TestRenew: a renewed file has its content, permissions and lock, and a link to it stays one.
func TestRenew(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("content"), 0o640), os.Symlink("f", link)); err != nil {
		t.Fatal(err)
	}
	f, err := Open(link, os.O_RDWR, errBusy)
	if err != nil {
		t.Fatal(err)
	}
	before, err := f.Stat()
	if err := errors.Join(err, f.Renew(errBusy)); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Open(path, os.O_RDWR, errBusy); !errors.Is(err, errBusy) {
		t.Errorf("it is not locked: %v", err)
	}
	if target, err := os.Readlink(link); target != "f" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	data, err := os.ReadFile(path)
	now, statErr := os.Stat(path)
	if err := errors.Join(err, statErr); err != nil || string(data) != "content" || now.Mode() != before.Mode() || os.SameFile(now, before) {
		t.Errorf("%q, %v, %v", data, now, err)
	}
}
