// Package goldentest compares the output of tests with golden files. With -update, a flag of every
// test that uses the package, the files are written instead.
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files and the generated parts of pages")

// Updating reports whether the files are to be written.
func Updating() bool { return *update }

// Compare fails the test if the file at path is not exactly got. With -update it writes the file.
func Compare(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); run the test with -update if it should:\n%s", path, diff)
	}
}
