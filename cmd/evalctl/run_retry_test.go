package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
)

// TestRunRetriesErrors: a run finishes although a daemon broke connections, and answered 500 once.
// Its result is complete, and what its hint says to enter repairs it.
func TestRunRetriesErrors(t *testing.T) {
	var repaired atomic.Bool
	d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		question, ok := c.Body["question"].(string)
		switch {
		case !ok:
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
		case question == "question 4":
			http.Error(w, "broken", http.StatusInternalServerError)
		case !repaired.Load() && (question == "question 2" || question == "question 5"):
			daemontest.HangUp(w)
		default:
			daemontest.Stream(w, daemontest.AnswerTo(question))
		}
	})
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 6 {
		fmt.Fprintf(&lines, `{"id":"q-%d","question":"question %d","expected_substrings":["answer %d"]}`+"\n", i, i, i)
	}
	dataset := filepath.Join(dir, "q.jsonl")
	filetest.Write(t, dataset, lines.String())
	var out, errs string
	evaluate := func(want int, args ...string) {
		t.Helper()
		var code int
		if code, out, errs = inProcess(context.Background(), args...); code != want {
			t.Fatalf("exit code %d, want %d: %s", code, want, errs)
		}
	}
	expect := func(texts ...string) {
		t.Helper()
		for _, want := range texts {
			if said := strings.Join(strings.Fields(out+errs), " "); !strings.Contains(said, want) {
				t.Errorf("%q is not in:\n%s", want, said)
			}
		}
	}
	evaluate(exitUnscored, "run", "--sdk", "py", "--endpoint", d.URL, "--brain", "notes", "--dataset", dataset, "--scorer", "exact",
		"--output", filepath.Join(dir, "out"))
	found, err := filepath.Glob(filepath.Join(dir, "out", "*", "py.journal"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the journal is not kept: %v, %v", found, err)
	}
	expect("3/6", "2 questions failed because the daemon or the judge did not answer; once fixed, retry just these with: evalctl run --resume ",
		found[0]+" --retry-errors")

	evaluate(exitUsage, "run", "--resume", found[0])
	expect("py.journal: the run has finished; add --retry-errors to try the 2 questions again")

	repaired.Store(true)
	asked := len(d.Asked())
	evaluate(exitUnscored, "run", "--resume", found[0], "--retry-errors")
	expect("5/6", "first try 3 of 6 passed: 0.500 2 questions tried again")
	again := slices.DeleteFunc(slices.Clone(d.Asked()[asked:]), func(q string) bool { return q == target.OwnQuery })
	if strings.Join(again, " ") != "question 2 question 5" && strings.Join(again, " ") != "question 5 question 2" {
		t.Errorf("asked again: %q", again)
	}
	if _, err := os.Stat(found[0]); err == nil {
		t.Error("the journal of the repaired run is kept")
	}
}

// TestRunStopsAtASystematicFailure: a key that the daemon refuses ends a run after eight questions.
func TestRunStopsAtASystematicFailure(t *testing.T) {
	d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		question, ok := c.Body["question"].(string)
		switch {
		case !ok:
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
		case len(question) == len("question 1"):
			daemontest.Stream(w, daemontest.AnswerTo(question))
		default:
			http.Error(w, "model tiny-1 is not there", http.StatusNotFound)
		}
	})
	dir := t.TempDir()
	var lines, out, errs bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&lines, `{"id":"q-%d","question":"question %d","expected_substrings":["answer"]}`+"\n", i, i)
	}
	dataset := filepath.Join(dir, "q.jsonl")
	filetest.Write(t, dataset, lines.Bytes())
	p := &process{env: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	p.args = []string{"run", "--sdk", "py", "--endpoint", d.URL, "--brain", "notes", "--dataset", dataset, "--scorer", "exact",
		"--concurrency", "4", "--output", filepath.Join(dir, "out")}
	if code := run(context.Background(), p); code != exitDaemon {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	if n := len(d.Asked()); n < 8 || n > 40 {
		t.Errorf("%d questions were asked: %q\n%s", n, d.Asked(), &errs)
	}
	if n := strings.Count(errs.String(), "tiny-1"); n > 3 {
		t.Errorf("the cause is there %d times:\n%s", n, &errs)
	}
	if !strings.Contains(errs.String(), "8 questions in a row failed in the same way") || !strings.Contains(errs.String(), "--retry-errors") {
		t.Errorf("%s", &errs)
	}
}
