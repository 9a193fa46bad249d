package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/target"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
)

// fragileDaemon has one brain and fails whatever is asked about a boom.
func fragileDaemon(t *testing.T) *daemontest.Daemon {
	return daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		asked := fmt.Sprint(c.Body["question"], c.Body["query"])
		switch {
		case strings.Contains(asked, "boom"):
			http.Error(w, "boom", http.StatusInternalServerError)
		case strings.HasSuffix(c.Path, "/ask"):
			daemontest.Stream(w, daemontest.AnswerTo(asked))
		default:
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
		}
	})
}

// runAt asks a daemon questions about these words, with --brain notes, and returns what was
// printed.
func runAt(t *testing.T, url string, words ...string) (code int, out, errs string) {
	dir := t.TempDir()
	var lines strings.Builder
	for i, w := range words {
		fmt.Fprintf(&lines, `{"id":"q%d","question":"What about %s?","expected_substrings":["What"]}`+"\n", i, w)
	}
	dataset := filepath.Join(dir, "q.jsonl")
	filetest.Write(t, dataset, lines.String())
	return inProcess(t.Context(), "run", "--sdk", "py", "--endpoint", url, "--brain", "notes", "--dataset", dataset,
		"--scorer", "exact", "--output", filepath.Join(dir, "out"))
}

// TestAnyOrderStarts checks that a daemon that fails on a question fails that question only,
// wherever it is in the dataset.
func TestAnyOrderStarts(t *testing.T) {
	d := fragileDaemon(t)
	for _, words := range []string{
		"boom cats dogs", "boom dogs cats", "cats boom dogs", "dogs boom cats", "cats dogs boom", "dogs cats boom",
	} {
		code, out, errs := runAt(t, d.URL, strings.Fields(words)...)
		if code != exitUnscored || !strings.HasPrefix(out, "py: 2/3 ") {
			t.Errorf("%s: exit code %d: %s%s", words, code, out, errs)
		}
	}
}

// TestNearMissIsRefused checks that a daemon with another protocol is refused before the dataset is
// asked.
func TestNearMissIsRefused(t *testing.T) {
	var asked []string
	d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		if !strings.HasSuffix(c.Path, "/ask") {
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
			return
		}
		asked = append(asked, fmt.Sprint(c.Body["question"]))
		daemontest.Stream(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
	})
	code, out, errs := runAt(t, d.URL, "cats")
	if code != exitDaemon || out != "" || !strings.Contains(errs, `keys "choices" (the stream of an OpenAI chat completion)`) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if len(asked) != 1 || asked[0] != target.OwnQuery {
		t.Errorf("asked %q", asked)
	}
}

// TestOwnQuestionIsCounted: the daemon's reader is paid for the question that a run asks before the
// dataset, so what it reports of that is in its cost, again after a resume, and in no other figure.
func TestOwnQuestionIsCounted(t *testing.T) {
	down, broken := false, false
	d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		switch {
		case !strings.HasSuffix(c.Path, "/ask"):
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
		case down && c.Body["question"] != target.OwnQuery:
			daemontest.HangUp(w)
		case broken:
			daemontest.Stream(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
		default:
			daemontest.Stream(w, "event: done\ndata: "+
				`{"ok":true,"answer":"What?","model":"gpt-4o","usage":{"input_tokens":1000,"output_tokens":100}}`+"\n\n")
		}
	})
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "q.jsonl"), `{"id":"a","question":"What is it?","expected_substrings":["What"]}`+"\n")
	runs := func(args ...string) string {
		t.Helper()
		_, _, stderr := inProcess(t.Context(), append([]string{"run"}, args...)...)
		return stderr
	}
	down = true
	runs("--sdk=py", "--endpoint="+d.URL, "--brain=notes", "--dataset="+filepath.Join(dir, "q.jsonl"), "--scorer=exact", "--output="+filepath.Join(dir, "out"))
	day := newestDay(t, dir)
	down, broken = false, true // the answer to the second one cannot be read
	runs("--resume", filepath.Join(dir, "out", day, "py.journal"), "--retry-errors")
	broken = false
	out := runs("--resume", filepath.Join(dir, "out", day, "py.journal"), "--retry-errors")
	res := readResult(t, filepath.Join(dir, "out", day, "py.json"))
	if len(res.OwnQuestions) != 3 || res.OwnQuestions[0].Question != target.OwnQuery ||
		res.OwnQuestions[1].Requests != 1 || res.OwnQuestions[2].Usage.InputTokens != 1000 {
		t.Fatalf("%+v\n%s", res.OwnQuestions, out)
	}
	cost := res.ReaderCost.Models["gpt-4o"]
	if res.Total != 1 || res.ReaderUsage.InputTokens != 1000 || cost.InputTokens != 3000 || cost.Reported != 3 || res.ReaderModels["gpt-4o"] != 1 {
		t.Errorf("%+v, %+v", res.ReaderUsage, cost)
	}
	rep, err := verify.File(filepath.Join(dir, "out", day, "py.json"))
	if err != nil || !rep.OK {
		t.Errorf("%v %+v", err, rep)
	}
}
