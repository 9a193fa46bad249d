package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/internal/filetest"
)

// TestFailuresAreInOrder checks that every output lists the questions that did not pass in the
// order of the dataset, although they finish in another one.
func TestFailuresAreInOrder(t *testing.T) {
	const questions = 24
	dir := t.TempDir()
	var lines strings.Builder
	var want []string
	for i := range questions {
		id := fmt.Sprintf("q-%02d", questions-i) // the order of the ids is another one
		want = append(want, id)
		fmt.Fprintf(&lines, `{"id":%q,"question":"question %d","expected_substrings":["nothing"],"reference_answer":"x"}`+"\n", id, i)
	}
	dataset := filepath.Join(dir, "q.jsonl")
	filetest.Write(t, dataset, lines.String())
	evaluate := func(args ...string) (stderr string) {
		t.Helper()
		code, _, stderr := inProcess(context.Background(), args...)
		if code != exitBelowFloor && code != exitDone {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return stderr
	}
	d := slowDaemon(t)
	terminal := evaluate("run", "--sdk", "py", "--endpoint", d.URL, "--brain", "notes", "--dataset", dataset, "--scorer", "exact",
		"--concurrency", "8", "--max-errors", "24", "--output", filepath.Join(dir, "out"), "--ci",
		"--junit", filepath.Join(dir, "junit.xml"), "--markdown", filepath.Join(dir, "report.md"))
	if asked := d.Asked(); len(asked) < questions {
		t.Fatalf("%d questions were asked", len(asked))
	}
	result, err := filepath.Glob(filepath.Join(dir, "out", "*", "py.json"))
	if err != nil || len(result) != 1 {
		t.Fatal(result, err)
	}
	for name, text := range map[string]string{
		"the terminal": terminal, "show": evaluate("show", result[0]),
		"JUnit": string(filetest.Read(t, filepath.Join(dir, "junit.xml"))), "Markdown": string(filetest.Read(t, filepath.Join(dir, "report.md"))),
		"the annotations": terminal[strings.Index(terminal, "::"):],
	} {
		pattern := map[string]string{
			"JUnit": `<testcase [^>]*name="(q-\d\d)`, "Markdown": `(?m)^(?:\||<details><summary>|- |#).*?(q-\d\d)`, "the annotations": `(?m)^::error .*title=(q-\d\d)`,
		}[name]
		if pattern == "" {
			pattern = `(?m)^  (?:FAIL|ERR ) (q-\d\d)`
		}
		var got []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		if len(got) < 5 || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%s has %v, want %v\n%s", name, got, want, text)
		}
	}
}

// slowDaemon answers after random delays.
func slowDaemon(t *testing.T) *daemontest.Daemon {
	return daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		question, ok := c.Body["question"].(string)
		if !ok {
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
			return
		}
		time.Sleep(rand.N(20 * time.Millisecond))
		daemontest.Stream(w, daemontest.AnswerTo(question))
	})
}
