package project

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// NotKept lists flags that are not kept, with the reasons.
var NotKept = map[string]string{
	"token":      "it is a secret",
	"output":     "the journal or ledger is in that folder",
	"resume":     "it names the journal or ledger",
	"notify":     "it may contain a token",
	"queue":      "it may contain a password, and differs from machine to machine",
	"queue-wait": "it concerns one invocation only",
	"quiet":      "it concerns one invocation only",
	"json":       "it concerns one invocation only",
	"verbose":    "it concerns one invocation only",

	"retry-errors": "it concerns one invocation only",

	"estimate": "nothing is begun with it",
}

// KeptFlags is embedded in commands whose flags are kept in a journal or ledger, so that --resume
// alone resumes them.
type KeptFlags struct {
	flags []*kong.Flag // of the command
	given map[string]bool
	typed map[string]bool
}

// Given reports whether the command line, a file, a journal or a ledger sets a flag.
func (c *KeptFlags) Given(name string) bool { return c.given[name] }

// Typed reports whether the command line sets a flag.
func (c *KeptFlags) Typed(name string) bool { return c.typed[name] }

// AfterApply is a hook of kong. It records which flags were set.
func (c *KeptFlags) AfterApply(k *kong.Context) error {
	c.flags, c.given, c.typed = k.Selected().Flags, map[string]bool{}, map[string]bool{}
	for _, step := range k.Path {
		if step.Flag != nil {
			c.given[step.Flag.Name] = true
			c.typed[step.Flag.Name] = !step.Resolved
		}
	}
	return nil
}

// Keep returns the values of all flags but NotKept, as written on a command line, for Reopened.
// Values from the environment are left out, because a resume reads the environment again. paths
// maps flags to the paths that are their values; they are made absolute, so that a run can be
// resumed in any directory.
func (c *KeptFlags) Keep(paths map[string]string) (map[string]any, error) {
	options := map[string]any{}
	for _, f := range c.flags {
		if NotKept[f.Name] != "" || len(f.Envs) > 0 && !c.given[f.Name] {
			continue
		}
		value := Text(f.Target)
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

// Reopened returns a resolver for flags returned by KeptFlags.Keep.
func Reopened(command string, options map[string]any) kong.Resolver {
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

// Files yields the flags of the command that name files, with the file names. Such flags are
// recognized by their placeholders or by a value with @.
func (c *KeptFlags) Files() iter.Seq2[string, string] {
	return func(yield func(flag, path string) bool) {
		for _, f := range c.flags {
			named := slices.ContainsFunc([]string{"FILE", "PATH", "JOURNAL", "LEDGER"}, func(what string) bool {
				return strings.Contains(f.PlaceHolder, what)
			})
			values, _ := Text(f.Target).([]string)
			if value, ok := Text(f.Target).(string); ok {
				values = []string{value}
			}
			for _, value := range values {
				if path, at := strings.CutPrefix(value, "@"); (named || at) && !yield(f.Name, path) {
					return
				}
			}
		}
	}
}

// KeptJSON encodes the values of Keep for a journal or ledger.
func KeptJSON(options map[string]any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(options)
}
