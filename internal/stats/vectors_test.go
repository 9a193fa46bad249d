package stats

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/sharedtest"
)

// vectors returns one group of testdata/vectors.json.
func vectors[T any](t *testing.T, group string) []T {
	t.Helper()
	return vectorsOf[T](t, filepath.Join("testdata", "vectors.json"), group)
}

// shared returns one group of values by other implementations.
func shared[T any](t *testing.T, group string) []T {
	t.Helper()
	return vectorsOf[T](t, sharedtest.Path(t, "stats_vectors.json"), group)
}

func vectorsOf[T any](t *testing.T, path, group string) []T {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var groups map[string]json.RawMessage
	if err := json.Unmarshal(b, &groups); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	raw := groups[group]
	if bytes.HasPrefix(raw, []byte("{")) { // a group of one row
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	var rows []T
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatalf("%s: group %s: %v", path, group, err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: group %s has no rows", path, group)
	}
	return rows
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// same is near, and true for two NaN and for two equal infinities.
func same(got, want, tolerance float64) bool {
	return got == want || near(got, want, tolerance) || math.IsNaN(got) && math.IsNaN(want)
}

// expect reports a figure that differs from the one wanted by more than tolerance.
func expect(t rapid.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if !same(got, want, tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
