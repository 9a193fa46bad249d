package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kballard/go-shellquote"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
	"evalctl/scorer"
)

// writeCompared writes the result of an SDK for 50 questions, of which those with these numbers
// failed. Its names and texts try to be more than text.
func writeCompared(t *testing.T, path, sdk string, slow float64, failed ...int) {
	t.Helper()
	id := result.Identity{
		SchemaVersion: 1, SDK: sdk, Scorer: "judge", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
		Dataset: result.DatasetID{Path: "smoke.jsonl", SHA256: strings.Repeat("9f", 32)},
		Judge:   &result.JudgeModel{Provider: "openai", Model: "gpt-4o", PromptVersion: "v6", PromptSHA256: strings.Repeat("7a", 32)},
		Daemon:  result.DaemonID{Program: sdk, Version: "1.0"},
		Reader:  &result.ModelID{Provider: "openai", Model: "gpt-4o-mini"},
	}
	res := resulttest.File{Result: result.Result{SDK: sdk, ScorerName: "judge", Identity: id, EffectiveModes: map[string]int{"bm25": 50}, Planned: 50}}
	for i := range 50 {
		r := result.Record{
			ID: fmt.Sprintf("q-%03d", i), Question: "<b>What</b> is `this` | that?", Reference: "it",
			Reply:   result.Reply{Answer: "it is. It is of " + sdk, Attempts: 1, LatencyMS: slow * float64(500+10*i) * (1 + float64(i%7)*(slow-1)/20), FirstDeltaMS: new(slow * float64(100+i) * (1 + float64(i%5)*(slow-1)/20)), Retrieved: []result.Chunk{{Path: "raw/documents/a.md", Score: 2, Text: "\x1b[31mred"}, {Path: "b.md", Score: 1, Text: "other"}}, Retrieval: &result.QuestionRetrieval{Documents: 2, Gold: scorer.Ranking{{Path: "a.md", Gain: 1, Rank: 1}}, Recall: 1, NDCG: 1 - float64(i%3)*slow/10, ReciprocalRank: 1, AveragePrecision: 1}},
			Outcome: result.Scored, Passed: true, Score: new(0.9), Tags: []string{"fact", `=HYPERLINK("x")`}, Line: i + 1, ExpectedPaths: []string{"a.md"},
		}
		if i >= 30 {
			r.Tags = []string{"temporal"}
		}
		for _, f := range failed {
			if f == i {
				r.Passed, r.Score, r.Reason = false, new(0.1), "it is \x1b[2Jwrong"
			}
		}
		res.Counts.Add(r)
		res.Questions = append(res.Questions, r)
	}
	res.Total, res.Passed, res.PassRate = res.Counts.Total, res.Counts.Passed, res.Counts.PassRate()
	res.Gate = &result.Gate{Verdict: result.Fail, Reason: result.ReasonFloor, Total: res.Total, Passed: res.Passed}
	res.Save(t, path)
}

