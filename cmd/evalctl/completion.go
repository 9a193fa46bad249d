package main

import (
	"slices"

	"github.com/alecthomas/kong"

	"evalctl/harness/target"
	"evalctl/internal/completion"
	"evalctl/scorer"
)

type completionCmd struct {
	Shell string `arg:"" name:"bash|zsh|fish" enum:"bash,zsh,fish" help:"Shell."`
}

// Run generates the script from the grammar of the command line.
func (c *completionCmd) Run(p *process) error {
	commands := completions(grammar(nil))
	help := &commands[slices.IndexFunc(commands, func(c completion.Command) bool { return c.Name == "help" })]
	for _, named := range commands {
		help.Args = append(help.Args, named.Name)
	}
	return completion.Write(p.stdout, c.Shell, commands)
}

// pathFlags lists the flags whose value is a file or folder.
var pathFlags = []string{"dataset", "corpus", "output", "resume", "keys", "file", "home", "cache-dir"}

// flagValues returns the possible values of a flag, if there is a list of them. --target and
// --llm-provider are not enums in the grammar, because their own errors say more.
func flagValues(f *kong.Flag) []string {
	switch f.Name {
	case "target":
		return target.SDKs
	}
	return enumValues(f.Value)
}

func completions(parent *kong.Node) []completion.Command {
	var out []completion.Command
	for _, n := range parent.Children {
		if n.Hidden {
			continue
		}
		c := completion.Command{Name: n.Name, Help: n.Help}
		for _, a := range n.Positional {
			c.Args = append(c.Args, enumValues(a)...)
		}
		for _, f := range n.Flags {
			if f.Name == "help" || f.Hidden {
				continue
			}
			completed := completion.Flag{
				Name: f.Name, Help: f.Help, Values: flagValues(f),
				TakesValue: !f.IsBool(), Path: slices.Contains(pathFlags, f.Name),
			}
			if c.Flags = append(c.Flags, completed); slices.Contains(f.Aliases, "sdk") { // not an old name
				completed.Name = "sdk"
				c.Flags = append(c.Flags, completed)
			}
		}
		for _, sub := range completions(n) {
			c.Args = append(c.Args, sub.Name)
			c.Flags = append(c.Flags, sub.Flags...)
		}
		out = append(out, c)
	}
	return out
}

func enumValues(v *kong.Value) []string {
	var out []string
	if _, ok := v.Target.Interface().(scorerText); ok {
		return scorer.Names()
	}
	for _, e := range v.EnumSlice() {
		if e != "" {
			out = append(out, e)
		}
	}
	return out
}
