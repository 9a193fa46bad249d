package gitstore

import (
	"errors"
	"testing"

	"evalctl/daemon/store"
)

func TestBrokenIsReported(t *testing.T) {
	repo, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	if err := repo.Write(t.Context(), "a.md", nil); err != nil || repo.Broken() {
		t.Fatalf("%v, broken %v", err, repo.Broken())
	}
	_ = repo.backend.markBroken(errors.New("disk on fire"))
	if err := repo.Write(t.Context(), "a.md", nil); !store.IsReadOnly(err) || !repo.Broken() {
		t.Errorf("%v, broken %v", err, repo.Broken())
	}
}
