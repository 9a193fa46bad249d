package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// TestLock: a ledger is in the way of a new replay, not of a resumed one, unless its process was
// killed before it had written anything.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	files, err := fileOf(filepath.Join(dir, "go.json"))
	if err != nil || files.ledger() != filepath.Join(dir, "go.ledger") {
		t.Fatal(files, err)
	}
	arms := []Arm{{Name: "go"}}
	lock := func(resume bool) error {
		release, err := files.Lock(arms, resume)
		if err == nil {
			release()
		}
		return err
	}
	put := func(name, text string) {
		t.Helper()
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	left := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	put("go.ledger", `{"kind":"rep`)
	put("go.journal", "")
	if err := lock(false); err != nil || left("go.ledger") || left("go.journal") {
		t.Errorf("files of a process that was killed at once: %v", err)
	}
	put("go.ledger", "{}\n")
	put("go.journal", "{}\n")
	if err := lock(false); err == nil || !strings.Contains(err.Error(), "--resume "+files.ledger()) {
		t.Errorf("got %v", err)
	}
	if err := lock(true); err != nil || !left("go.ledger") || !left("go.journal") {
		t.Errorf("got %v", err)
	}
	release, err := files.Lock(arms, true)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := lock(true); err == nil || !strings.Contains(err.Error(), "another run is in progress") {
		t.Errorf("a second process: got %v", err)
	}
}

func TestFileNames(t *testing.T) {
	for _, path := range []string{"results", ".json", "x.txt", t.TempDir()} {
		if _, err := fileOf(path); err == nil {
			t.Errorf("%q is accepted as a result file", path)
		}
	}
	if _, err := (Ledgers{}).files(t.Context(), "x.journal", "", make([]Arm, 1)); err == nil {
		t.Error("a journal is accepted as a ledger")
	}
	one, err := Ledgers{}.files(t.Context(), "out/go.replay.ledger", "", make([]Arm, 1))
	if err != nil || one.result(Arm{Name: "go"}) != "out/go.replay.json" || one.ledger() != "out/go.replay.ledger" {
		t.Errorf("got %+v, %v", one, err)
	}
	all, err := Ledgers{}.files(t.Context(), "out/replay.ledger", "", make([]Arm, 2))
	if err != nil || all.result(Arm{Name: "py"}) != "out/py.json" || all.ledger() != "out/replay.ledger" {
		t.Errorf("got %+v, %v", all, err)
	}
}
