package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadRunNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half.json")
	if err := os.WriteFile(path, []byte(`{"sdk": "go"`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".none"} {
		if run, err := ReadRun(p); run != nil || err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("ReadRun(%s) = %v, %v", p, run, err)
		}
	}
}
