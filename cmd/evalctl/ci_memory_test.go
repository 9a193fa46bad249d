package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
)

// gate runs the script of an action or a step as GitHub does, in a folder, with further variables.
func gate(t *testing.T, dir, script string, env ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(text)
}

// memoryGate runs the action for memories. inputs are its variables.
func memoryGate(t *testing.T, dir string, inputs ...string) (code int, out string) {
	t.Helper()
	folder, err := filepath.Abs("../../docs/ci/memory")
	if err != nil {
		t.Fatal(err)
	}
	data := filetest.Read(t, filepath.Join(folder, "action.yml"))
	var a action
	if err := yaml.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	step := a.Runs.Steps[0]
	env := []string{"GITHUB_ACTION_PATH=" + folder, "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary.md")}
	for variable, value := range step.Env {
		name := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		input, ok := a.Inputs[name]
		if !ok || strings.Contains(step.Run, "${{") {
			t.Fatalf("%s is %s", variable, value)
		}
		env = append(env, variable+"="+input.Default)
	}
	return gate(t, dir, step.Run, append(env, inputs...)...)
}

// forgetful is a memory that keeps the first of ten texts.
const forgetful = `name: forgetful
brains: process
remember: {tool: memory_remember, arguments: {text: "{text}", path: "kept/one.md"}}
search: {tool: memory_search, arguments: {query: "{query}", top_k: "{top_k}"}, reply: {items: "$.hits[*]", text: $.text, id: $.path}}
`

// TestMemoryGate measures memories as their maintainers do: an unchanged one passes against its own
// result, with a badge and a signature, and one that lost what it knew does not.
func TestMemoryGate(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it runs other processes only, one at a time")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "key")).CombinedOutput(); err != nil {
		t.Skipf("ssh-keygen: %v: %s", err, out)
	}
	baseline := filepath.Join(dir, "baseline.json")
	read := func(output string) (string, result.Result) {
		files, err := filepath.Glob(filepath.Join(dir, output, "*", "memory.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s has %q, %v", output, files, err)
		}
		return files[0], readResult(t, files[0])
	}
	for i, target := range []string{"mcp:evalctl serve mcp", "mcp:evalctl serve mcp", "evalctl serve --addr {addr}"} {
		output := []string{"first", "again", "daemon"}[i]
		code, out := memoryGate(t, dir, "TARGET="+target, "BASELINE="+baseline, "KEY=key", "OUTPUT="+output)
		path, res := read(output)
		badge, err := os.ReadFile(filepath.Join(dir, output, "badge.svg"))
		if code != 0 || err != nil || !strings.Contains(string(badge), "of 162 questions") || *res.PassRate < .9 {
			t.Fatalf("%s: exit code %d, %v, %s\n%s", target, code, err, badge, out)
		}
		if i > 0 && (res.Gate.Baseline == nil || res.Gate.Baseline.Verdict != result.NotWorse) {
			t.Errorf("%s: %s", target, res.Gate.Sentence)
		}
		if _, err := os.Stat(filepath.Join(dir, output, "report.html")); err != nil {
			t.Error(err)
		}
		if signed, _ := filepath.Glob(filepath.Join(dir, output, "*", "*.sig")); len(signed) != 1 {
			t.Errorf("signatures %q", signed)
		}
		if i > 0 {
			continue
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(baseline, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	filetest.Write(t, filepath.Join(dir, "forgetful.yaml"), forgetful)
	code, out := memoryGate(t, dir, "TARGET=mcp: --mapping forgetful.yaml evalctl serve mcp", "BASELINE="+baseline, "OUTPUT=forgetful")
	if code == 0 {
		t.Errorf("a memory that forgets passes:\n%s", out)
	}
}

// TestMemoryGateOfOthers measures three servers of others from npm.
func TestMemoryGateOfOthers(t *testing.T) {
	longtest.Skip(t)
	dir := t.TempDir()
	// Its native module is compiled for longer than a server may take to start.
	if out, err := exec.CommandContext(t.Context(), "npm", "install", "--silent", "--prefix", dir, "mcp-memory-keeper@0.14.1").CombinedOutput(); err != nil {
		t.Fatalf("npm: %v: %s", err, out)
	}
	for name, target := range map[string]string{
		"graph":  "mcp:npx -y @modelcontextprotocol/server-memory@2026.8.31",
		"libsql": "mcp:npx -y mcp-memory-libsql@0.0.17",
		"keeper": "mcp: --mapping memory-keeper node " + filepath.Join(dir, "node_modules/mcp-memory-keeper/dist/index.js"),
	} {
		for _, run := range []string{"first", "again"} {
			baseline := filepath.Join(dir, name+".json")
			output := name + "-" + run
			code, out := memoryGate(t, dir, "TARGET="+target, "BASELINE="+baseline, "OUTPUT="+output, "MARGIN=0.06") // one of them is not deterministic
			files, _ := filepath.Glob(filepath.Join(dir, output, "*", "memory.json"))
			if code != 0 || len(files) != 1 {
				t.Errorf("%s: exit code %d, %q\n%s", name, code, files, out)
				break
			}
			res := readResult(t, files[0])
			t.Logf("%s: %d of %d by evidence", name, res.Passed, res.Total)
			if err := os.Rename(files[0], baseline); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBaseRecipe runs the step of the gate for pull requests that compares with the base commit, with
// this program as both. An unchanged daemon passes.
func TestBaseRecipe(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it runs other processes only, one at a time")
	}
	files, _ := workflows(t)
	dir, script := t.TempDir(), ""
	for _, step := range files["pr-gate.yml"].Jobs["gate"].Steps {
		if strings.Contains(step.Run, "$BASE") {
			script = step.Run
		}
	}
	for _, name := range []string{"git", "go"} { // there is no base commit here
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	repo, err := filepath.Abs("../..")
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "base"), 0o700), os.Symlink(filepath.Join(repo, "datasets"), filepath.Join(dir, "datasets")))
	}
	if err != nil {
		t.Fatal(err)
	}
	code, out := gate(t, dir, script, "BASE=main", "RUNNER_TEMP="+dir, "SVC_SDK_BASE_CMD=evalctl serve --addr {addr}", "PATH="+dir+":"+os.Getenv("PATH"))
	if code != 0 || !strings.Contains(out, "not worse than the baseline by 5 points: +0.0 points") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
