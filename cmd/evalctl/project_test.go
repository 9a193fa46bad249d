package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/internal/filetest"
)

// FuzzProject checks that no file makes the parser or the check of its project.Settings panic, and
// that an error names the file.
func FuzzProject(f *testing.F) {
	for _, text := range []string{
		"", "null", "run: {sdk: go, floor: 0.9}\n", "defaults:\n  quiet: true\nsdks: {ts: {cmd: x}}\n", "run: [1]\n", "run: {floor-tag: {a: 1, b: [2]}}\n",
		"a: &x {b: 1}\nrun: *x\n", "run: {<<: {a: 1}}\n", "sweep: {top-ks: [1, x]}\n", "run: {price: ['m=1/2']}\n", "---\n---\n", "run: {timeout: 3}\n", "? [a]\n: b\n",
	} {
		f.Add(text)
	}
	commands := project.FlagsOf(grammar(project.Commands))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := project.Parse("p.yaml", []byte(text))
		if err == nil {
			err = p.Check(commands, project.Forbidden)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "p.yaml:") {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// TestEveryFlagFromTheFile gives each flag of run that a file may set in a file, with the value of
// another test: the run has what a command line with that flag has.
func TestEveryFlagFromTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	withoutVariables(t)
	for name, sample := range flagSamples {
		if project.Forbidden[name] != "" || project.SecretKey.MatchString(name) {
			continue
		}
		args := append([]string{}, sample[1:]...)
		text := "run:\n  target: go\n  dataset: q.jsonl\n"
		for _, value := range append([]string{"--scorer=exact", "--" + name + "=" + sample[0]}, args...) {
			key, v, _ := strings.Cut(strings.TrimPrefix(value, "--"), "=")
			if v == "" {
				v = "true"
			}
			line := "  " + key + ": "
			if at := strings.Index(text, line); at >= 0 {
				rest := text[at+len(line):]
				old, after, _ := strings.Cut(rest, "\n")
				if strings.HasPrefix(old, "[") {
					v = strings.TrimSuffix(old, "]") + ", " + quoted(v) + "]"
				}
				text = text[:at] + line + v + "\n" + after
				continue
			}
			if key == "floor-tag" || key == "price" || key == "daemon-env" || key == "scorer-env" {
				v = "[" + quoted(v) + "]"
			}
			text += line + v + "\n"
		}
		path := filepath.Join(t.TempDir(), project.Name)
		filetest.Write(t, path, text)
		t.Chdir(filepath.Dir(path))
		config := resolver()
		_, fromFile := parseRun(t, nil, kong.Resolvers(config))
		if config.Err != nil {
			t.Errorf("%s: %v\n%s", name, config.Err, text)
			continue
		}
		if config.InUse() != project.Name {
			t.Errorf("%s: the file is not in use", name)
		}
		_, fromLine := parseRun(t, append(baseWith(name, sample[0]), args...))
		for flag := range fromLine {
			if got, want := project.Text(fromFile[flag].Target), project.Text(fromLine[flag].Target); !equalText(got, want) {
				t.Errorf("%s: --%s is %v from the file and %v from the command line\n%s", name, flag, got, want, text)
			}
		}
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func equalText(a, b any) bool {
	x, ok := a.([]string)
	y, also := b.([]string)
	if ok != also {
		return false
	}
	if ok {
		return strings.Join(x, "\x00") == strings.Join(y, "\x00")
	}
	return a == b
}

// TestProjectPaths checks that every flag whose value is a path is relative to the file.
func TestProjectPaths(t *testing.T) {
	p := &project.File{Path: "sub/evalctl.yaml"}
	for _, c := range grammar(project.Commands).Children {
		for _, f := range c.Flags {
			want := map[string]string{
				"run.dataset": "sub/x", "run.corpus": "sub/x", "run.output": "sub/x", "run.baseline": "sub/x", "run.failed-of": "sub/x", "run.sdk": "x",
				"replay.errata": "sub/x", "replay.baseline": "x", "replay.cache-dir": "sub/x", "replay.judge-prompts": "sub/x",
			}[c.Name+"."+f.Name]
			if got := p.Rebased(f, "x"); want != "" && got != want {
				t.Errorf("%s --%s x: got %s", c.Name, f.Name, got)
			}
			if got := p.Rebased(f, "/x"); got != "/x" {
				t.Errorf("%s --%s /x: got %s", c.Name, f.Name, got)
			}
		}
	}
	if got := (&project.File{Path: "evalctl.yaml"}).Rebase("results/"); got != "results/" {
		t.Errorf("got %s", got)
	}
}
