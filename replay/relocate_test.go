package replay

import (
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// TestRelocate moves every file that a replay may name to another machine.
func TestRelocate(t *testing.T) {
	dir := t.TempDir()
	here := filetest.Write(t, filepath.Join(dir, "here.txt"), "")
	for _, name := range []string{"dataset", "corpus", "errata", "ids", "exclude-ids", "judge-prompts", "prices"} {
		options := map[string]any{name: `C:\elsewhere\here.txt`, "model": "fake"}
		if err := relocate(options, dir); err != nil || options[name] != here || options["model"] != "fake" {
			t.Errorf("%s: %v, %v", name, options, err)
		}
		if err := relocate(map[string]any{name: "/elsewhere/here.txt"}, ""); err == nil || !strings.Contains(err.Error(), "give its folder with --files") {
			t.Errorf("%s without a folder: %v", name, err)
		}
		if err := relocate(map[string]any{name: "/elsewhere/other.txt"}, dir); err == nil || !strings.Contains(err.Error(), "other.txt is not in") {
			t.Errorf("%s that is not there: %v", name, err)
		}
	}
}
