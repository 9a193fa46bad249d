package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/filetest"
)

// workflow is what these tests look at in a workflow of GitHub.
type workflow struct {
	Name        string
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Timeout int `yaml:"timeout-minutes"`
		Steps   []struct {
			Name, Uses, Run, If string
			With                map[string]string
			Env                 map[string]string
		}
	}
}

// workflows returns the examples for continuous integration by their name, with their documents.
func workflows(t *testing.T) (map[string]workflow, map[string]*yaml.Node) {
	t.Helper()
	paths, err := filepath.Glob("../../docs/ci/*.yml")
	if err != nil || len(paths) != 2 {
		t.Fatalf("workflows: %q %v", paths, err)
	}
	files, nodes := map[string]workflow{}, map[string]*yaml.Node{}
	for _, path := range paths {
		data := filetest.Read(t, path)
		var w workflow
		var n yaml.Node
		if err := yaml.Unmarshal(data, &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := yaml.Unmarshal(data, &n); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		files[filepath.Base(path)], nodes[filepath.Base(path)] = w, &n
	}
	return files, nodes
}

// scriptCommands returns the evalctl commands of a shell script, also those in $( ).
func scriptCommands(script string) (out [][]string) {
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
		_, args, ok := strings.Cut(strings.ReplaceAll(line, "$(evalctl", "$( evalctl"), "evalctl ")
		if !ok {
			continue
		}
		args, _, _ = strings.Cut(args, ")")
		out = append(out, strings.Fields(strings.ReplaceAll(args, `"`, "")))
	}
	return out
}

// TestWorkflowCommands checks that the commands of the workflows exist, and runs those of the gate
// that need only a clone.
func TestWorkflowCommands(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it runs other processes only, one at a time")
	}
	files, _ := workflows(t)
	for name, w := range files {
		commands, ran := 0, 0
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				for _, args := range scriptCommands(step.Run) {
					commands++
					p := &process{args: args, env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
					if _, err := parse(t.Context(), p, &cli{}); err != nil {
						t.Errorf("%s: evalctl %s: %v", name, strings.Join(args, " "), err)
					} else if slices.Contains(args, "run") && !strings.Contains(step.Run, "$BASE") { // there is no base here
						ran++
						runShown(t, name, args)
					}
				}
			}
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				if step.Uses == "./docs/ci/action" {
					ran++
					runAction(t, step.With)
				}
			}
		}
		if commands < 3 || name == "pr-gate.yml" && ran != 2 {
			t.Errorf("%s: %d commands, of which %d ran", name, commands, ran)
		}
	}
}

// action is what these tests look at in a composite action of GitHub.
type action struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Runs struct {
		Using string
		Steps []struct {
			Name, Shell, Run string
			Env              map[string]string
		}
	}
}

// theAction returns the action of docs/ci, which has one step.
func theAction(t *testing.T) action {
	t.Helper()
	data := filetest.Read(t, "../../docs/ci/action/action.yml")
	var a action
	if err := yaml.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Runs.Steps) != 1 {
		t.Fatalf("%d steps", len(a.Runs.Steps))
	}
	return a
}

// TestAction checks that each input of the action reaches its script as a variable, that nothing is
// pasted into the script, and that its command exists.
func TestAction(t *testing.T) {
	a := theAction(t)
	step := a.Runs.Steps[0]
	if a.Runs.Using != "composite" || step.Shell != "bash" || strings.Contains(step.Run, "${{") {
		t.Errorf("the step is %+v of %s", step, a.Runs.Using)
	}
	used := map[string]bool{}
	for variable, value := range step.Env {
		name := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		used[name] = true
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("%s is %s, which is no input", variable, value)
		}
		if !strings.Contains(step.Run, `"$`+variable+`"`) {
			t.Errorf("the script does not use $%s in quotes", variable)
		}
	}
	if len(used) != len(a.Inputs) {
		t.Errorf("variables for %d of %d inputs", len(used), len(a.Inputs))
	}
	commands := scriptCommands(step.Run)
	if len(commands) != 1 {
		t.Fatalf("commands %q", commands)
	}
	var args []string
	for _, arg := range commands[0] {
		switch {
		case strings.Contains(arg, "args"): // further arguments
		case arg == "$SDK", arg == "$SCORER", arg == "$FLOOR":
			args = append(args, map[string]string{"$SDK": "go", "$SCORER": "exact", "$FLOOR": "1"}[arg])
		default:
			args = append(args, arg)
		}
	}
	p := &process{args: args, env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
	if _, err := parse(t.Context(), p, &cli{}); err != nil {
		t.Errorf("evalctl %s: %v", strings.Join(args, " "), err)
	}
}

