//go:build unix

package brain

import (
	"os"
	"path/filepath"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store/storetest"
)

// TestRetireWithoutDescriptors: a brain that cannot be retired for lack of a file descriptor
// stays where it is.
func TestRetireWithoutDescriptors(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := f.Add(t.Context(), Record{Brain: protocol.Brain{ID: "notes"}})
	if err != nil {
		t.Fatal(err)
	}
	var retired string
	failures := storetest.RetryWithDescriptors(t, func() (err error) {
		retired, err = f.Retire(t.Context(), r)
		return err
	}, func() {
		if _, err := os.Lstat(filepath.Join(dir, "notes")); err != nil || retired != "" {
			t.Fatalf("retired as %q: %v", retired, err)
		}
	})
	if failures == 0 {
		t.Error("the brain was retired without a descriptor")
	}
}
