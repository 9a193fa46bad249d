package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// commandLines returns the evalctl commands in the fenced code blocks of a page. A backslash at the
// end of a line continues the command on the next line.
func commandLines(t *testing.T, page string) [][]string {
	t.Helper()
	f, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]string
	fenced, begun := false, ""
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := begun + strings.TrimPrefix(strings.TrimSpace(sc.Text()), "$ ")
		var continued bool
		if begun, continued = strings.CutSuffix(line, `\`); continued {
			continue
		}
		begun = ""
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		line = strings.Replace(line, "go run ./cmd/evalctl", "evalctl", 1)
		if args, ok := strings.CutPrefix(line, "evalctl "); ok && fenced {
			out = append(out, strings.Fields(args))
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s contains no command", page)
	}
	return out
}

// TestShownCommands checks the commands of the documentation. All of them must parse, and those
// that need only a clone are run.
func TestShownCommands(t *testing.T) {
	ran := 0
	for _, page := range []string{"../../README.md", "../../docs/adding.md", "../../docs/retrieval.md"} {
		for _, args := range commandLines(t, page) {
			name := strings.Join(args, " ")
			quiet := &process{args: args, env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
			if _, err := parse(t.Context(), quiet, &cli{}); err != nil && !strings.Contains(name, "--help") {
				t.Errorf("%s: evalctl %s: %v", page, name, err)
				continue
			}
			has := func(s string) bool { return strings.Contains(name, s) }
			if has("--sdk go") && has("datasets/") && !has("name.jsonl") && !has("--budget-usd") {
				ran++
				runShown(t, page, args)
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands could be run", ran)
	}
}

func runShown(t *testing.T, page string, args []string) {
	// TestMain puts evalctl on the PATH.
	cmd := exec.CommandContext(t.Context(), "evalctl", append(args, "--output", t.TempDir())...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: evalctl %s: %v\n%s", page, strings.Join(args, " "), err, out)
	}
}
