package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"evalctl/harness/project"
	"evalctl/internal/filetest"
)

const example = `# of a repository
defaults: {dataset: q.jsonl}
run:
  sdk: [go, ts]
  floor-tag: {a: 0.5, b: 0.7}
  quiet: true
plan:
targets:
  mine: ./daemon --addr {addr}
`

func TestParse(t *testing.T) {
	p, err := project.Parse("evalctl.yaml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]project.Setting{
		"defaults": {{Key: "dataset", Values: []string{"q.jsonl"}, Kind: "!!str", Line: 2}},
		"run": {
			{Key: "sdk", Values: []string{"go", "ts"}, List: true, Line: 4},
			{Key: "floor-tag", Values: []string{"a=0.5", "b=0.7"}, List: true, Line: 5},
			{Key: "quiet", Values: []string{"true"}, Kind: "!!bool", Line: 6},
		},
	}
	if diff := cmp.Diff(want, p.Sections); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"defaults": 2, "run": 3, "plan": 7}, p.Lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"mine": "./daemon --addr {addr}"}, p.Targets); diff != "" {
		t.Error(diff)
	}
}

// An empty file, or one of comments alone, sets nothing.
func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n"} {
		if p, err := project.Parse("f", []byte(text)); err != nil || len(p.Sections)+len(p.Targets) > 0 {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
}

// Every error names the file, and the line of what is wrong.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"run: go\n":                               "f:1: run must be a mapping, such as run: {sdk: go}",
		"- run\n":                                 "f:1: the file must be a mapping",
		"run:\n  sdk: go\n  sdk: ts\n":            `f:3: "sdk" is set twice, first in line 2`,
		"run: {}\n\nrun: {}\n":                    `f:3: "run" is set twice, first in line 1`,
		"run:\n  sdk:\n":                          "f:2: sdk has no value; give one, or delete the line",
		"run:\n  sdk: [go, [ts]]\n":               "f:2: sdk: must be a single value, or a list of them",
		"run:\n  floor-tag:\n    a: {b: c}\n":     "f:3: floor-tag: must be a single value",
		"run:\n  token: x\n":                      "f:2: token is a secret, which does not belong in a file that is shared",
		"bench:\n  OPENAI_API_KEY: x\n":           "f:2: OPENAI_API_KEY is a secret",
		"a: &x {sdk: go}\nrun: *x\n":              "f:2: run must be a mapping",
		"run:\n  sdk: &x go\n  dataset: *x\n":     "f:3: dataset: write the value itself; aliases are not read",
		"run:\n  <<: {sdk: go}\n":                 "f:2: a key must be a name; aliases and merged mappings are not read",
		"? [run]\n: {}\n":                         "f:1: a key must be a name",
		"run: {}\n---\nrun: {}\n":                 "f:2: the file has more than one document; write one",
		"targets:\n  mine: \"\"\n":                "f:2: the definition of mine is empty",
		"targets:\n  m: a\nsdks:\n  m: b\n":       "f:4: target m is defined twice, in targets and in sdks",
		"run:\n  sdk: go\n dataset: q.jsonl\n":    "f:2: did not find",
		"run:\n\tsdk: go\n":                       "f:2: found character that cannot start any token; if it is a tab, indent with spaces",
		"run: \"" + strings.Repeat("x", 9) + "\n": "f:2: found",
	} {
		_, err := project.Parse("f", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := project.Read(filepath.Join(dir, "none.yaml")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	large := filetest.Write(t, filepath.Join(dir, "large.yaml"), strings.Repeat("# x\n", 1<<19))
	if _, err := project.Read(large); err == nil || !strings.Contains(err.Error(), "cannot be a project file") {
		t.Errorf("a large file: %v", err)
	}
}

// A path of the file is relative to its folder.
func TestRebase(t *testing.T) {
	p := &project.File{Path: filepath.Join("sub", "evalctl.yaml")}
	for path, want := range map[string]string{"": "", "q.jsonl": filepath.Join("sub", "q.jsonl"), "/q.jsonl": "/q.jsonl"} {
		if got := p.Rebase(path); got != want {
			t.Errorf("%q became %q, want %q", path, got, want)
		}
	}
	if got := (&project.File{Path: "evalctl.yaml"}).Rebase("q.jsonl"); got != "q.jsonl" {
		t.Errorf("q.jsonl became %q", got)
	}
}

// Whatever is in the file, it is an error that names the file, or settings that have a line of it
// and no secret.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	for _, text := range []string{"run: {token: x}", "a: &a [*a]", "targets: {m: go --mode bm25, n: m}", "sdks: {go: {cmd: x}}", "run: {? {a: b} : c}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := project.Parse("file.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file.yaml:") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for section, settings := range p.Sections {
			for _, s := range settings {
				if s.Line < 1 || project.SecretKey.MatchString(s.Key) || !s.List && len(s.Values) != 1 {
					t.Errorf("%s: %+v", section, s)
				}
			}
		}
		for name, text := range p.Targets {
			if strings.TrimSpace(text) == "" {
				t.Errorf("target %q is empty", name)
			}
		}
	})
}

// TestRebased: the recipe files of a panel are relative to the project file, as other paths are.
func TestRebased(t *testing.T) {
	f := &project.File{Path: "project/evalctl.yaml"}
	panel := &kong.Flag{Value: &kong.Value{Name: "judge-panel"}, PlaceHolder: "RECIPE"}
	for value, want := range map[string]string{"strict": "strict", "own.yaml": "project/own.yaml", "/r/own.yaml": "/r/own.yaml"} {
		if got := f.Rebased(panel, value); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}
