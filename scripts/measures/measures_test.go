package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository has one case of each rule for counting. Its lines are counted in the test below.
var repository = map[string]string{
	"README.md":       "Two words\n",
	"docs/costs.md":   "one two three\n",
	"docs/dev/mcp.md": "one\n",
	"docs/flags.md": "| `--other` | no | flag |\n\n## All flags\n\n| flag | value | default | in | meaning |\n|---|---|---|---|---|\n" +
		"| `--brain` | `TEXT` | `eval` | run, keys create | Brain of questions. |\n| `--json` | `switch` | none | run | JSON, or a \\| b. |\n\n" +
		"## Exceptions\n\n| `--json` | what | in | why, | and more |\n",
	"cmd/evalctl/help/run.txt": "Runs once.\n",
	"cmd/evalctl/main.go": `package main

type cli struct {
	Run  runCmd  ` + "`cmd:\"\" help:\"Run.\"`" + `
	Keys keysCmd ` + "`cmd:\"\"`" + `
	MCP  mcpCmd  ` + "`cmd:\"\"`" + `
	Dog  dogCmd  ` + "`cmd:\"\" hidden:\"\"`" + `
	Flag string  ` + "`name:\"flag\"`" + `
}

type keysCmd struct {
	Create int ` + "`cmd:\"\"`" + `
	List   int ` + "`cmd:\"\"`" + `
}

type mcpCmd struct {
	Stdio   int ` + "`cmd:\"\" default:\"1\" hidden:\"\"`" + `
	Install int ` + "`cmd:\"\"`" + `
}

type runCmd struct{}
type dogCmd struct{}
`,
	"daemon/store/fs/fs.go": `// Package fs is no store, and there is no other. It is no longer used.
package fs

import _ "embed"

//go:embed data
var data string // that of a folder

/*
Opened has what is open, most of which is small.
*/
type Opened struct{ A, B int }

type token struct{}

// Close closes that offer.
func (o *Opened) Close() {
	_ = ` + "`two\n\nlines`" + `
}

const One, two = 1, 2
`,
	"daemon/store/fs/fs_test.go":          "package fs\n\n// That of a test.\nvar A = 1\n",
	"daemon/store/storetest/suite.go":     "package storetest\n\n// Those of a test.\nvar B = 1\n",
	"daemon/daemon.go":                    "package daemon\n",
	"daemon/store/testdata/x.go":          "package x\n",
	"cmd/evalctl/testdata/node_modules/x": "x",
}

// TestFigures compares all figures of a repository with those that were counted by hand.
func TestFigures(t *testing.T) {
	root := t.TempDir()
	for name, text := range repository {
		write(t, root, name, text)
	}
	var out strings.Builder
	if err := measure(&out, root); err != nil {
		t.Fatal(err)
	}
	got := rowsOf(out.String())
	for _, want := range []string{
		"room product tests packages exported",
		"cmd 18 0 1 0",
		"daemon/store 11 4 1 3",
		"daemon 1 0 1 0",
		"all 30 4 3 3",
		"for users: README.md, docs 3 71",
		"for developers: docs/dev 1 1",
		"that of, those of 1 303.0",
		"what is, was, has, are 1 303.0",
		"of which 1 303.0",
		"X is no Y 1 303.0",
		"words 33",
		"lines 4",
		"words in a line 8.2",
		"all 7",
		"named by a participle 1",
		"Opened",
		"commands 5",
		"flags by name 2",
		"flags by name and command 3",
		"words of the help of commands 2",
		"words of the help of flags, once a name 8",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, out.String())
		}
	}
}

// rowsOf returns the rows of tables, with one space between columns.
func rowsOf(text string) []string {
	var rows []string
	for line := range strings.Lines(text) {
		rows = append(rows, strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(line, " ")))
	}
	return rows
}

// TestOtherRepository measures a repository without the program.
func TestOtherRepository(t *testing.T) {
	root := t.TempDir()
	write(t, root, "x.go", "// Package x is empty.\npackage x\n")
	var out strings.Builder
	if err := measure(&out, root); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !slices.Contains(rowsOf(text), ". 1 0 1 0") || !strings.Contains(text, "No figures of the program: ") {
		t.Errorf("got %s", text)
	}
}

// TestBroken names the file or folder that cannot be counted.
func TestBroken(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"x.go", "package", "x.go"},
		{"cmd/evalctl/main.go", "package main\n", "evalctl has no type cli"},
		{"cmd/evalctl/main.go", "package main\n\ntype cli struct{}\n", "flags.md"},
	} {
		root := t.TempDir()
		write(t, root, c.file, c.text)
		if err := measure(new(strings.Builder), root); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
