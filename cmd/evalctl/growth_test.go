package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGrowth has questions and results with ten times as much of something, and compares the
// processor time of commands: it must not grow like the square.
func TestGrowth(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes many times as long")
	}
	many := func(n int, form string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(form, i)
		}
		return list
	}
	for name, question := range map[string]func(n int) map[string]any{
		"tags": func(n int) map[string]any {
			return map[string]any{"tags": many(n, "tag%d"), "expected_substrings": many(1, "x%d")}
		},
		"gold": func(n int) map[string]any {
			return map[string]any{"expected_paths": many(n, "n%d.md"), "expected_substrings": many(1, "x%d")}
		},
		"texts":  func(n int) map[string]any { return map[string]any{"expected_substrings": many(n, "x%d")} },
		"checks": func(n int) map[string]any { return map[string]any{"checks": checksOf(many(n, "x%d"))} },
	} {
		t.Run(name, func(t *testing.T) {
			var taken [2]map[string]time.Duration
			for i, n := range []int{3000, 30_000} {
				taken[i] = timesOf(t, question(n), name)
			}
			for command, short := range taken[0] {
				long := taken[1][command]
				t.Logf("%s: %v, and %v with ten times as much", command, short, long)
				if long > 30*max(short, 50*time.Millisecond) {
					t.Errorf("%s takes %v, and %v with ten times as much", command, short, long)
				}
			}
		})
	}
}

func checksOf(texts []string) []map[string]string {
	checks := make([]map[string]string, len(texts))
	for i, text := range texts {
		checks[i] = map[string]string{"contains": text, "name": text}
	}
	return checks
}

// timesOf returns the processor time of each command.
func timesOf(t *testing.T, question map[string]any, name string) map[string]time.Duration {
	t.Helper()
	dir := t.TempDir()
	question["id"], question["question"] = "q", "what?"
	line, err := json.Marshal(question)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "q.jsonl"), append(line, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	scorer := map[bool]string{true: "checks", false: "exact"}[name == "checks"]
	d := slowDaemon(t)
	run := "run --target stub=" + d.URL + " --brain notes --dataset q.jsonl --quiet --floor 0 --max-unscored 100% --scorer " + scorer
	taken := map[string]time.Duration{}
	for _, c := range []struct{ name, line string }{
		{"check", "dataset check q.jsonl"}, {"run", run + " --output a"}, {"run again", run + " --output b"},
		{"verify", "verify FILE"}, {"list", "show list a"}, {"show", "show FILE"}, {"compare", "compare FILE OTHER --accept reader_prompt"},
	} {
		text := c.line
		for word, folder := range map[string]string{"FILE": "a", "OTHER": "b"} {
			if found, _ := filepath.Glob(filepath.Join(dir, folder, "*", "stub.json")); len(found) == 1 {
				text = strings.ReplaceAll(text, word, found[0])
			}
		}
		cmd := exec.CommandContext(t.Context(), "evalctl", strings.Fields(text)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %.500s", c.name, err, out)
		}
		taken[c.name] = cmd.ProcessState.UserTime()
	}
	return taken
}
