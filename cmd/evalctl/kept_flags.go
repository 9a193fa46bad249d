package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/harness/report"
)

// notKept are the flags that are not kept, with the reasons.
var notKept = map[string]string{
	"token":      "it is a secret",
	"output":     "the journal or ledger is in that directory",
	"resume":     "it names the journal or ledger",
	"queue":      "it may contain a password, and differs from machine to machine",
	"queue-wait": "it concerns one invocation only",
	"quiet":      "it concerns one invocation only",
	"json":       "it concerns one invocation only",
	"verbose":    "it concerns one invocation only",

	"retry-errors": "it concerns one invocation only",

	"estimate": "nothing is begun with it",
}

// keptFlags is embedded in a command whose flags are kept, so that it can be resumed with --resume
// alone.
type keptFlags struct {
	flags []*kong.Flag    // of the command
	given map[string]bool // by name; set if the command line, a file, a journal or a ledger gives it
	typed map[string]bool // by name; set if the command line gives it
}

// AfterApply records which flags were given. kong calls it.
func (c *keptFlags) AfterApply(k *kong.Context) error {
	c.flags, c.given, c.typed = k.Selected().Flags, map[string]bool{}, map[string]bool{}
	for _, step := range k.Path {
		if step.Flag != nil {
			c.given[step.Flag.Name] = true
			c.typed[step.Flag.Name] = !step.Resolved
		}
	}
	return nil
}

// kept returns the values of all flags but those of notKept, for resolverOf. They are written as on
// a command line. A value from the environment is left out, because a resume reads the environment
// again. paths are the flags whose value is a path, with the value: they are made absolute, so that
// a run can be resumed in any directory.
func (c *keptFlags) kept(paths map[string]string) (map[string]any, error) {
	options := map[string]any{}
	for _, f := range c.flags {
		if notKept[f.Name] != "" || len(f.Envs) > 0 && !c.given[f.Name] {
			continue
		}
		value := project.Text(f.Target)
		if value == nil || value == "" && !c.given[f.Name] {
			continue
		}
		options[f.Name] = value
	}
	for name, path := range paths {
		if path == "" {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", name, path, err)
		}
		options[name] = absolute
	}
	return options, nil
}

// resolverOf returns a resolver for the flags of a command that keptFlags.kept has returned.
func resolverOf(command string, options map[string]any) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
		if parent.Command == nil || parent.Command.Name != command {
			return nil, nil
		}
		value := options[f.Name]
		for _, old := range f.Aliases { // as an older version wrote it
			if value == nil {
				value = options[old]
			}
		}
		return value, nil
	})
}

// files returns the files that the flags of the command name, as their placeholders or a value with
// an @ show.
func (c *keptFlags) files() []report.File {
	var out []report.File
	for _, f := range c.flags {
		named := slices.ContainsFunc([]string{"FILE", "PATH", "JOURNAL", "LEDGER"}, func(what string) bool {
			return strings.Contains(f.PlaceHolder, what)
		})
		values, _ := project.Text(f.Target).([]string)
		if value, ok := project.Text(f.Target).(string); ok {
			values = []string{value}
		}
		for _, value := range values {
			path, at := strings.CutPrefix(value, "@")
			if named || at {
				out = append(out, report.File{Flag: f.Name, Path: path})
			}
		}
	}
	return out
}

// keptJSON returns the values of kept as a journal or ledger has them.
func keptJSON(options map[string]any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(options)
}
