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
	commands := completion.Of(grammar(nil), choices)
	help := &commands[slices.IndexFunc(commands, func(c completion.Command) bool { return c.Name == "help" })]
	for _, named := range commands {
		help.Args = append(help.Args, named.Name)
	}
	return completion.Write(p.stdout, c.Shell, commands)
}

// choices returns the values of a flag or argument whose own errors say more than an enum's.
func choices(v *kong.Value) []string {
	if v.Name == "target" {
		return target.SDKs
	}
	if _, ok := v.Target.Interface().(scorerText); ok {
		return scorer.Names()
	}
	return nil
}
