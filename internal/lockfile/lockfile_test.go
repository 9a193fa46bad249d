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
