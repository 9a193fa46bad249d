package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fullDisk is a writer whose writes fail.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestKeyWithoutToken: if the token cannot be printed, the key is not added.
func TestKeyWithoutToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	var stdout, stderr bytes.Buffer
	p := &process{
		args: []string{"serve", "keys", "create", "--file", file, "--name", "ci", "--tenant", "acme", "--role", "reader"},
		env:  func(string) string { return "" }, stdout: fullDisk{}, stderr: &stderr,
	}
	want := `print the token: no space left: key "ci" was not added to ` + file
	if code := run(t.Context(), p); code != exitUsage || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
	if data, err := os.ReadFile(file); err == nil {
		t.Errorf("the file was created:\n%s", data)
	}
	p.stdout = &stdout
	if code := run(t.Context(), p); code != exitDone || !strings.HasPrefix(stdout.String(), "evk_") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}
