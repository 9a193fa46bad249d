package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

// interrupter ends a context when something is written to it.
type interrupter struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (i *interrupter) Write(data []byte) (int, error) {
	i.cancel()
	return i.Buffer.Write(data)
}

// TestInterruptBetweenTargets: an interrupt that comes after the last question of a target leaves
// the next one unmeasured, and says so.
func TestInterruptBetweenTargets(t *testing.T) {
	d, err := daemon.New(t.Context(), daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	srv, dir := httptest.NewServer(d.Handler()), t.TempDir()
	defer srv.Close()
	filetest.Write(t, filepath.Join(dir, "q.jsonl"), `{"id":"q1","question":"kettle","expected_substrings":["green"]}`+"\n")
	filetest.Write(t, filepath.Join(dir, "notes", "kitchen.md"), "The kettle is green.\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &interrupter{cancel: cancel}, bytes.Buffer{}
	code := run(ctx, &process{
		args: []string{"run", "--target", "a=" + srv.URL, "--target", "b=" + srv.URL, "--dataset", filepath.Join(dir, "q.jsonl"),
			"--corpus", filepath.Join(dir, "notes"), "--scenario", "search-retrieve-only", "--scorer", "exact", "--output", filepath.Join(dir, "out")},
		env: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: out, stderr: &errs,
	})
	if code != exitInterrupted || !strings.HasPrefix(out.String(), "a: 1/1 ") || !strings.HasSuffix(out.String(), "\nb: no result\n") ||
		!strings.Contains(errs.String(), "evalctl: b: not measured: ") {
		t.Errorf("exit code %d\n%s\n%s", code, out, &errs)
	}
}