// inCompared runs evalctl in a folder with the results of three SDKs.
func inCompared(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(t.TempDir())
	writeCompared(t, "go.json", "go", 1, 0, 1, 2, 3)
	writeCompared(t, "py.json", "py", 1.7, 2, 3, 4, 10, 11, 12)
	writeCompared(t, "ts.json", "=ts\x1b[31m", 1.4, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	code, stdout, stderr = inProcess(t.Context(), args...)
	return stdout, stderr, code
}

var longNumber = regexp.MustCompile(`-?\d+\.\d{7,}(e-?\d+)?`)

var fileDigest = regexp.MustCompile(`"sha256": "[0-9a-f]{64}"`)

// rounded shortens numbers to six digits, beyond which processors may differ, and removes the
// digests of files.
func rounded(text string) string {
	text = fileDigest.ReplaceAllString(text, `"sha256": "…"`)
	return longNumber.ReplaceAllStringFunc(text, func(s string) string {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		if math.Abs(f) < 1e-9 {
			f = 0
		}
		return strconv.FormatFloat(f, 'g', 6, 64)
	})
}

// TestCompareGolden compares every form of a comparison with testdata/compare, or writes it with
// -update.
func TestCompareGolden(t *testing.T) {
	folder, err := filepath.Abs("testdata/compare")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"ts.json", "go.json", "py.json"}
	for name, args := range map[string][]string{
		"text":     append([]string{"compare"}, files...),
		"baseline": append([]string{"compare", "--baseline", "go", "--margin", "0.03", "--tag", "temporal"}, files...),
		"markdown": append([]string{"compare", "--format", "markdown"}, files...),
		"csv":      append([]string{"compare", "--format", "csv"}, files...),
		"json":     append([]string{"compare", "--format", "json", "--baseline", "py"}, files[1:]...),
		"diff":     append([]string{"compare", "--question", "q-004"}, files...),
	} {
		t.Run(name, func(t *testing.T) {
			got, errs, code := inCompared(t, args...)
			if code != 0 || errs != "" {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			if strings.ContainsAny(got, "\x1b\u202e") {
				t.Error("control characters are not escaped")
			}
			goldentest.Compare(t, filepath.Join(folder, name+".golden"), rounded(got))
		})
	}
}

// TestRegressionGate plants a loss of 6 of 50 questions, and one of 5, which is not significant.
func TestRegressionGate(t *testing.T) {
	for lost, want := range map[int]int{6: exitBelowFloor, 5: exitDone} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			dir := t.TempDir()
			failed := []int{40, 41, 42}
			writeCompared(t, filepath.Join(dir, "old.json"), "go", 1, failed...)
			for i := range lost {
				failed = append(failed, i)
			}
			writeCompared(t, filepath.Join(dir, "new.json"), "go", 1, failed...)
			t.Chdir(dir)
			code, out, errs := inProcess(t.Context(), "compare", "new.json", "--baseline", "old.json", "--fail-on", "regression")
			if code != want {
				t.Errorf("exit code %d, want %d: %s", code, want, errs)
			}
			if shown := strings.Contains(out, "- worse"); shown != (want == exitBelowFloor) {
				t.Errorf("the table says:\n%s", out)
			}
			if said := strings.Contains(errs, "regression: new is worse than old"); said != (want == exitBelowFloor) {
				t.Errorf("stderr says %q", errs)
			}
		})
	}
}

// TestCompareShowsCommand checks that the command to copy has an id and a path as single words.
func TestCompareShowsCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"compare", "--accept", "dataset,scorer,reader"}
	for name, passed := range map[string]string{"a": "true", "b": "false"} {
		path := filepath.Join(dir, name+".jsonl")
		filetest.Write(t, path, `{"id":"q; $(touch x)","passed":`+passed+"}\n")
		args = append(args, path)
	}
	code, stdout, stderr := inProcess(t.Context(), args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	_, command, found := strings.Cut(stdout, "evalctl compare ")
	command, _, _ = strings.Cut(command, "\n")
	words, err := shellquote.Split(command)
	if want := []string{"--question=q; $(touch x)", filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")}; !found || err != nil || !cmp.Equal(words, want) {
		t.Errorf("got %q (%v), want %q", words, err, want)
	}
}

// TestComparedOnce checks that *.json of a folder does not compare the latest result with itself.
func TestComparedOnce(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const older, newer = "go-20260321T010203Z-abcdef.json", "go-20260322T010203Z-abcdef.json"
	for name, text := range map[string]string{older: "1", newer: "2", "go.json": "2", "ts.json": "3"} {
		filetest.Write(t, in(name), text)
	}
	for _, c := range []struct{ given, want []string }{
		{[]string{older, newer, "go.json", "ts.json"}, []string{older, newer, "ts.json"}},
		{[]string{"go.json", newer}, []string{"go.json"}},
		{[]string{older, "go.json"}, []string{older, "go.json"}},
		{[]string{"ts.json", "ts.json"}, []string{"ts.json", "ts.json"}}, // an error of the comparison
	} {
		var given, want []string
		for _, name := range c.given {
			given = append(given, in(name))
		}
		for _, name := range c.want {
			want = append(want, in(name))
		}
		var stderr bytes.Buffer
		var sides []compare.Files
		for _, path := range given {
			sides = append(sides, compare.Files{Paths: []string{path}})
		}
		terminal := newTerminal(&process{env: func(string) string { return "" }, stderr: &stderr}, false)
		got := compare.PathsOf(withoutSecondNames(terminal, sides))
		if noted := strings.Contains(stderr.String(), "is another name of"); !slices.Equal(got, want) || noted != (len(got) < len(given)) {
			t.Errorf("%v: got %v, %s", c.given, got, &stderr)
		}
	}
}
