package project_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/internal/filetest"
)

// TestBelongsEnds checks that no flag belongs to itself, through any others.
func TestBelongsEnds(t *testing.T) {
	var follow func(name string, seen []string)
	follow = func(name string, seen []string) {
		if slices.Contains(seen, name) {
			t.Fatalf("%s belongs to itself: %s", name, strings.Join(seen, ", "))
		}
		for _, owner := range project.Belongs[name] {
			follow(owner, append(seen, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(project.Belongs)) {
		follow(name, nil)
	}
}

// TestBelongsOfADaemon: the settings of how a daemon is started are overridden together.
func TestBelongsOfADaemon(t *testing.T) {
	want := project.Belongs["daemon-env"]
	for _, name := range []string{"home-of-user", "start-timeout"} {
		if got := project.Belongs[name]; !slices.Equal(got, want) {
			t.Errorf("%s belongs to %v, want %v", name, got, want)
		}
	}
}

// TestBelongs checks which settings of a file are used, by what is given besides.
func TestBelongs(t *testing.T) {
	const both = "run: {dataset: a.jsonl, corpus: notes, baseline: b.json, accept: [mode]}\n"
	for name, c := range map[string]struct {
		file   string
		args   []string
		env    bool
		want   string // corpus, baseline, accept
		unused string
	}{
		"nothing is given":           {file: both, want: "notes b.json [mode]"},
		"the owner is overridden":    {file: both, args: []string{"--dataset=c.jsonl"}, want: "  []", unused: "corpus baseline accept"},
		"by an older name":           {file: both, args: []string{"--questions=c.jsonl"}, want: "  []", unused: "corpus baseline accept"},
		"by the environment":         {file: both, env: true, want: "  []", unused: "corpus baseline accept"},
		"with the same value":        {file: both, args: []string{"--dataset=a.jsonl"}, want: "notes b.json [mode]"},
		"another spelling":           {file: both, args: []string{"--dataset=./a.jsonl"}, want: "notes b.json [mode]"},
		"the same file":              {file: both, args: []string{"--dataset=sub/link.jsonl"}, want: "notes b.json [mode]"},
		"another file of the name":   {file: both, args: []string{"--dataset=sub/a.jsonl"}, want: "  []", unused: "corpus baseline accept"},
		"an owner of others":         {file: both, args: []string{"--baseline=c.json"}, want: "notes c.json []", unused: "accept"},
		"all are given":              {file: both, args: []string{"--dataset=c.jsonl", "--corpus=d", "--baseline=e.json", "--accept=key"}, want: "d e.json [key]"},
		"the file has no owner":      {file: "run: {corpus: notes}\n", args: []string{"--dataset=c.jsonl"}, want: "notes  []"},
		"the owner is in defaults":   {file: "defaults: {dataset: a.jsonl}\nrun: {corpus: notes}\n", args: []string{"--dataset=c.jsonl"}, want: "  []", unused: "corpus"},
		"both are in defaults":       {file: "defaults: {dataset: a.jsonl, corpus: notes}\n", args: []string{"--dataset=c.jsonl"}, want: "  []", unused: "corpus"},
		"another flag is overridden": {file: both, args: []string{"--mode=bm25"}, want: "notes b.json [mode]"},
	} {
		var cli struct {
			Config string
			Run    struct {
				Dataset  string `aliases:"questions" env:"TEST_DATASET" placeholder:"FILE"`
				Corpus   string
				Baseline string
				Accept   []string
				Mode     string
			} `cmd:""`
		}
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			path := filetest.Write(t, "evalctl.yaml", c.file)
			filetest.Write(t, filepath.Join("sub", "a.jsonl"), "")
			if err := os.Link(filetest.Write(t, "a.jsonl", ""), filepath.Join("sub", "link.jsonl")); err != nil {
				t.Fatal(err)
			}
			if c.env {
				t.Setenv("TEST_DATASET", "env.jsonl")
			}
			r := &project.Resolver{Set: func(string) bool { return c.env }}
			k, err := kong.New(&cli, kong.Resolvers(r))
			if err != nil {
				t.Fatal(err)
			}
			r.Grammar = func() *kong.Node { return k.Model.Node }
			parsed, err := k.Parse(append([]string{"--config=" + path, "run"}, c.args...))
			if err != nil || r.Err != nil {
				t.Fatal(err, r.Err)
			}
			base := func(path string) string { return strings.TrimPrefix(filepath.Base(path), ".") }
			got := fmt.Sprint(base(cli.Run.Corpus), " ", base(cli.Run.Baseline), " ", cli.Run.Accept)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			flags, _ := r.Unused(parsed)
			if got := strings.Join(flags, " "); got != c.unused {
				t.Errorf("unused: got %s, want %s", got, c.unused)
			}
		})
	}
}
