package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
)

// TestResultReader runs the script of docs/reports.md.
func TestResultReader(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3, which runs the script of docs/reports.md, is not installed")
	}
	page := filetest.Read(t, "../../docs/reports.md")
	_, script, found := strings.Cut(string(page), "```python\n")
	script, _, _ = strings.Cut(script, "```\n")
	if n := strings.Count(script, "\n"); !found || n > 50 {
		t.Fatalf("the page has a script of %d lines", n)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "read.py")
	filetest.Write(t, path, script)
	at := time.Date(2026, 1, 31, 3, 0, 0, 0, time.UTC)
	for outcomes, want := range map[string]string{
		"+++-e?": "go: 3 of 6 passed, 0.500 (95% interval 0.188 to 0.812): pass\n  q-03  scored  \n  q-04  error  late\n  q-05  unscored  \n",
		"ee":     "go: no score: ",
	} {
		file := resulttest.New("go", at, outcomes).Save(t, dir, "go.json")
		out, err := exec.Command(python, path, file).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %v: got\n%s\nwant\n%s", outcomes, err, out, want)
		}
	}
}
