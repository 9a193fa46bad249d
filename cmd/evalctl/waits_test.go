package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// rejectingDaemon rejects each question once, and then answers it.
func rejectingDaemon(t *testing.T) *daemontest.Daemon {
	var mu sync.Mutex
	asked := map[string]bool{}
	return daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		question, ok := c.Body["question"].(string)
		if !ok {
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
			return
		}
		mu.Lock()
		again := asked[question]
		asked[question] = true
		mu.Unlock()
		if !again {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		daemontest.Stream(w, daemontest.AnswerTo(question))
	})
}

// TestWaits checks that the time that a retry costs is apart from that of the answer in the
// terminal, in JSON, in Markdown and in the result file, which is valid and verified.
func TestWaits(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 8 {
		fmt.Fprintf(&lines, `{"id":"q%d","question":"question %d","expected_substrings":["answer"]}`+"\n", i, i)
	}
	dataset := filepath.Join(dir, "q.jsonl")
	filetest.Write(t, dataset, lines.String())
	var errs, out bytes.Buffer
	evaluate := func(args ...string) {
		t.Helper()
		p := &process{env: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: &out, stderr: &errs, args: args}
		if code := run(t.Context(), p); code != exitDone {
			t.Fatalf("exit code %d: %s%s", code, &errs, &out)
		}
	}
	page := filepath.Join(dir, "page.md")
	evaluate("run", "--sdk", "py", "--endpoint", rejectingDaemon(t).URL, "--brain", "notes", "--dataset", dataset, "--scorer", "exact",
		"--concurrency", "8", "--output", filepath.Join(dir, "out"), "--markdown", page, "--json")
	var summary struct {
		Latency, Felt result.Quantiles
		Result        string
	}
	if err := json.Unmarshal(out.Bytes(), &summary); err != nil {
		t.Fatal(err)
	}
	// The pause after the first rejection is at least 50 ms.
	if l, f := summary.Latency, summary.Felt; l.P50 == nil || f.P50 == nil || *f.P50 < *l.P50+50 || f.N != 8 {
		t.Errorf("latency %+v, felt %+v", l, f)
	}
	for _, want := range []string{"\n              done, with waits  p50 ", "brackets: 95% order statistics", "8 questions needed more than one attempt"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("no %q in %s", want, &errs)
		}
	}
	if text := string(filetest.Read(t, page)); !strings.Contains(text, "| done, with waits |") {
		t.Errorf("no waits in %s", text)
	}
	out.Reset()
	evaluate("verify", summary.Result)
	errs.Reset()
	again := filepath.Join(dir, "again.json")
	filetest.Write(t, again, filetest.Read(t, summary.Result))
	evaluate("compare", summary.Result, again, "--accept", "reader_prompt") // the daemon does not report it
	if text := out.String() + errs.String(); !strings.Contains(text, "done, with waits") {
		t.Errorf("the comparison does not have the waits: %s", text)
	}
}
