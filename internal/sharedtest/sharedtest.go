// Package sharedtest finds data of others that tests use and that does not belong to the
// repository: benchmarks, published results, test vectors. It is in shared/data beside the
// repository, or absent.
package sharedtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// root is the folder of the data, found while the working directory is still the package's.
var root, rootErr = find()

func find() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.Join(filepath.Dir(dir), "shared", "data"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Path returns the absolute path of a file or a folder of the data, and skips the test if there is
// none.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	if rootErr != nil {
		tb.Fatal(rootErr)
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("no shared data at %s", path)
	}
	return path
}

// Read returns a file of the data, and skips the test if there is none.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Lines returns the values of a file of JSON lines, which need not be of the data.
func Lines[T any](tb testing.TB, path string) (values []T) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		values = append(values, v)
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return values
}
