package target

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoConcreteService: no other package asks whether a Service is an Endpoint, since an ability
// that only one of them has would be missing from the others without a word. They ask with Find and
// Wire.
func TestNoConcreteService(t *testing.T) {
	read := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		if strings.Contains(string(data), ".(*target.Endpoint)") || strings.Contains(string(data), "case *target.Endpoint:") {
			t.Errorf("%s: use target.Find or target.Wire", path)
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files: %v", read, err)
	}
}
