package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
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
			words, err := shellquote.Split(strings.SplitN(args, " #", 2)[0])
			if err != nil {
				t.Fatalf("%s: %s: %v", page, line, err)
			}
			if i := slices.IndexFunc(words, isRedirection); i >= 0 {
				words = words[:i]
			}
			out = append(out, words)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s contains no command", page)
	}
	return out
}

// isRedirection says whether a word of a command line is for the shell, with all words after it.
func isRedirection(word string) bool {
	return word == "|" || strings.HasPrefix(word, ">") || strings.HasPrefix(word, "2>")
}

// shownPages are the pages whose commands are run or parsed.
var shownPages = []string{
	"../../README.md",
	"../../docs/adding.md",
	"../../docs/audit.md",
	"../../docs/comparing.md",
	"../../docs/conformance.md",
	"../../docs/datasets.md",
	"../../docs/gates.md",
	"../../docs/history.md",
	"../../docs/judging.md",
	"../../docs/lifecycle.md",
	"../../docs/mcp.md",
	"../../docs/replay.md",
	"../../docs/reports.md",
	"../../docs/retrieval.md",
	"../../docs/selecting.md",
	"../../docs/serving.md",
	"../../docs/verifying.md",
	"../../docs/wire.md",
}

// TestShownCommands checks the commands of the documentation. All of them must parse, and those
// that need only a clone are run.
func TestShownCommands(t *testing.T) {
	if raceDetector {
		t.Skip("it runs other processes only, one at a time")
	}
	t.Parallel()
	ran, installs := 0, 0
	for _, page := range shownPages {
		for _, args := range commandLines(t, page) {
			name := strings.Join(args, " ")
			quiet := &process{args: args, env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
			if _, err := parse(t.Context(), quiet, &cli{}); err != nil && !strings.Contains(name, "--help") {
				t.Errorf("%s: evalctl %s: %v", page, name, err)
				continue
			}
			has := func(s string) bool { return strings.Contains(name, s) }
			if (has("--sdk go") || has("--target go")) && has("--dataset datasets/") && !has("name.jsonl") && !has("--max-cost-usd") {
				ran++
				runShown(t, page, args)
			}
			if has("serve mcp --install") {
				installs++
				runInstall(t, page, args)
			}
		}
	}
	if ran < 5 || installs < 5 {
		t.Errorf("only %d and %d commands could be run", ran, installs)
	}
}

func runShown(t *testing.T, page string, args []string) {
	output := t.TempDir()
	if args[0] == "replay" { // names a file
		output = filepath.Join(output, "replay.json")
		args = append(args, "--cache-dir", t.TempDir())
	}
	// TestMain puts evalctl on the PATH.
	cmd := exec.CommandContext(t.Context(), "evalctl", append(args, "--output", output)...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: evalctl %s: %v\n%s", page, strings.Join(args, " "), err, out)
	}
}

// runInstall runs evalctl serve mcp --install list for a user of its own, with all clients.
func runInstall(t *testing.T, page string, args []string) {
	home := t.TempDir()
	for _, folder := range []string{".cursor", ".vscode", ".config/Claude", "Library/Application Support/Claude"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "evalctl", args...)
	cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: evalctl %s: %v\n%s", page, strings.Join(args, " "), err, out)
	}
}
