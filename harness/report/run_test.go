package report

import (
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

func TestReadRunNamesTheFile(t *testing.T) {
	path := filetest.Write(t, filepath.Join(t.TempDir(), "half.json"), `{"sdk": "go"`)
	for _, p := range []string{path, path + ".none"} {
		if run, err := ReadRun(p); run != nil || err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("ReadRun(%s) = %v, %v", p, run, err)
		}
	}
}
