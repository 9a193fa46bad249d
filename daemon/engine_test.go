package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/llm"
)

func openKind(t *testing.T, home, kind string) (*Daemon, error) {
	t.Helper()
	d, err := New(t.Context(), Config{Home: home, Store: kind, Reader: llm.NewFake(), ReaderModel: "fake"})
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, err
}

func TestAHomeBelongsToOneStore(t *testing.T) {
	home := t.TempDir()
	d, err := openKind(t, home, StoreGit)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{StoreFS, ""} {
		if _, err := openKind(t, home, kind); err == nil || !strings.Contains(err.Error(), "was created with store git, not fs") {
			t.Errorf("store %q: %v", kind, err)
		}
	}
	if _, err := openKind(t, home, StoreGit); err != nil {
		t.Error(err)
	}
}

func TestInvalidStores(t *testing.T) {
	for kind, want := range map[string]string{
		"tape":   `unknown store "tape"`,
		StoreFS:  "needs a home",
		StoreGit: "needs a home",
	} {
		if _, err := openKind(t, "", kind); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := openKind(t, "", StoreMemory); err != nil {
		t.Error(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	const database = "postgres://svc:secret@127.0.0.1:1/brains"
	if _, err := openKind(t, home, database); err == nil || !strings.Contains(err.Error(), "unset the home") {
		t.Errorf("a database with a home: %v", err)
	}
	_, err := openKind(t, "", database)
	if err == nil || !strings.Contains(err.Error(), "postgres://127.0.0.1:1/brains") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a database that does not answer: %v", err)
	}
	if _, err := openKind(t, home, StoreMemory); err == nil || !strings.Contains(err.Error(), "unset the home") {
		t.Error(err)
	}
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the home was created: %v", err)
	}
}