// runAction runs the script of the action as GitHub does, with its files in a folder of their own.
func runAction(t *testing.T, with map[string]string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	a, dir := theAction(t), t.TempDir()
	step := a.Runs.Steps[0]
	cmd := exec.CommandContext(t.Context(), bash, "-e", "-o", "pipefail", "-c", step.Run)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
	for variable, value := range step.Env {
		name := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		text, given := with[name]
		if !given {
			text = a.Inputs[name].Default
		}
		switch {
		case name == "args":
			text += "\n--output=" + filepath.Join(dir, "results with spaces")
		case slices.Contains([]string{"junit", "markdown", "html"}, name) && text != "":
			text = filepath.Join(dir, text)
		}
		cmd.Env = append(cmd.Env, variable+"="+text)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the action with %v: %v\n%s", with, err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, with["junit"])); err != nil || with["junit"] == "" {
		t.Errorf("the action with %v has no JUnit file: %v", with, err)
	}
	if summary, err := os.ReadFile(filepath.Join(dir, "summary.md")); err != nil || !strings.HasPrefix(string(summary), "## Pass: ") {
		t.Errorf("the action with %v has the summary %s: %v", with, summary, err)
	}
}

// TestWorkflowScripts checks the shell scripts of the workflows, and that no value of GitHub is
// pasted into one, where it could be a command.
func TestWorkflowScripts(t *testing.T) {
	files, _ := workflows(t)
	for name, w := range files {
		for _, job := range w.Jobs {
			if job.Timeout == 0 {
				t.Errorf("%s: a job has no time limit", name)
			}
			for _, step := range job.Steps {
				if step.Run == "" {
					continue
				}
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: an expression in the script of %q", name, step.Name)
				}
				bash, err := exec.LookPath("bash")
				if err != nil {
					t.Skip("bash is not installed")
				}
				if out, err := exec.CommandContext(t.Context(), bash, "-n", "-c", step.Run).CombinedOutput(); err != nil {
					t.Errorf("%s: %q: %v\n%s", name, step.Name, err, out)
				}
			}
		}
	}
}

// TestWorkflowSecrets checks that secrets reach single steps only, through their environment, and
// none reaches a workflow that runs the code of others.
func TestWorkflowSecrets(t *testing.T) {
	files, nodes := workflows(t)
	for name, n := range nodes {
		walkYAML(n, nil, func(path []string, value string) {
			inStep := len(path) > 1 && path[len(path)-2] == "env" && slices.Contains(path, "steps")
			if strings.Contains(value, "secrets.") && !inStep {
				t.Errorf("%s: %s: %s", name, strings.Join(path, "."), value)
			}
			if _, ok := files[name].On["pull_request"]; ok && strings.Contains(value, "secrets.") {
				t.Errorf("%s: a pull request gets a secret", name)
			}
		})
		if p := files[name].Permissions; len(p) != 1 || p["contents"] != "read" {
			t.Errorf("%s: permissions %v", name, p)
		}
		if _, ok := files[name].On["pull_request_target"]; ok {
			t.Errorf("%s runs for pull requests with secrets", name)
		}
	}
}

// walkYAML calls visit for each scalar with the keys that lead to it.
func walkYAML(n *yaml.Node, path []string, visit func(path []string, value string)) {
	switch n.Kind {
	case yaml.ScalarNode:
		visit(path, n.Value)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			walkYAML(n.Content[i+1], append(slices.Clone(path), n.Content[i].Value), visit)
		}
	default:
		for _, c := range n.Content {
			walkYAML(c, path, visit)
		}
	}
}

// TestNightlyContinues checks that the nightly example resumes the ledger that its replay has, and
// keeps what that needs, also after a cancellation.
func TestNightlyContinues(t *testing.T) {
	files, _ := workflows(t)
	var output, resumed string
	kept := map[string]string{}
	for _, step := range files["nightly.yml"].Jobs["replay"].Steps {
		for _, args := range scriptCommands(step.Run) {
			if i := slices.Index(args, "--output"); i > 0 {
				output = args[i+1]
			}
			if i := slices.Index(args, "--resume"); i > 0 {
				resumed = args[i+1]
			}
		}
		if action, _, ok := strings.Cut(step.Uses, "@"); ok {
			kept[action] = step.With["path"]
			if strings.HasSuffix(action, "/save") && step.If != "always()" {
				t.Errorf("%s: only if %q", action, step.If)
			}
		}
	}
	if want := strings.Replace(output, ".json", ".ledger", 1); resumed != want || want == "" {
		t.Errorf("the ledger is %s, and %s is resumed", want, resumed)
	}
	saved, restored := kept["actions/cache/save"], kept["actions/cache/restore"]
	if saved != restored || !strings.Contains(saved, "results") || !strings.Contains(saved, ".cache") {
		t.Errorf("saved %q, restored %q", saved, restored)
	}
}
