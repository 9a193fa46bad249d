package stats

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// vectors returns one group of testdata/vectors.json.
func vectors[T any](t *testing.T, group string) []T {
	t.Helper()
	path := filepath.Join("testdata", "vectors.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var groups map[string]json.RawMessage
	if err := json.Unmarshal(b, &groups); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var rows []T
	if err := json.Unmarshal(groups[group], &rows); err != nil {
		t.Fatalf("%s: group %s: %v", path, group, err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: group %s has no rows", path, group)
	}
	return rows
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }
