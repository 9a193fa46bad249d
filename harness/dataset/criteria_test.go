package dataset

import (
	"path/filepath"
	"slices"
	"testing"

	"evalctl/internal/filetest"
)

// TestCriteria: what a file selected is selected again by the ids that Fixed returns, without it.
func TestCriteria(t *testing.T) {
	path := filetest.Write(t, filepath.Join(t.TempDir(), "ids"), "a\n@b\n")
	s, err := Criteria{IDs: []string{"c", "@@d", "@" + path}, Limit: 3}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"c", "@d", "a", "@b"}; !slices.Equal(s.IDs, want) || s.IDsOf != path || s.Limit != 3 {
		t.Errorf("got %q of %q, limit %d", s.IDs, s.IDsOf, s.Limit)
	}
	again, err := Criteria{IDs: s.Fixed()}.Read()
	if err != nil || !slices.Equal(again.IDs, s.IDs) {
		t.Errorf("Fixed returns %q, which select %q: %v", s.Fixed(), again.IDs, err)
	}
	if fixed := again.Fixed(); fixed != nil {
		t.Errorf("without a file: %q", fixed)
	}
	s.FailedOf, s.Failed = "r.json", []string{"a", "z"}
	if want := []string{"a"}; !slices.Equal(s.Fixed(), want) {
		t.Errorf("got %q, want %q: both must select an id", s.Fixed(), want)
	}
}
