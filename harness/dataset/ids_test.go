package dataset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

func TestReadIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.txt")
	long := strings.Repeat("x", 100_000)
	filetest.Write(t, path, "\ufeffq1\r\n# q0\r\n\r\n "+long+"\t\nq3")
	l, err := ReadIDs(path)
	if err != nil || !slices.Equal(l.List, []string{"q1", long, "q3"}) || !slices.Equal(l.lines, []int{1, 4, 5}) {
		t.Errorf("%v, ids %.60q on lines %v", err, l.List, l.lines)
	}
}
