package completion

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var commands = []Command{
	{Name: "run", Help: "Run it: now.", Args: []string{"a", "b"}, Flags: []Flag{
		{Name: "mode", Help: "Mode 'x' of $HOME [all]; more.", Values: []string{"fast", "slow"}, TakesValue: true},
		{Name: "output", Help: "File.", TakesValue: true, Path: true},
		{Name: "quiet", Help: "Say less."},
	}},
	{Name: "help", Help: "Help."},
}

// TestBash completes words in a real shell.
func TestBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	var script strings.Builder
	if err := Write(&script, "bash", commands); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evalctl.bash")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"evalctl r":            "run",
		"evalctl run --mode ":  "fast slow",
		"evalctl run --mode s": "slow",
		"evalctl run ":         "a b --mode --output --quiet",
		"evalctl run --q":      "--quiet",
		"evalctl run --output " + file[:len(file)-1]: file,
	} {
		list := strings.Split(words, " ")
		const ask = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _evalctl; echo "${COMPREPLY[*]}"`
		out, err := exec.CommandContext(t.Context(), bash, append([]string{"-c", ask, "bash", file}, list...)...).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", words, got, err, want)
		}
	}
}

// TestHelpOfFlags checks that a help text is shortened and cannot end a string of a script.
func TestHelpOfFlags(t *testing.T) {
	for shell, want := range map[string]string{
		"zsh":  "'--mode[Mode x of HOME (all)]:value:(fast slow)'",
		"fish": "-l mode -r -a 'fast slow' -d 'Mode x of HOME (all)'\n",
	} {
		var script strings.Builder
		if err := Write(&script, shell, commands); err != nil || !strings.Contains(script.String(), want) {
			t.Errorf("%s: %v, no %s in\n%s", shell, err, want, &script)
		}
	}
	if err := Write(new(strings.Builder), "csh", commands); err == nil {
		t.Error("csh: no error")
	}
}
